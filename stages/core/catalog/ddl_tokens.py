"""The tokens of a DDL statement, and what can be told of them in any dialect: brackets, the
parts between commas, dotted names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
      (?P<space> \s+ | --[^\n]* | /\*.*?(?:\*/|\Z) )
    | (?P<text>  (?:\b[NnEeXxBb])?'(?:[^'\\]|\\.|'')*(?:'|\Z) )
    | (?P<name>  "(?:[^"]|"")*(?:"|\Z) | `(?:[^`]|``)*(?:`|\Z) | \[(?!\d*\])[^]\n"]+\] )
    | (?P<word>  [\w$@\#]+ )
    | (?P<mark>  . )
    """,
    re.VERBOSE | re.DOTALL,
)
_NESTED = frozenset(("ARRAY", "STRUCT", "MAP", "ROW", "OBJECT", "UNIONTYPE", "RANGE", "MULTISET"))
"""Types whose parts stand in angle brackets."""


class Token(NamedTuple):
    """One token: its kind (text, name, word or mark), its spelling, and where it stands."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """The word in capitals; empty for anything quoted."""
        return self.text.upper() if self.kind in ("word", "mark") else ""

    @property
    def plain(self) -> str:
        """What the token names, without its quotes."""
        text = self.text
        if self.kind == "text":
            text = text[text.index("'") :]
            return text[1:-1].replace("''", "'").replace("\\'", "'")
        if self.kind == "name":
            close = "]" if text[0] == "[" else text[0]
            return text[1:-1].replace(close * 2, close)
        return text


Tokens = Sequence[Token]


def tokens(text: str) -> list[Token]:
    """The tokens of a statement, without blanks and comments."""
    return [
        Token(str(m.lastgroup), m.group(), m.start(), m.end())
        for m in _TOKEN.finditer(text)
        if m.lastgroup != "space"
    ]


def group(all_: Tokens, at: int) -> tuple[list[Token], int, bool]:
    """What stands between the bracket at ``at`` and the one that closes it, where it ends, and
    whether it is closed at all."""
    depth = 0
    for i in range(at, len(all_)):
        depth += (all_[i].text == "(") - (all_[i].text == ")")
        if depth == 0:
            return list(all_[at + 1 : i]), i + 1, True
    return list(all_[at + 1 :]), len(all_), False


def parts(inner: Tokens) -> Iterator[list[Token]]:
    """The parts between commas that stand in no brackets, angle brackets of types included."""
    depth = angle = 0
    part: list[Token] = []
    for token in inner:
        depth += (token.text in ("(", "{")) - (token.text in (")", "}"))
        if token.text == "<" and (angle or (part and part[-1].upper in _NESTED)):
            angle += 1
        elif token.text == ">" and angle:
            angle -= 1
        if token.text == "," and depth <= 0 and not angle:
            if part:
                yield part
            part = []
        else:
            part.append(token)
    if part:
        yield part


def dotted(all_: Tokens, at: int) -> tuple[tuple[str, ...], int]:
    """A dotted name at ``at``, and where it ends; ``a..b`` leaves out the schema."""
    path: list[str] = []
    while at < len(all_) and all_[at].kind != "mark":
        path.append(all_[at].plain)
        at += 1
        more = False
        while at < len(all_) and all_[at].text == "." and all_[at].kind == "mark":
            more, at = True, at + 1
        if not more:
            break
    return tuple(name for whole in path for name in ([whole] if whole else [])), at


def first_names(inner: Tokens) -> list[str]:
    """First name of each part: ``(a DESC, b(10))`` names a and b, and ``((a, b), c)`` all three."""
    found: list[str] = []
    for part in parts(inner):
        if part[0].kind != "mark":
            found.append(part[0].plain)
        elif part[0].text == "(":
            found += first_names(group(part, 0)[0])
    return found


def angle_end(part: Tokens, at: int) -> int:
    """Where the angle bracket at ``at`` is closed."""
    depth = 0
    for i in range(at, len(part)):
        depth += (part[i].text == "<") - (part[i].text == ">")
        if depth == 0:
            return i + 1
    return len(part)


def spelling(part: Tokens) -> str:
    """The tokens as one text, spaces only where the statement has some."""
    out = ""
    for i, token in enumerate(part):
        gap = i and token.start > part[i - 1].end and token.text not in "(),<>"
        bracketed = token.kind == "name" and token.text.startswith("[")
        out += (" " if gap else "") + (token.plain if bracketed else token.text)
    return out
