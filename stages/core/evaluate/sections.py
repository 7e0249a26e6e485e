"""What a section kept: one view on the sections that drop tables and columns.

| section | tables kept | columns kept | rank |
|---|---|---|---|
| link | ``keep`` | ``keep`` | as listed |
| vote | all that it does not skip | all of a kept table | none |
| collapse | full or by column names | all of a kept table | none |
| prune | those it lists | those it lists | none |
| refine | those it lists | those it lists | none |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from stages.core.errors import DataError
from stages.core.judge.channels import EXPECTED
from stages.core.lines.readers import named, shown_at, voted

if TYPE_CHECKING:
    from stages.core.records import Collapse, Vote


@dataclass(frozen=True)
class KeptColumns:
    """What stays, in canonical names.

    Attributes:
        tables: Tables kept.
        columns: Columns kept by table; None where whole tables are kept.
        rank: Every table that the section ranks, best first; None where it ranks none.
        evidence: By table, the words that spoke for it, for reading by hand.
    """

    tables: frozenset[str]
    columns: Mapping[str, frozenset[str]] | None = None
    rank: tuple[str, ...] | None = None
    evidence: Mapping[str, str] = field(default_factory=dict)


def kept(name: str, section: Mapping[str, Any]) -> KeptColumns:
    """Read section ``name``.

    Raises:
        DataError: The section has not the shape that its stage writes.
    """
    try:
        return _READERS[name](section)
    except (KeyError, TypeError, AttributeError, StopIteration):
        raise DataError(
            f"section {name} is not what `winnow {name}` writes", hint=f"rerun `winnow {name}`"
        ) from None


def _link(section: Mapping[str, Any]) -> KeptColumns:
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


def _in_words(table: Mapping[str, Any], rank: int) -> str:
    """What spoke for a table, and through which channels nothing did."""
    pieces = table["evidence"]
    found = ", ".join(f"{piece['type']} {'/'.join(piece['words'])}".strip() for piece in pieces)
    missing = [kind for kind in EXPECTED if kind not in {piece["type"] for piece in pieces}]
    nothing = f"; nothing by {', '.join(missing)}" if missing else ""
    return f"rank {rank}, score {table['score']:.2f}: {found or 'no evidence'}{nothing}"


def _vote(section: Mapping[str, Any]) -> KeptColumns:
    if "relevant_tables" not in section:
        raise KeyError("relevant_tables")
    tables = voted(cast("Vote", section), named("vote", section))
    return KeptColumns(frozenset(tables), evidence=section.get("reasons", {}))


def _collapse(section: Mapping[str, Any]) -> KeptColumns:
    levels = shown_at(cast("Collapse", {"shown": section["shown"]}))
    return KeptColumns(frozenset(name for name, level in levels.items() if level != "line"))


def _listed(section: Mapping[str, Any]) -> KeptColumns:
    """Sections that list what survives, as a list of tables or a mapping from names."""
    listed = next(
        section[key] for key in ("tables", "refined_schema", "kept", "survivors") if key in section
    )
    tables = dict(_entries(listed))
    whole = all(columns is None for columns in tables.values())
    columns = None if whole else {name: frozenset(found or ()) for name, found in tables.items()}
    return KeptColumns(frozenset(tables), columns)


def _entries(listed: Any) -> Iterator[tuple[str, list[str] | None]]:
    if isinstance(listed, Mapping):
        for name, entry in listed.items():
            yield name, _columns_of(entry)
    else:
        for entry in listed:
            if isinstance(entry, str):
                yield entry, None
            elif entry.get("keep", True):
                yield entry.get("name") or entry["table"], _columns_of(entry)


def _columns_of(entry: Any) -> list[str] | None:
    if isinstance(entry, Mapping):
        entry = next(
            (entry[key] for key in ("columns", "relevant_columns", "kept") if key in entry), None
        )
    if entry is None:
        return None
    if not isinstance(entry, Sequence) or isinstance(entry, str):
        raise TypeError
    return [
        item
        if isinstance(item, str)
        else item.get("name") or item.get("column_name") or item["column"]
        for item in entry
        if isinstance(item, str) or item.get("keep", True)
    ]


_READERS = {
    "link": _link,
    "vote": _vote,
    "collapse": _collapse,
    "prune": _listed,
    "refine": _listed,
}
