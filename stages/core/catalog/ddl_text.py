"""DDL text cut into statements, and the dialect it is likely to be written in.

The text is cut without being understood, so that one statement that no parser takes, or
100 MB of INSERT between two CREATE TABLE, costs nothing but itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_PIECE = re.compile(
    r"""
      (?P<comment> --[^\n]* | /\*(?!!).*?(?:\*/|\Z) | ^[ \t]*\#[^\n]* )
    | (?P<quoted>  '(?:[^'\\]|\\.|'')*(?:'|\Z) | "(?:[^"]|"")*(?:"|\Z) | `[^`]*(?:`|\Z) )
    | (?P<dollar>  \$\$.*?(?:\$\$|\Z) | \$(?P<tag>[A-Za-z_]\w*)\$.*?(?:\$(?P=tag)\$|\Z) )
    | (?P<go>      ^[ \t]*(?:GO|go|Go)[ \t]*\r?$ | ^/[ \t]*\r?$ )
    | (?P<end>     ; )
    | (?P<other>   [^-/'"`$;\#\n\\Gg]+ | . | \n )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_WANTED = re.compile(
    r"(?:CREATE\b(?:\s+(?:OR\s+(?:REPLACE|ALTER)|GLOBAL|LOCAL|TEMP|TEMPORARY|EXTERNAL|UNLOGGED|FOREIGN"
    r"|TRANSIENT|VOLATILE|MATERIALIZED|SECURE|RECURSIVE|FORCE|EDITIONABLE|DYNAMIC|HYBRID|COLUMN|ROW"
    r"|ALGORITHM\s*=\s*\w+|DEFINER\s*=\s*\S+|SQL\s+SECURITY\s+\w+))*\s+(?:TABLE|VIEW)\b"
    r"|ALTER\s+TABLE\b|COMMENT\s+ON\b)",
    re.IGNORECASE,
)
_SIGNS = {
    "mysql": r"`[^`\n]*`\s+\w+|\bENGINE\s*=|\bAUTO_INCREMENT\b|\bUNSIGNED\b|^\s*KEY\s+`",
    "bigquery": r"\bOPTIONS\s*\(|\bSTRUCT<|\bARRAY<|\bINT64\b|`[\w-]+\.[\w-]+\.[\w-]+`",
    "snowflake": r"\bTRANSIENT\b|\bVARIANT\b|\bTIMESTAMP_(?:NTZ|LTZ|TZ)\b|\bAUTOINCREMENT\b.*\bSTART\b",
    "tsql": r"\[\w[^\]\n]*\]\s*\.?\s*[\[(]?|^\s*GO\s*$|\bNVARCHAR\b|\bIDENTITY\s*\(|\bdbo\.",
    "oracle": r"\bVARCHAR2\b|\bNUMBER\s*\(|\bCLOB\b",
    "sqlite": r"\bAUTOINCREMENT\b|\bWITHOUT\s+ROWID\b|\bPRAGMA\b",
    "postgres": r"\bcharacter varying\b|\bBIGSERIAL\b|\bSERIAL\b|::\w+|\bALTER TABLE ONLY\b|\bOWNER TO\b|\bJSONB\b|\bTIMESTAMPTZ\b",
}
LOOKED = 1 << 20
"""Characters that tell the dialect."""
LONGEST = 1 << 20
"""Characters of one statement that are parsed."""


class Statement(NamedTuple):
    """One statement: its text, and the line of the file it begins on."""

    text: str
    line: int


def statements(text: str) -> Iterator[Statement]:
    """The statements that make or describe tables and views; all others are passed over."""
    parts: list[str] = []
    start = line = 1
    for match in _PIECE.finditer(text):
        kind, piece = match.lastgroup, match.group()
        if kind in ("end", "go"):
            yield from _wanted(parts, start)
            parts = []
        elif kind == "comment" or (not parts and not piece.strip()):
            parts += [" "] if parts else []
        else:
            if not parts:
                start = line
            parts.append(piece)
        line += piece.count("\n")
    yield from _wanted(parts, start)


def _wanted(parts: list[str], line: int) -> Iterator[Statement]:
    head = "".join(parts[:60]).lstrip()[:400]
    if _WANTED.match(head):
        yield Statement("".join(parts).strip(), line)


def likely(text: str) -> list[str]:
    """Dialects to try, the likeliest first; DuckDB's, which takes most plain SQL, among them."""
    head = text[:LOOKED]
    marks = {
        name: len(re.findall(pattern, head, re.IGNORECASE | re.MULTILINE))
        for name, pattern in _SIGNS.items()
    }
    ranked = sorted(marks, key=lambda name: -marks[name])
    strong = [name for name in ranked if marks[name]]
    return [*strong, *(name for name in ("duckdb", *ranked) if name not in strong)]
