"""DuckDB types of JSON values, of nested ones as well.

What the values of a nested JSON column are made of, and the type that holds all of them.

A structure is a dict of structures by key, a list of one structure, a `Map`, or a word:
``NULL``, ``BOOLEAN``, ``VARCHAR``, ``BIGINT``, ``LONG`` (whole numbers that a double would
round), ``DOUBLE``, or ``JSON`` where nothing narrower holds everything.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from stages.core.catalog.bytes import cells, infer
from stages.core.catalog.sources.json.stream import whole
from stages.core.jsontypes import JsonValue
from stages.core.records import Field

if TYPE_CHECKING:
    import duckdb

    _Children = list[tuple[str, duckdb.sqltypes.DuckDBPyType]]

Structure: TypeAlias = JsonValue
_LONG_NUMBER = r"[:,\[-][0-9]{16,}[],}]"
_VAGUE = '"JSON"'
_EXACT_NUMBERS = 1 << 53
_BIG = 1 << 63
_DUCKDB = {"UBIGINT": "BIGINT", "HUGEINT": "JSON", "UHUGEINT": "JSON"}
_WIDER = {
    frozenset({"BIGINT", "LONG"}): "LONG",
    frozenset({"BIGINT", "DOUBLE"}): "DOUBLE",
}


@dataclass
class Map:
    """An object of many keys whose values are alike."""

    value: Structure


def of_type(kind: duckdb.sqltypes.DuckDBPyType) -> Structure:
    """Structure that a DuckDB type stands for."""
    spelt = str(kind)
    if kind.id in ("struct", "map", "list"):
        inner = {name: of_type(child) for name, child in cast("_Children", kind.children)}
        if kind.id == "struct":
            return inner
        return Map(inner["value"]) if kind.id == "map" else [inner["child"]]
    return spelt if spelt in ("BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR") else "JSON"


def of_duckdb(said: Structure) -> Structure:
    """Structure out of what ``json_structure`` says."""
    if isinstance(said, dict):
        return {key: of_duckdb(inner) for key, inner in said.items()}
    if isinstance(said, list):
        return [of_duckdb(said[0] if said else "NULL")]
    return _DUCKDB.get(said, said)


def of_value(value: object) -> Structure:
    """Structure of one value, whole numbers weighed exactly."""
    if isinstance(value, dict):
        return {key: of_value(item) for key, item in value.items()}
    if isinstance(value, list):
        made: Structure = "NULL"
        for item in value:
            made = merge(made, of_value(item))
        return [made]
    if isinstance(value, int) and not isinstance(value, bool):
        return (
            "BIGINT"
            if abs(value) <= _EXACT_NUMBERS
            else "LONG"
            if -_BIG <= value < _BIG
            else "JSON"
        )
    words: dict[type, str] = {bool: "BOOLEAN", float: "DOUBLE", str: "VARCHAR"}
    return words.get(type(value), "NULL")


def merge(left: Structure, right: Structure) -> Structure:
    """Narrowest structure of the values of both; keys of the left one come first.

    >>> merge({"a": "BIGINT"}, {"b": ["NULL"], "a": "DOUBLE"})
    {'a': 'DOUBLE', 'b': ['NULL']}
    """
    if left == right or right == "NULL":
        return left
    if left == "NULL":
        return right
    if isinstance(left, Map) and isinstance(right, dict):
        return Map(_all(left.value, right.values()))
    if isinstance(left, dict) and isinstance(right, dict):
        both = {key: merge(value, right.get(key, "NULL")) for key, value in left.items()}
        return both | {key: value for key, value in right.items() if key not in both}
    if isinstance(left, list) and isinstance(right, list):
        return [merge(left[0], right[0])]
    if isinstance(left, str) and isinstance(right, str):
        return _WIDER.get(frozenset({left, right}), "JSON")
    return "JSON"


def _all(made: Structure, others: Iterable[Structure]) -> Structure:
    for other in others:
        made = merge(made, other)
    return made


def type_of(structure: Structure) -> str:
    """DuckDB type of a structure.

    >>> type_of({"a": ["BIGINT"], "b": "NULL"})
    'STRUCT("a" BIGINT[], "b" JSON)'
    """
    if isinstance(structure, dict):
        return struct([(key, type_of(inner)) for key, inner in structure.items()])
    if isinstance(structure, list):
        return type_of(structure[0]) + "[]"
    if isinstance(structure, Map):
        return f"MAP(VARCHAR, {type_of(structure.value)})"
    word = {"LONG": "BIGINT", "NULL": "JSON"}.get(structure, structure)
    return str(word)


def holding(
    con: duckdb.DuckDBPyConnection, relation: str, columns: list[tuple[str, str]]
) -> dict[str, str]:
    """Types that hold every value of nested columns: the wished ones where they do.

    Args:
        relation: What stands after FROM; the columns are JSON in it.
        columns: Name and wished type.
    """
    from stages.core.catalog.duck.sql import quote

    names = [quote(name) for name, kind in columns if kind != "JSON"]
    asked = ", ".join(
        f"list(DISTINCT json_structure({name})), bool_or({_vague(name)})" for name in names
    )
    found = (con.execute(f"SELECT {asked} FROM {relation}").fetchone() or ()) if names else ()
    types = dict(columns)
    answers = iter(found)
    for name, kind in columns:
        if kind == "JSON":
            continue
        said, vague = sorted(filter(None, next(answers) or ())), next(answers)
        wished = of_type(con.type(kind))
        clear = (of_duckdb(json.loads(one)) for one in said if _VAGUE not in one)
        whole = _all(wished, clear)
        if vague:
            whole = _all(whole, _weighed(con, relation, quote(name)))
        types[name] = kind if whole == wished else type_of(whole)
    return types


def _vague(name: str) -> str:
    """Condition that ``json_structure`` does not say what a value is: JSON stands for an
    empty object too, and whole numbers may be longer than a double or BIGINT holds."""
    from stages.core.catalog.duck.sql import text

    return (
        f"(contains(CAST(json_structure({name}) AS VARCHAR), {text(_VAGUE)}) "
        f"OR regexp_matches(CAST({name} AS VARCHAR), {text(_LONG_NUMBER)}))"
    )


def _weighed(con: duckdb.DuckDBPyConnection, relation: str, name: str) -> Iterator[Structure]:
    """Structures of the values that have to be looked at one by one, in a fixed order."""
    rows = con.execute(
        f"SELECT DISTINCT CAST({name} AS VARCHAR) AS x FROM {relation} "
        f"WHERE {_vague(name)} ORDER BY x"
    )
    while some := rows.fetchmany(1000):
        yield from (of_value(json.loads(value)) for (value,) in some)


# DuckDB types of JSON values, the fields of nested ones, and values as text.

DEEP = 100
"""Levels of nesting from which a column is text: DuckDB's JSON reader stops at 128."""
_LEVELS = 24  # levels that a type spells out
_MAP_KEYS = 200  # keys of a map, at least; DuckDB's own threshold
_FIELDS = 1000
_SCALARS = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", str: "VARCHAR"}
_EXACT = 1 << 53
_TIMES = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIME")


def column_type(values: Sequence[JsonValue]) -> str:
    """Type of the values of one column, nulls left out.

    Scalars of several kinds are VARCHAR; texts that are all days or moments get those types.

    >>> column_type([1, 2.5]), column_type(["a", 1]), column_type([{"a": 1}, {"b": [True]}])
    ('DOUBLE', 'VARCHAR', 'STRUCT("a" BIGINT, "b" BOOLEAN[])')
    """
    kinds = {type(value) for value in values}
    if kinds & {dict, list}:
        return nested_type(values)
    if kinds == {str}:
        kind = infer.text_type(dict.fromkeys(values))
        return kind if kind in _TIMES else "VARCHAR"
    kind = _number(values) if kinds and kinds <= {int, float} else ""
    return kind or (_SCALARS[kinds.pop()] if len(kinds) == 1 else "VARCHAR")


def _number(values: Iterable[object]) -> str:
    """Type that holds numbers exactly."""
    whole = [value for value in values if isinstance(value, int)]
    size = max(map(abs, whole), default=0)
    if len(whole) < len(list(values)):
        return "DOUBLE" if size <= _EXACT else "VARCHAR"
    return "BIGINT" if size < 1 << 63 else "HUGEINT" if size < 1 << 127 else "VARCHAR"


def nested_type(values: Iterable[JsonValue], level: int = 0) -> str:
    """Type of values inside nested ones, as DuckDB would tell it: JSON where they differ."""
    given = [value for value in values if value is not None]
    kinds = {type(value) for value in given}
    if not kinds or level > _LEVELS:
        return "JSON"
    if kinds <= {int, float}:
        kind = _number(given)
        return kind if kind in ("BIGINT", "DOUBLE") else "JSON"
    if len(kinds) > 1:
        return "JSON"
    if kinds == {list}:
        return nested_type([item for value in given for item in value], level + 1) + "[]"
    if kinds == {dict}:
        return _object(given, level)
    return _SCALARS[kinds.pop()]


def _object(values: Sequence[dict[str, object]], level: int) -> str:
    """STRUCT of all keys, or MAP where keys are many and each object has few of them."""
    parts = by_key(values)
    filled = sum(map(len, values))
    if len(parts) > _MAP_KEYS and filled < len(parts) * len(values) / 10:
        return f"MAP(VARCHAR, {nested_type((item for value in values for item in value.values()), level + 1)})"  # noqa: E501
    return struct([(key, nested_type(items, level + 1)) for key, items in parts.items()])


def struct(members: Sequence[tuple[str, str]]) -> str:
    """A STRUCT type; JSON where DuckDB could not tell the keys apart."""
    keys = {key.casefold() for key, _ in members}
    if not members or len(keys) < len(members) or "" in keys:
        return "JSON"
    return f"STRUCT({', '.join(f'{_quoted(key)} {kind}' for key, kind in members)})"


def _quoted(name: str) -> str:
    """A field's name; quoted always, until `nested.spelt` asks DuckDB."""
    return '"' + name.replace('"', '""') + '"'


def by_key(values: Iterable[dict[str, object]]) -> dict[str, list[object]]:
    """The values under each key, keys in the order they first came."""
    parts: dict[str, list[object]] = {}
    for value in values:
        for key, item in value.items():
            parts.setdefault(key, []).append(item)
    return parts


def is_deep(values: Iterable[object]) -> bool:
    """Whether a value of a column is nested too deeply for a type of its own."""
    return any(depth(value) >= DEEP for value in values if isinstance(value, (dict, list)))


def depth(value: object) -> int:
    """Levels of arrays and objects in a value, counted without recursion."""
    level, inner = 0, [value]
    while inner := [item for item in inner if isinstance(item, (dict, list))]:
        level += 1
        inner = [
            part for item in inner for part in (item.values() if isinstance(item, dict) else item)
        ]
    return level


def fields(name: str, values: Iterable[object], examples: int) -> list[Field]:
    """The fields of a nested column by dotted path, arrays walked through; maps have none.

    Args:
        name: The column's name, the first part of every path.
        examples: Distinct scalar values shown for each, at most.
    """
    found: list[Field] = []
    for path, items in _walk(name, list(values), 0):
        entry = Field(name=path, type=nested_type(items))
        scalars = [plain(item) for item in _flat(items) if not isinstance(item, dict)]
        if scalars and examples:
            entry["examples"] = cells.spread(scalars, examples)
        found.append(entry)
        if len(found) >= _FIELDS:
            break
    return found


def _walk(name: str, values: Sequence[object], level: int) -> Iterator[tuple[str, list[object]]]:
    """Dotted paths below a column, each followed by those below it."""
    objects = [value for value in _flat(values) if isinstance(value, dict)]
    if level > _LEVELS or not objects or not _object(objects, level).startswith("STRUCT"):
        return
    for key, items in by_key(objects).items():
        given = [item for item in items if item is not None]
        yield f"{name}.{key}", given
        yield from _walk(f"{name}.{key}", given, level + 1)


def _flat(values: Iterable[object]) -> Iterator[object]:
    """Values with arrays opened, nulls left out."""
    for value in values:
        if isinstance(value, list):
            yield from _flat(value)
        elif value is not None:
            yield value


def plain(value: object, kind: str = "VARCHAR") -> str:
    """A value as the text that DuckDB casts it to, if it is not nested; else compact JSON."""
    if isinstance(value, str):
        return cells.cast(kind, value) if kind in _TIMES else whole(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return (
            cells.real(float(value)) if isinstance(value, float) or kind == "DOUBLE" else str(value)
        )
    return dump(value)


def dump(value: object) -> str:
    """Compact JSON, characters as they are."""
    try:
        return whole(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    except RecursionError:
        return "{…}"
