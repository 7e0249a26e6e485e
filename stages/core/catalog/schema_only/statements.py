"""DDL text cut into statements and tokens, whatever its dialect.

The tokens of a DDL statement, and what can be told of them in any dialect: brackets, the
parts between commas, dotted names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
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


def read_dotted(all_: Tokens, at: int) -> tuple[tuple[str, ...], int]:
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


# DDL text cut into statements, and the dialect it is likely to be written in.

_PIECE = r"""
      (?P<comment> --[^\n]* | /\*(?!!).*?(?:\*/|\Z) | ^[ \t]*\#[^\n]* | /\*!\d* | \*/
                 | ^\\[A-Za-z!][^\n]* )
    | (?P<quoted>  (?<![^\W_][eE])(?<=[eE])'(?:[^'\\]|\\.|'')*(?:'|\Z)
                 | '(?:[^'ESCAPE]|ANY'')*(?:'|\Z) | "(?:[^"]|"")*(?:"|\Z) | `[^`]*(?:`|\Z)
                 | \[[^\W\d][^],\n;"]*\] )
    | (?P<dollar>  \$\$.*?(?:\$\$|\Z) | \$(?P<tag>[A-Za-z_]\w*)\$.*?(?:\$(?P=tag)\$|\Z) )
    | (?P<go>      ^[ \t]*(?:GO|go|Go)(?:[ \t]+\d+)?[ \t]*;?[ \t]*\r?$ | ^/[ \t]*\r?$ )
    | (?P<command> ^[ \t]*(?:PROMPT|REM|REMARK)(?:[ \t][^\n]*)?$
                 | ^[ \t]*(?:DELIMITER|delimiter)[ \t]+(?P<mark>\S+)[^\n]* )
    | (?P<end>     ; )
    | (?P<other>   [^-/'"`$;\#\n\\\[*]+ | . | \n )
    """
_INSERT = r"""
    (?!^[ \t]*(?i:GO|/|\#|\\|CREATE|ALTER|DELIMITER))
    (?: [^-/'"`$;\#\n\\\[*]+ | '(?:[^'ESCAPE]|ANY'')*+' | [-/*\[\\](?![-*/!]) | "[^"]*" | `[^`]*`
      | \n(?![ \t]*(?i:GO|/|\#|\\|CREATE|ALTER|DELIMITER)) )++
    """
"""As many pieces of rows as can be passed over at once."""


def _piece(pattern: str, *, backslash: bool) -> re.Pattern[str]:
    """The pieces of text where a backslash escapes a quote, or stands for itself."""
    pattern = pattern.replace("ESCAPE", r"\\" if backslash else "")
    return re.compile(
        pattern.replace("ANY", r"\\.|" if backslash else ""), re.VERBOSE | re.DOTALL | re.MULTILINE
    )


_PIECES = {backslash: _piece(_PIECE, backslash=backslash) for backslash in (False, True)}
_INSERTS = {backslash: _piece(_INSERT, backslash=backslash) for backslash in (False, True)}
_NO_TABLE = r"(?!(?:ON|FOR|AS|IN|TO|OF|INDEX|TYPE|FUNCTION|TRIGGER|RULE|POLICY|STREAM)\b)"
_WANTED = re.compile(
    r"(?:CREATE\b(?:\s+"
    + _NO_TABLE
    + r"\w+(?:\s*=\s*\S+)?){0,8}?\s+(?:TABLE|VIEW)\b(?!\s+(?:ON|FOR)\b)"
    r"|ALTER\s+(?:FOREIGN\s+)?TABLE\b|COMMENT\s+ON\b)",
    re.IGNORECASE,
)
_ROUTINE = re.compile(
    r"(?:CREATE|ALTER)\b(?:\s+(?:OR\s+(?:REPLACE|ALTER)|EDITIONABLE|NONEDITIONABLE|AGGREGATE|CONSTRAINT"
    r"|TEMP|TEMPORARY|DEFINER\s*=\s*\S+))*\s+(?:PROC|PROCEDURE|FUNCTION|TRIGGER|PACKAGE|EVENT|TYPE)\b",
    re.IGNORECASE,
)
_BATCH_END = re.compile(r"^[ \t]*(?:GO|/)[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_ROWS = re.compile(r"\s*COPY\b.*\bFROM\s+STDIN\b", re.IGNORECASE | re.DOTALL)
_ROWS_END = re.compile(r"^\\\.[ \t]*\r?$", re.MULTILINE)
_AFTER_ROWS = re.compile(
    r"^(?:--|(?:CREATE|ALTER|COMMENT|SET|SELECT|INSERT|COPY|GRANT)[ \t])", re.MULTILINE
)
_SIGNS = {
    "mysql": r"`[^`\n]*`\s+\w+|\bENGINE\s*=\s*[IM]\w+|\bAUTO_INCREMENT\b|\bUNSIGNED\b|^\s*KEY\s+`|^-- (?:MySQL|MariaDB|phpMyAdmin)",  # noqa: E501
    "bigquery": r"\bOPTIONS\s*\(|\bSTRUCT<|\bARRAY<|\bINT64\b|`[\w-]+\.[\w-]+\.[\w-]+`",
    "snowflake": r"\bTRANSIENT\b|\bVARIANT\b|\bTIMESTAMP_(?:NTZ|LTZ|TZ)\b|\bAUTOINCREMENT\b.*\bSTART\b|\bCLUSTER BY\b",  # noqa: E501
    "tsql": r"\[\w[^\]\n]*\]\s*\.?\s*[\[(]?|^\s*GO\s*$|\bNVARCHAR\b|\bIDENTITY\s*\(|\bdbo\.",
    "oracle": r"\bN?VARCHAR2\b|\bNUMBER\s*\(|\bCLOB\b|\bSEGMENT CREATION\b|\bPCTFREE\b",
    "sqlite": r"\bAUTOINCREMENT\b|\bWITHOUT\s+ROWID\b|\bPRAGMA\b",
    "postgres": r"\bcharacter varying\b|\bBIGSERIAL\b|\bSERIAL\b|::\w+|\bALTER TABLE ONLY\b|\bOWNER TO\b|\bJSONB\b|\bTIMESTAMPTZ\b|^-- PostgreSQL|\bFROM stdin;",  # noqa: E501
    "clickhouse": r"MergeTree\b|\bU?Int(?:8|16|32|64|128|256)\b|\bLowCardinality\(|\bCODEC\s*\(|\bNullable\(|\bDateTime64\b",  # noqa: E501
    "hive": r"\bSTORED\s+AS\b|\bROW\s+FORMAT\b|\bTBLPROPERTIES\b|\bPARTITIONED\s+BY\b",
    "databricks": r"\bUSING\s+(?:DELTA|PARQUET|ICEBERG|CSV|ORC)\b",
    "redshift": r"\bDISTKEY\b|\bSORTKEY\b|\bDISTSTYLE\b|\bENCODE\s+\w+",
    "teradata": r"\bMULTISET\b|\bPRIMARY\s+INDEX\b|\bNO\s+FALLBACK\b",
    "starrocks": r"\bDUPLICATE\s+KEY\b|\bDISTRIBUTED\s+BY\s+HASH\b",
}
ESCAPING = frozenset(
    ("mysql", "bigquery", "snowflake", "clickhouse", "hive", "databricks", "starrocks", "spark")
)
"""Dialects in which a backslash in a text escapes what follows."""
PLAIN = ("duckdb", "mysql", "bigquery", "snowflake", "tsql", "oracle", "sqlite", "postgres")
"""Dialects to try where no sign speaks for any, in this order."""
LOOKED = 1 << 18
"""Characters that tell the dialect."""
INDENT = 80
"""Blanks that a statement may begin behind, where nothing ended the one before it."""
LONGEST = 1 << 20
"""Characters of one statement that are parsed."""


class DdlStatement(NamedTuple):
    """One statement: its text, and the line of the file it begins on."""

    text: str
    line: int


def statements(text: str, dialect: str | None = None) -> Iterator[DdlStatement]:
    """The statements that make or describe tables and views; all others are passed over.

    Args:
        text: SQL, one statement after the other.
        dialect: What it is written in, where that is known; it says whether a backslash
            escapes. Where nothing tells, the reading that closes every quote stands.
    """
    if "\\'" not in text:
        yield from _Cutter(text, backslash=False).cut()
        return
    signs = [dialect] if dialect else _signs(text[:LOOKED])
    if signs:
        yield from _Cutter(text, backslash=signs[0] in ESCAPING).cut()
        return
    cuts = [_Cutter(text, backslash=backslash) for backslash in (True, False)]
    found = [list(cut.cut()) for cut in cuts]
    best = max((0, 1), key=lambda i: (not cuts[i].unclosed, len(found[i])))
    yield from found[best]


class _Cutter:
    """One pass over a text."""

    def __init__(self, text: str, *, backslash: bool) -> None:
        self.text = text
        self.pieces = _PIECES[backslash]
        self.rows = _INSERTS[backslash]
        self.unclosed = False
        self.parts: list[str] = []
        self.start = self.line = 1
        self.depth = 0
        self.head = ""
        self.pos = 0

    def cut(self) -> Iterator[DdlStatement]:
        """The wanted statements, in order."""
        while (match := self.pieces.match(self.text, self.pos)) is not None:
            kind, piece = match.lastgroup, match.group()
            if match["mark"]:
                kind = "command"
            elif kind == "tag":
                kind = "dollar"
            if kind == "other" and self._begins(match.start()):
                yield from self._statement()
            self.pos = match.end()
            if kind == "go" or (kind == "end" and not self._within_routine()):
                yield from self._statement()
            elif kind == "command" and not self.parts:
                yield from self._marked(match["mark"] or ";")
            elif kind == "comment" or (not self.parts and not piece.strip()):
                self.parts += [" "] if self.parts else []
            else:
                self._take(piece, kind or "")
            self.line += piece.count("\n")
            if self.parts and self.head[:6].upper() in ("INSERT", "REPLAC"):
                self._pass_values()
        yield from self._statement()

    def _take(self, piece: str, kind: str) -> None:
        if not self.parts:
            self.start, self.depth = self.line, 0
            self.head = self.text[self.pos - len(piece) : self.pos + 400].lstrip()
        self.parts.append(piece)
        if kind == "other":
            self.depth += piece.count("(") - piece.count(")")
        elif self.pos == len(self.text) and (len(piece) < 2 or piece[-1] != piece[0]):
            self.unclosed = True

    def _pass_values(self) -> None:
        """Go on within an INSERT as far as nothing but its rows stands there."""
        match = self.rows.match(self.text, self.pos)
        if match is not None:
            self.line += self.text.count("\n", self.pos, match.end())
            self.pos = match.end()

    def _begins(self, at: int) -> bool:
        """Whether a new statement begins on this line though nothing ended the one before."""
        if not self.parts or self.depth > 0:
            return False
        while self.text[at] in " \t":
            at += 1
            if at == len(self.text):
                return False
        if self.text[at] not in "CcAa":
            return False
        line = max(0, at - INDENT)
        before = self.text[line:at].rpartition("\n")
        if before[2].strip() or (line and not before[1]) or _ROUTINE.match(self.head):
            return False
        return _WANTED.match(self.text, at) is not None

    def _within_routine(self) -> bool:
        """Whether a semicolon ends a statement of a routine, whose own end is a line of its own."""
        return (
            bool(self.parts)
            and _ROUTINE.match(self.head) is not None
            and self.pos < self.last_batch
        )

    @cached_property
    def last_batch(self) -> int:
        """Where the last batch ends that a line of its own (GO, or a slash) ends."""
        return max((match.start() for match in _BATCH_END.finditer(self.text)), default=-1)

    def _statement(self) -> Iterator[DdlStatement]:
        """What was gathered, where it is wanted; rows behind it are passed over."""
        parts, self.parts = self.parts, []
        self.depth = 0
        if not parts:
            return
        text = "".join(parts[:60]).lstrip()[:400]
        if _WANTED.match(text):
            yield DdlStatement("".join(parts).strip(), self.start)
        elif text[:4].upper() == "COPY" and _ROWS.match("".join(parts[:4000])):
            self._pass_rows()

    def _pass_rows(self) -> None:
        """Go behind the rows of ``COPY … FROM stdin``; where their end mark is missing, to the
        next line that begins like a statement."""
        begin = self.text.find("\n", self.pos) + 1 or len(self.text)
        end = _ROWS_END.search(self.text, begin) or _AFTER_ROWS.search(self.text, begin)
        stop = len(self.text) if end is None else end.start() if end[0][:1] != "\\" else end.end()
        self.line += self.text.count("\n", self.pos, stop)
        self.pos = stop

    def _marked(self, mark: str) -> Iterator[DdlStatement]:
        """Statements that another mark than a semicolon ends (MySQL's DELIMITER), up to the
        next such command."""
        while mark != ";":
            begin = self.pos
            while self.text[begin : begin + 1].isspace():
                begin += 1
            if re.match(r"DELIMITER\b", self.text[begin : begin + 10], re.IGNORECASE):
                return
            stop = self.text.find(mark, begin)
            stop = len(self.text) if stop < 0 else stop
            body = self.text[begin:stop].strip()
            if _WANTED.match(body):
                yield DdlStatement(body, self.line + self.text.count("\n", self.pos, begin))
            end = min(stop + len(mark), len(self.text))
            self.line += self.text.count("\n", self.pos, end)
            self.pos = end
            if stop == len(self.text):
                return


@lru_cache(maxsize=2)
def _signs(head: str) -> list[str]:
    """Dialects that something in the text speaks for, the likeliest first."""
    marks = {
        name: len(re.findall(pattern, head, re.IGNORECASE | re.MULTILINE))
        for name, pattern in _SIGNS.items()
    }
    return [name for name in sorted(marks, key=lambda name: -marks[name]) if marks[name]]


def likely(text: str) -> list[str]:
    """Dialects to try, the likeliest first; DuckDB's, which takes most plain SQL, among them."""
    strong = _signs(text[:LOOKED])
    return [*strong, *(name for name in PLAIN if name not in strong)]
