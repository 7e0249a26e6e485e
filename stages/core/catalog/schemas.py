"""Tables that lie in named schemas and not in files: on a server, or in DDL text.

Their describe key is ``schema.table``, canonical names take the schema in front only where
names clash, and a foreign key may lead into another schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.core.catalog.build import Unnamed, build
from stages.core.catalog.naming import Origin
from stages.core.catalog.raw import RawTable, ScanOptions
from stages.core.lookup import fold
from stages.core.records import ForeignKey, Table


def key(schema: str, name: str) -> str:
    """``schema.table``, or the name alone where there is no schema."""
    return f"{schema}.{name}" if schema else name


def placed(
    schema: str, kind: str, raw: RawTable, *, source: Mapping[str, Any] | None = None
) -> Unnamed:
    """A table of a schema, ready for `built`.

    Args:
        schema: Empty where the text names none.
        kind: ``postgresql``, ``mysql`` or ``ddl``.
        raw: The table; ``ref_table`` of its foreign keys is spelt by `key` where it lies in
            another schema.
        source: The ``source`` of the table line; None where there is no data.
    """
    extra: dict[str, Any] = {"describe_key": key(schema, raw.name)}
    if source is not None:
        extra["source"] = dict(source)
    return Unnamed(Origin(schema, kind, raw.name, True), raw, extra=extra)


def built(found: Sequence[Unnamed], options: ScanOptions) -> list[Table]:
    """Table records, the foreign keys between schemas included."""
    tables = build(found, options)
    for item, table in zip(found, tables, strict=True):
        if "source" in item.extra:
            table["source"] = item.extra["source"]
        else:
            table.pop("source", None)
    known = {fold(table["describe_key"]): table for table in tables}
    known |= {table["describe_key"]: table for table in tables}
    canonical = {table["name"] for table in tables}
    for table in tables:
        for foreign in table.get("foreign_keys", ()):
            if foreign["ref_table"] not in canonical:
                _follow(foreign, known)
    return tables


def _follow(foreign: ForeignKey, known: Mapping[str, Table]) -> None:
    """Name the other table by its canonical name, and its key where none is named."""
    spelling = foreign["ref_table"]
    other = known.get(spelling) or known.get(fold(spelling))
    if other is not None:
        foreign["ref_table"] = other["name"]
        foreign["ref_columns"] = foreign["ref_columns"] or other.get("primary_key", [])
