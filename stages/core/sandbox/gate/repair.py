"""Mending what a model writes out of habit, where there is only one thing it can mean.

Before parsing: backticks and ``[brackets]`` become double quotes, outside strings, comments
and list indexing. After parsing: a quoted column that no table has, but that equals exactly
one real column when white space is ignored, becomes that column. Everything mended is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from stages.core.sandbox.names import TableNames

_TOKEN = re.compile(
    r"""
      (?P<comment> --[^\n]* | /\*.*?(?:\*/|\Z) )
    | (?P<string>  '(?:[^']|'')*(?:'|\Z) | \$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z) )
    | (?P<quoted>  "(?:[^"]|"")*(?:"|\Z) )
    | (?P<tick>    `(?:[^`]|``)*` )
    | (?P<bracket> \[[^\[\]'"`,;()\n]*\] )
    | (?P<space>   \s+ )
    | (?P<word>    \w+ )
    | (?P<other>   . )
    """,
    re.VERBOSE | re.DOTALL,
)
_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_NAME_FOLLOWS = {"from", "join", "as", ".", "into", "table", "with"}
_VALUE_FOLLOWS = {
    "select",
    "where",
    "and",
    "or",
    "not",
    "on",
    "by",
    "in",
    "when",
    "then",
    "else",
    "case",
    "distinct",
    "having",
    "between",
    "like",
    "is",
    "limit",
    "all",
    "from",
    "join",
    "as",
    "asc",
    "desc",
}


class TokenPiece(NamedTuple):
    """A token: its kind (a group of `_TOKEN`), its text, and the last real token before it."""

    kind: str
    text: str
    before: str
    before_kind: str


def quotes(sql: str, names: TableNames) -> tuple[str, list[str]]:
    """The statement with backticks and brackets as double quotes, and what was done.

    A bracket is a name, not a list, where a list cannot stand (after FROM, JOIN, AS or a dot)
    or where it holds a known name that is no plain word; one such bracket makes all brackets
    of the statement names, except after a value, where they index a list. ``SELECT [id]`` means
    the column of that name, where the statement writes no list elsewhere.
    """
    pieces = list(_pieces(sql))
    bracketed = any(_surely_a_name(piece, names) for piece in pieces) or (
        not any(map(_surely_a_list, pieces)) and any(_a_column(piece, names) for piece in pieces)
    )
    out, done = [], []
    for piece in pieces:
        if piece.kind == "tick":
            out.append(_double(piece.text[1:-1].replace("``", "`")))
            done.append("backticks read as double quotes")
        elif bracketed and piece.kind == "bracket" and not _indexes(piece) and _nameable(piece):
            out.append(_double(piece.text[1:-1].strip()))
            done.append("[brackets] read as double quotes")
        else:
            out.append(piece.text)
    return "".join(out), list(dict.fromkeys(done))


def _pieces(sql: str) -> Iterator[TokenPiece]:
    before, before_kind = "", ""
    for match in _TOKEN.finditer(sql):
        kind = match.lastgroup or "other"
        kind = "string" if kind == "tag" else kind
        yield TokenPiece(kind, match.group(), before, before_kind)
        if kind not in ("space", "comment"):
            before, before_kind = match.group(), kind


def _surely_a_name(piece: TokenPiece, names: TableNames) -> bool:
    if piece.kind != "bracket" or _indexes(piece) or not _nameable(piece):
        return False
    inner = piece.text[1:-1].strip()
    after_name_word = piece.before.lower() in _NAME_FOLLOWS and piece.before_kind != "quoted"
    return after_name_word or (not _PLAIN_NAME.fullmatch(inner) and names.known(inner))


def _surely_a_list(piece: TokenPiece) -> bool:
    """Whether a bracket holds values, or is an argument, which a name in brackets is seldom."""
    if piece.kind == "bracket":
        return not _indexes(piece) and (piece.before == "(" or not _nameable(piece))
    return piece.text == "[" and not _indexes(piece)


def _a_column(piece: TokenPiece, names: TableNames) -> bool:
    """Whether a bracket with one known name stands where an expression begins."""
    if piece.kind != "bracket" or piece.before_kind != "word" or _indexes(piece):
        return False
    return _nameable(piece) and names.known(piece.text[1:-1].strip())


def _indexes(piece: TokenPiece) -> bool:
    """Whether the bracket stands right after a value: ``x[1]``, ``f(x)[i]``, ``'abc'[1]``."""
    if piece.before_kind == "word":
        return piece.before.lower() not in _VALUE_FOLLOWS
    return piece.before_kind in ("quoted", "string", "tick") or piece.before in (")", "]", "}")


def _nameable(piece: TokenPiece) -> bool:
    """Whether the bracket could hold a name: not empty, not a number, no slice."""
    inner = piece.text[1:-1].strip()
    return bool(inner) and not inner[0].isdigit() and ":" not in inner


def _double(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
