"""schemagate's choice for many questions; runs in an environment that has only schemagate.

Reads JSON lines: ``{"catalog": […table records…]}`` opens a catalog, and each
``{"question": …, "ks": […]}`` after it is answered by one line: for every k the tables
chosen, those that came in by foreign keys apart, and the seconds it took.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from schemagate import Catalog, Column, ForeignKey, ObjectDoc


def document(table: dict[str, Any]) -> ObjectDoc:
    """A table record as schemagate's catalog entry; it is told all that winnow is told."""
    schema, _, name = table["name"].rpartition(".")
    keys = set(table.get("primary_key") or ())
    about = [table.get("nl_name"), table.get("description")]
    return ObjectDoc(
        name=name,
        schema=schema or None,
        description=" ".join(text for text in about if text) or None,
        columns=[column(c, c["name"] in keys) for c in table["columns"]],
        foreign_keys=[
            ForeignKey(
                list(key["columns"]), key["ref_table"].rpartition(".")[2], list(key["ref_columns"])
            )
            for key in table.get("foreign_keys") or ()
        ],
    )


def column(record: dict[str, Any], primary: bool) -> Column:
    """A column record as schemagate's column."""
    about = [record.get("nl_name"), record.get("description")]
    comment = " ".join(text for text in about if text) or None
    return Column(
        record["name"], record["type"], comment=comment, pk=primary, values=record.get("examples")
    )


def main() -> None:
    """Answer stdin on stdout."""
    catalog = Catalog()
    for line in sys.stdin:
        asked = json.loads(line)
        if "catalog" in asked:
            catalog = Catalog()
            catalog.add_all(document(table) for table in asked["catalog"])
            catalog.index()
            continue
        answer = {}
        begun = time.perf_counter()
        for k in asked["ks"]:
            hits = catalog.select(asked["question"], top_k=k).hits
            answer[k] = [
                [hit.doc.qname for hit in hits if hit.reason != "fk"],
                [hit.doc.qname for hit in hits if hit.reason == "fk"],
            ]
        spent = (time.perf_counter() - begun) / len(asked["ks"])
        sys.stdout.write(json.dumps({"chosen": answer, "seconds": spent}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
