"""One column of a DDL statement: its name, its type, and what else can be read of it."""

from __future__ import annotations

from dataclasses import dataclass

from stages.core.catalog.ddl_tokens import Token, angle_end, dotted, first_names, group, spelling

_TYPE_GOES_ON = frozenset(
    [
        "VARYING",
        "PRECISION",
        "UNSIGNED",
        "SIGNED",
        "ZEROFILL",
        "WITH",
        "WITHOUT",
        "LOCAL",
        "TIME",
        "ZONE",
        "LARGE",
        "OBJECT",
        "YEAR",
        "MONTH",
        "DAY",
        "HOUR",
        "MINUTE",
        "SECOND",
        "TO",
        "BYTE",
        "RAW",
        "CHAR",
        "CHARACTER",
        "VARCHAR",
        "VARCHAR2",
        "BINARY",
    ]
)
_LEADS = frozenset(("NATIONAL", "LONG", "DOUBLE", "CHARACTER", "CHAR", "NCHAR", "BIT", "BINARY"))
_AFTER_LEAD = frozenset(
    ["PRECISION", "VARYING", "LARGE", "CHARACTER", "CHAR", "VARCHAR", "RAW", "VARBINARY"]
)
_NO_TYPE = frozenset(
    [
        "NOT",
        "NULL",
        "PRIMARY",
        "UNIQUE",
        "KEY",
        "DEFAULT",
        "REFERENCES",
        "CHECK",
        "GENERATED",
        "COLLATE",
        "COMMENT",
        "CONSTRAINT",
        "AS",
        "ENCODE",
        "CODEC",
        "AUTO_INCREMENT",
        "AUTOINCREMENT",
        "IDENTITY",
        "ON",
        "HIDDEN",
        "INVISIBLE",
        "VISIBLE",
        "OPTIONS",
        "MATERIALIZED",
        "ALIAS",
        "EPHEMERAL",
        "STORED",
        "VIRTUAL",
        "TTL",
    ]
)


@dataclass
class ColumnPart:
    """What a part says of a column."""

    name: str
    declared: str = ""
    comment: str = ""
    nullable: bool | None = None
    primary: bool = False
    unique: bool = False
    generated: bool = False
    reference: tuple[tuple[str, ...], list[str]] | None = None


def reference_of(part: list[Token], at: int) -> tuple[tuple[str, ...], list[str]]:
    """The table and the columns that ``REFERENCES`` at ``at`` names."""
    path, at = dotted(part, at + 1)
    opens = at < len(part) and part[at].text == "("
    return path, first_names(group(part, at)[0]) if opens else []


def column(part: list[Token]) -> ColumnPart:
    """Name, type and keys of a column."""
    end = type_end(part)
    declared = spelling(part[1:end])
    made = ColumnPart(part[0].plain, declared)
    rest, words = part[end:], [token.upper for token in part[end:]]
    depth = 0
    for i, word in enumerate(words):
        depth += (word == "(") - (word == ")")
        following = words[i + 1] if i + 1 < len(words) else ""
        if depth:
            continue
        if word == "NULL" and "DEFAULT" not in words[max(0, i - 1) : i]:
            made.nullable = words[max(0, i - 1) : i] != ["NOT"]
        elif word == "PRIMARY" and following == "KEY":
            made.primary = True
        elif word == "UNIQUE":
            made.unique = True
        elif word == "REFERENCES":
            made.reference = reference_of(rest, i)
        elif word == "COMMENT" and i + 1 < len(rest) and rest[i + 1].kind == "text":
            made.comment = rest[i + 1].plain
        elif word == "AS" and following == "(":
            made.generated = True
    return made


def type_end(part: list[Token]) -> int:
    """Where the type of a column ends; 1 where it has none."""
    if len(part) < 2 or part[1].upper in _NO_TYPE or part[1].kind == "text":
        return 1
    if part[1].kind == "mark":
        return 1
    at = 2
    while at + 1 < len(part) and part[at].text == "." and part[at + 1].kind != "mark":
        at += 2
    lead = part[at - 1].upper
    while at < len(part):
        token = part[at]
        if token.text == "(":
            at = group(part, at)[1]
        elif token.text == "<":
            at = angle_end(part, at)
        elif (
            token.text in ("[", "]")
            or (part[at - 1].text == "[" and token.text.isdigit())
            or token.upper == "ARRAY"
            or (token.upper in _TYPE_GOES_ON and _goes_on(part, at, lead))
        ):
            at += 1
        else:
            break
    return at


def _goes_on(part: list[Token], at: int, lead: str) -> bool:
    """Whether a word still belongs to the type."""
    word = part[at].upper
    if word in _AFTER_LEAD and (lead in _LEADS or part[at - 1].upper in _LEADS):
        return not (word in ("CHARACTER", "CHAR") and part[at - 1].upper not in _LEADS)
    if word in ("WITH", "WITHOUT"):
        return any(token.upper == "TIME" for token in part[at + 1 : at + 3])
    return word not in ("CHARACTER", "CHAR", "VARCHAR", "VARCHAR2", "BINARY", "BYTE", "RAW")
