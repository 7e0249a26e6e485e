"""What the values of a nested JSON column are made of, and the type that holds all of them.

A structure is a dict of structures by key, a list of one structure, a `Map`, or a word:
``NULL``, ``BOOLEAN``, ``VARCHAR``, ``BIGINT``, ``LONG`` (whole numbers that a double would
round), ``DOUBLE``, or ``JSON`` where nothing narrower holds everything.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from stages.core.catalog import jsontypes

if TYPE_CHECKING:
    import duckdb

    _Children = list[tuple[str, duckdb.sqltypes.DuckDBPyType]]

Structure: TypeAlias = Any
_LONG_NUMBER = r"[:,\[-][0-9]{16,}[],}]"
_VAGUE = '"JSON"'
_EXACT = 1 << 53
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


def of_value(value: Any) -> Structure:
    """Structure of one value, whole numbers weighed exactly."""
    if isinstance(value, dict):
        return {key: of_value(item) for key, item in value.items()}
    if isinstance(value, list):
        made: Structure = "NULL"
        for item in value:
            made = merged(made, of_value(item))
        return [made]
    if isinstance(value, int) and not isinstance(value, bool):
        return "BIGINT" if abs(value) <= _EXACT else "LONG" if -_BIG <= value < _BIG else "JSON"
    words: dict[type, str] = {bool: "BOOLEAN", float: "DOUBLE", str: "VARCHAR"}
    return words.get(type(value), "NULL")


def merged(left: Structure, right: Structure) -> Structure:
    """Narrowest structure of the values of both; keys of the left one come first.

    >>> merged({"a": "BIGINT"}, {"b": ["NULL"], "a": "DOUBLE"})
    {'a': 'DOUBLE', 'b': ['NULL']}
    """
    if left == right or right == "NULL":
        return left
    if left == "NULL":
        return right
    if isinstance(left, Map) and isinstance(right, dict):
        return Map(_all(left.value, right.values()))
    if isinstance(left, dict) and isinstance(right, dict):
        both = {key: merged(value, right.get(key, "NULL")) for key, value in left.items()}
        return both | {key: value for key, value in right.items() if key not in both}
    if isinstance(left, list) and isinstance(right, list):
        return [merged(left[0], right[0])]
    if isinstance(left, str) and isinstance(right, str):
        return _WIDER.get(frozenset({left, right}), "JSON")
    return "JSON"


def _all(made: Structure, others: Iterable[Structure]) -> Structure:
    for other in others:
        made = merged(made, other)
    return made


def type_of(structure: Structure) -> str:
    """DuckDB type of a structure.

    >>> type_of({"a": ["BIGINT"], "b": "NULL"})
    'STRUCT("a" BIGINT[], "b" JSON)'
    """
    if isinstance(structure, dict):
        return jsontypes.struct([(key, type_of(inner)) for key, inner in structure.items()])
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
    from stages.core.catalog.sqltext import quote

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
    from stages.core.catalog.sqltext import text

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
