"""DuckDB's names for the types that other databases declare.

Used for schemas without data, where the declared type is all that is known; the declared
spelling stays beside it in the line.
"""

from __future__ import annotations

import re
from functools import lru_cache

_NAMES = {
    "BIGINT": "int8 int64 bigint integer int mediumint number_int long byteint oid serial bigserial",  # noqa: E501
    "INTEGER": "int4 int32",
    "SMALLINT": "smallint int2 int16",
    "TINYINT": "tinyint int1",
    "DOUBLE": (
        "float float4 float8 float64 double real number numeric decimal dec bignumeric money "
        "smallmoney bigdecimal double_precision"
    ),
    "BOOLEAN": "bool boolean bit logical",
    "DATE": "date",
    "TIME": "time",
    "TIMESTAMP": (
        "datetime datetime2 smalldatetime timestamp timestamp_ntz timestampntz "
        "timestamp_without_time_zone"
    ),
    "TIMESTAMP WITH TIME ZONE": (
        "timestamptz timestamp_tz timestamp_ltz timestampltz timestamptz datetimeoffset "
        "timestamp_with_time_zone"
    ),
    "INTERVAL": "interval",
    "BLOB": "blob binary varbinary bytes bytea image longblob mediumblob tinyblob rowversion",
    "UUID": "uuid uniqueidentifier",
    "JSON": "json jsonb variant object super struct record array map",
}
_TYPES = {word: name for name, words in _NAMES.items() for word in words.split()}
_HEAD = re.compile(r"\s*([A-Za-z_][\w ]*?)\s*(?=$|[<(\[])")
_SCALED = re.compile(
    r"(?:number|numeric|decimal)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)", re.IGNORECASE
)
DEEPEST = 40
ODD = ("...", "`", '"')
"""What makes a nested type unreadable: parts left out, and quoted field names."""


@lru_cache(maxsize=4096)
def duckdb_type(declared: str, dialect: str = "") -> str:
    """The nearest DuckDB type; VARCHAR where the declaration is empty or unknown.

    Nested types keep their shape where they are written in angle brackets, and become JSON
    where they are not, or are cut off. A ``timestamp`` of T-SQL is a row version, no time.

    >>> duckdb_type("nvarchar(50)"), duckdb_type("NUMBER(38,0)"), duckdb_type("number")
    ('VARCHAR', 'BIGINT', 'DOUBLE')
    >>> duckdb_type("ARRAY<STRUCT<key STRING, n INT64>>")
    'STRUCT("key" VARCHAR, "n" BIGINT)[]'
    """
    if dialect == "tsql" and declared.strip().lower() == "timestamp":
        return "BLOB"
    return _convert(declared.strip(), 0)


def _convert(declared: str, depth: int) -> str:
    if "<" in declared:
        return _nested(declared, depth)
    scaled = _SCALED.fullmatch(declared)
    if scaled:
        whole = int(scaled[2] or 0) == 0
        return "BIGINT" if whole and scaled[2] is not None else "DOUBLE"
    head = _HEAD.match(declared)
    word = "_".join(head[1].lower().replace("unsigned", "").split()) if head else ""
    return _TYPES.get(word, "VARCHAR")


def _nested(declared: str, depth: int) -> str:
    head, _, body = declared.partition("<")
    kind = head.strip().lower()
    if depth > DEEPEST or not body.endswith(">") or any(odd in body for odd in ODD):
        return "JSON"
    inner = body[:-1]
    if kind == "array":
        return f"{_convert(inner.strip(), depth + 1)}[]"
    parts = _split(inner)
    if kind == "map" and len(parts) == 2:
        return f"MAP({', '.join(_convert(part, depth + 1) for part in parts)})"
    if kind != "struct" or not all(" " in part for part in parts):
        return "JSON"
    fields = (part.split(None, 1) for part in parts)
    return (
        "STRUCT("
        + ", ".join(f'"{name}" {_convert(kind, depth + 1)}' for name, kind in fields)
        + ")"
    )


def _split(text: str) -> list[str]:
    """Parts between the commas that stand in no brackets."""
    parts, level, start = [], 0, 0
    for i, char in enumerate(text):
        level += (char in "<(") - (char in ">)")
        if char == "," and level == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, text[start:].strip()]
