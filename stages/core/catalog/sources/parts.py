"""A folder of parts as one table, its partition columns last (`catalog.partitions`).

Each part is read by the reader of its kind: by its name, or by its first bytes where the name
says nothing. Parts of text either all have a header, which is then the same first line, or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from stages.core.catalog import partitions
from stages.core.catalog.bytes import cells, infer, sampling
from stages.core.catalog.duck.sql import quote, text
from stages.core.catalog.partitions import PartFile
from stages.core.catalog.source_table import ScanOptions, SourceTable
from stages.core.errors import SourceError
from stages.core.jsontypes import JsonObject
from stages.core.records import Column, Rows, Table

if TYPE_CHECKING:
    import duckdb

KIND = "parts"
SUFFIXES = ("/",)
SEVERAL = False
SAMPLED = 8
"""Parts that a scan looks at; the rest is estimated by their sizes."""
_LINE = 1 << 16


def scan(path: Path, options: ScanOptions) -> Iterator[SourceTable]:
    """The one table of a folder.

    Raises:
        SourceError: There are no parts, or none can be read.
    """
    found = list(partitions.parts(path))
    if not found:
        raise SourceError("a folder of parts without any", place=path.name, hint="leave it out")
    seen = found if options.exact else cells.spread(found, SAMPLED)
    inner = replace(options, values=True, examples=max(1, options.examples), header=_header(seen))
    raws = [_scan(part, inner) for part in seen]
    made = SourceTable(
        name=_name(path),
        columns=_columns(raws, found, seen, options),
        rows=_rows(raws, seen, found),
    )
    made.sample = _sample(raws, seen, made.columns, options)
    whole = len(seen) == len(found) and all(raw.checked == "full" for raw in raws)
    made.checked = "full" if whole else "sample"
    made.warnings = list(dict.fromkeys(warning for raw in raws for warning in raw.warnings))
    made.reader = {"header": inner.header}
    yield made


def _name(path: Path) -> str:
    """The folder's name without the suffix that Spark's folders have."""
    stem, dot, suffix = path.resolve().name.rpartition(".")
    return (
        stem
        if dot and suffix.lower() in ("csv", "tsv", "json", "jsonl", "parquet", "txt")
        else path.resolve().name
    )


def _module(path: Path) -> ModuleType:
    """The reader of one part: by its name, else by its first bytes."""
    from stages.core.catalog import discover

    module = discover.module_at(path)
    if module is not None:
        return module
    with sampling.open_bytes(path) as file:
        head = file.read(_LINE)
    kind = "parquet" if head[:4] == b"PAR1" else "json" if head.lstrip()[:1] == b"{" else "csv"
    return discover.module_of(kind)


def _scan(part: PartFile, options: ScanOptions) -> SourceTable:
    found: list[SourceTable] = list(_module(part.path).scan(part.path, options))
    if not found:
        raise SourceError("a part without a table", place=part.path.name, hint="leave it out")
    return found[0]


def _header(found: Sequence[PartFile]) -> bool | None:
    """Whether parts of text have a header: the same first line in all; None where one part
    alone has to tell."""
    firsts = []
    for part in found:
        if _module(part.path).__name__.endswith(".csv"):
            with sampling.open_bytes(part.path) as file:
                firsts.append(file.readline(_LINE).rstrip())
    return None if len(firsts) < 2 else len(set(firsts)) == 1


def _columns(
    raws: Sequence[SourceTable],
    found: Sequence[PartFile],
    seen: Sequence[PartFile],
    options: ScanOptions,
) -> list[Column]:
    """The columns of all parts, types that hold all of them; then those of the partitions."""
    made: dict[str, Column] = {}
    for raw in raws:
        names = {column["name"] for column in raw.columns}
        for column in raw.columns:
            made[column["name"]] = _merged(made.get(column["name"]), column, options)
        for name in set(made) - names:
            made[name]["nullable"] = True
    taken = {name.casefold() for name in made}
    for name in _keys(found):
        if name.casefold() in taken:
            continue
        values = [dict(part.keys).get(name) for part in found]
        some = dict.fromkeys(value for value in values if value)
        column = Column(
            name=name, type=infer.text_type(some), nullable=len(values) != sum(map(bool, values))
        )
        if options.values:
            shown = cells.spread(some, options.examples)
            column["examples"] = [cells.cast(column["type"], value) for value in shown]
        made[name] = column
    return list(made.values())


def _merged(one: Column | None, other: Column, options: ScanOptions) -> Column:
    if one is None:
        return Column(**other)
    made = Column(**one)
    empty = [not column.get("examples") for column in (one, other)]
    if empty[0] != empty[1]:
        made["type"] = other["type"] if empty[0] else one["type"]
    elif one["type"] != other["type"]:
        made["type"] = infer.wider(one["type"], other["type"])
    if one.get("nullable") is not other.get("nullable"):
        made["nullable"] = True if True in (one.get("nullable"), other.get("nullable")) else None
    values = [*one.get("examples", []), *other.get("examples", [])]
    made["examples"] = cells.spread(values, max(1, options.examples))
    return made


def _keys(found: Sequence[PartFile]) -> list[str]:
    return list(dict.fromkeys(name for part in found for name, _ in part.keys))


def _rows(raws: Sequence[SourceTable], seen: Sequence[PartFile], found: Sequence[PartFile]) -> Rows:
    """Rows of all parts: those of the parts looked at, and of the others by their bytes."""
    counts = [raw.rows["count"] for raw in raws]
    if any(count is None for count in counts):
        return {"count": None, "how": "unknown"}
    total = sum(count or 0 for count in counts)
    if len(seen) == len(found):
        exact = all(raw.rows["how"] == "exact" for raw in raws)
        return {"count": total, "how": "exact" if exact else "estimate"}
    sizes = [sum(part.path.stat().st_size for part in some) for some in (seen, found)]
    return {"count": round(total * sizes[1] / max(1, sizes[0])), "how": "estimate"}


def _sample(
    raws: Sequence[SourceTable],
    seen: Sequence[PartFile],
    columns: Sequence[Column],
    options: ScanOptions,
) -> list[dict[str, str | None]]:
    """The first rows, with the values of their partitions."""
    kinds = {column["name"]: column["type"] for column in columns}
    rows: list[dict[str, str | None]] = []
    for raw, part in zip(raws, seen, strict=True):
        keys = {name: value and cells.cast(kinds[name], value) for name, value in part.keys}
        rows += [{name: {**keys, **row}.get(name) for name in kinds} for row in raw.sample]
    return rows[: options.sample_rows]


def load(con: duckdb.DuckDBPyConnection, path: Path, table: Table, target: str) -> None:
    """Write the rows of all parts into ``target``, with the types of the table line, wider ones
    where a part does not fit.

    Raises:
        SourceError: A part cannot be read.
    """
    import duckdb

    reader: JsonObject = table.get("source", {}).get("reader", {})
    options = ScanOptions(header=reader.get("header"), examples=1)
    names = [column["name"] for column in table["columns"]]
    selects, made = [], []
    for at, part in enumerate(partitions.parts(path)):
        raw = _scan(part, options)
        line: Table = {
            **table,
            "columns": raw.columns,
            "source": {"kind": KIND, "reader": raw.reader},
        }
        made.append(f"{target} part {at}")
        _module(part.path).load(con, part.path, line, made[-1])
        own = {column["name"] for column in raw.columns}
        keys = {name: value for name, value in part.keys if name not in own}
        chosen = [_cell(name, own, keys) for name in names]
        selects.append(f"SELECT {', '.join(chosen)} FROM {quote(made[-1])}")
    if not selects:
        raise SourceError("a folder of parts without any", place=path.name, hint="scan again")
    union = " UNION ALL ".join(selects)
    typed = ", ".join(
        f"CAST({quote(c['name'])} AS {c['type']}) AS {quote(c['name'])}" for c in table["columns"]
    )
    head = f"CREATE OR REPLACE TABLE {quote(target)} AS"
    try:
        con.execute(f"{head} SELECT {typed} FROM ({union})")
    except (duckdb.ConversionException, duckdb.InvalidInputException):
        con.execute(f"{head} {union}")
    for name in made:
        con.execute(f"DROP TABLE {quote(name)}")


def _cell(name: str, own: set[str], keys: dict[str, str | None]) -> str:
    """Expression for one column of a part: its own, of its partition, or null."""
    if name in own:
        return quote(name)
    value = keys.get(name)
    return f"{'NULL' if value is None else text(value)} AS {quote(name)}"
