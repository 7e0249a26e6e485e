"""The ``link`` section: tables and columns ranked by the judge, with the evidence for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stages.core.counts import many
from stages.core.readers import KeptColumns, Lists, Order, SectionReader, count_of

if TYPE_CHECKING:
    from stages.core.records import Evidence, Link, LinkTable, Table


def linked_tables(section: Link) -> set[str]:
    """The tables that ``link`` keeps."""
    return {table["name"] for table in section.get("tables", ()) if table["keep"]}


def _names(section: Link) -> list[str]:
    return [table["name"] for table in section.get("tables", ())]


def _kept(section: Link) -> KeptColumns:
    tables = section["tables"]
    columns: dict[str, set[str]] = {}
    for column in section["columns"]:
        if column["keep"]:
            columns.setdefault(column["table"], set()).add(column["name"])
    return KeptColumns(
        frozenset(table["name"] for table in tables if table["keep"]),
        {name: frozenset(found) for name, found in columns.items()},
        tuple(table["name"] for table in tables),
        {table["name"]: _in_words(table, rank) for rank, table in enumerate(tables, 1)},
    )


def _in_words(table: LinkTable, rank: int) -> str:
    """What spoke for a table, and through which channels nothing did."""
    from stages.core.judge.channels import EXPECTED

    pieces = table["evidence"]
    found = ", ".join(f"{piece['type']} {'/'.join(piece['words'])}".strip() for piece in pieces)
    missing = [kind for kind in EXPECTED if kind not in {piece["type"] for piece in pieces}]
    nothing = f"; nothing by {', '.join(missing)}" if missing else ""
    return f"rank {rank}, score {table['score']:.2f}: {found or 'no evidence'}{nothing}"


def _summary(section: Link) -> str:
    kept = sum(bool(table.get("keep")) for table in section.get("tables", ()))
    return f"kept {kept} of {count_of(section.get('n_tables'), 'table')}"


def _ranking(section: Link, _order: Order) -> Lists:
    tables = list(enumerate(section["tables"], 1))
    lists = [
        (head, [f"{rank} {t['name']} {t['score']:.3f}" for rank, t in tables if t["keep"] == keep])
        for head, keep in (("kept", True), ("not kept", False))
    ]
    rest = section["n_tables"] - len(tables)
    return [*lists, ("without evidence", [many(rest, "table")] if rest > 0 else [])]


def _why(section: Link, about: Table) -> Iterator[str]:
    name = about["name"]
    for rank, table in enumerate(section.get("tables", ()), 1):
        if table["name"] == name:
            place = f"rank {rank} of {section.get('n_tables', '?')}"
            kept = "kept" if table["keep"] else "not kept"
            yield f"{place}, score {table['score']:.3f}, {kept}"
            yield from map(_evidence, table["evidence"])
    for column in section.get("columns", ()):
        if column["table"] == name:
            proof = "; ".join(map(_evidence, column["evidence"]))
            yield f"column {column['name']}, score {column['score']:.3f}: {proof or 'no evidence'}"
    for edge in section.get("edges", ()):
        if name in (edge["left"], edge["right"]):
            left, right = ", ".join(edge["left_columns"]), ", ".join(edge["right_columns"])
            yield f"joins {edge['left']} ({left}) = {edge['right']} ({right}), {edge['how']}"
    if not any(table["name"] == name for table in section.get("tables", ())):
        yield "no evidence"


def _evidence(item: Evidence) -> str:
    note = f" ({item['note']})" if item.get("note") else ""
    return f"{item['type']} {item['weight']:+.2f}: {', '.join(item['words'])}{note}"


def _diff(before: Link, after: Link) -> Iterator[str]:
    old = {table["name"]: table for table in before.get("tables", ())}
    for table in after.get("tables", ()):
        was = old.get(table["name"])
        keep, score = (was["keep"], was["score"]) if was else (False, 0.0)
        if keep != table["keep"]:
            kept = "kept" if table["keep"] else "not kept"
            yield f"{table['name']}: {kept} now, score {score:.3f} -> {table['score']:.3f}"


READER: SectionReader[Link] = SectionReader(
    _summary, _why, _diff, kept=_kept, names=_names, ranking=_ranking
)
