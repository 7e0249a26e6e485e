"""CREATE TABLE and ALTER TABLE read clause by clause, for what no parser takes as a whole.

One column of a DDL statement: its name, its type, and what else can be read of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from stages.core.catalog.schema_only.statements import (
    Token,
    angle_end,
    first_names,
    group,
    parts,
    read_dotted,
    spelling,
    tokens,
)

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
    path, at = read_dotted(part, at + 1)
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


# CREATE TABLE and ALTER TABLE read clause by clause, for what no parser takes as a whole.

_PASSED: dict[str, tuple[str, ...]] = {
    "CHECK": ("(",),
    "EXCLUDE": ("(", "USING"),
    "PERIOD": ("FOR",),
    "WATERMARK": ("FOR",),
    "SUPPLEMENTAL": ("LOG",),
    "FULLTEXT": ("KEY", "INDEX", "("),
    "SPATIAL": ("KEY", "INDEX", "("),
    "VECTOR": ("KEY", "INDEX"),
    "SHARD": ("KEY",),
    "SORT": ("KEY",),
    "CLUSTERED": ("KEY", "COLUMNSTORE"),
    "PARTITION": ("BY",),
}
"""Parts that make no column, by their first word and what follows it."""

_QUERY = ("SELECT", "WITH", "(", "TABLE", "VALUES")


@dataclass
class Clauses:
    """A statement about one table.

    Attributes:
        path: Parts of the table's name.
        columns: In order.
        partition_columns: Columns that stand behind the brackets (Hive's PARTITIONED BY).
        primary_key: Of a constraint of the table.
        unique: Columns of each unique constraint.
        foreign_keys: Own columns, the other table's name, its columns.
        parents: Names of tables whose columns this one has before its own.
        copies: Name of the table that this one has the columns of, in their place.
        comment: On the table.
        query: Where the query begins that a view or table is made of; 0 without one.
        whole: Whether every bracket was closed and every part understood.
    """

    path: tuple[str, ...]
    columns: list[ColumnPart] = field(default_factory=list)
    partition_columns: list[ColumnPart] = field(default_factory=list)
    primary_key: list[str] = field(default_factory=list)
    unique: list[list[str]] = field(default_factory=list)
    foreign_keys: list[tuple[list[str], tuple[str, ...], list[str]]] = field(default_factory=list)
    parents: list[tuple[str, ...]] = field(default_factory=list)
    copies: list[tuple[str, ...]] = field(default_factory=list)
    comment: str = ""
    query: int = 0
    view: bool = False
    whole: bool = True

    @property
    def elsewhere(self) -> bool:
        """Whether columns of the table stand outside of its brackets."""
        return bool(self.parents or self.copies or self.partition_columns)


def create(text: str) -> Clauses | None:
    """What CREATE TABLE or CREATE VIEW says; None where not even a name can be told."""
    all_ = tokens(text)
    at = next((i for i, t in enumerate(all_) if t.upper in ("TABLE", "VIEW")), len(all_))
    view = at < len(all_) and all_[at].upper == "VIEW"
    at += 1
    if [t.upper for t in all_[at : at + 3]] == ["IF", "NOT", "EXISTS"]:
        at += 3
    path, at = read_dotted(all_, at)
    if not path or not path[-1]:
        return None
    made = Clauses(path, view=view)
    virtual = any(t.upper == "VIRTUAL" for t in all_[:4])
    body, tail = _body(all_, at, virtual=virtual)
    if body is not None:
        inner, closed = body
        made.whole &= closed
        for part in parts(inner):
            if virtual:
                made.columns += _virtual(part)
            else:
                _part(made, part)
    _tail(made, tail, clickhouse="MergeTree" in text)
    return made


def _virtual(part: list[Token]) -> list[ColumnPart]:
    """A column of a virtual table, where the part is no option (``tokenize = …``)."""
    if part[0].kind == "mark" or any(token.text == "=" for token in part):
        return []
    return [ColumnPart(part[0].plain, spelling(part[1 : type_end(part)]))]


def alter(text: str) -> Clauses | None:
    """What the ADD clauses of ALTER TABLE say; None where the table has no name."""
    all_ = tokens(text)
    at = next((i for i, t in enumerate(all_) if t.upper == "TABLE"), len(all_)) + 1
    while at < len(all_) and all_[at].upper in ("IF", "EXISTS", "ONLY", "NOT"):
        at += 1
    path, at = read_dotted(all_, at)
    if not path:
        return None
    made = Clauses(path)
    for action in parts(all_[at:]):
        words = [t.upper for t in action]
        if words[:1] == ["INHERIT"]:
            made.parents.append(read_dotted(action, 1)[0])
        if "ADD" not in words[:4]:
            continue
        action = action[words.index("ADD") + 1 :]
        while action and action[0].upper in ("COLUMN", "IF", "NOT", "EXISTS"):
            action = action[1:]
        grouped = action[:1] and action[0].text == "("
        for part in parts(group(action, 0)[0]) if grouped else [action]:
            _part(made, part)
    return made


def _body(
    all_: list[Token], at: int, *, virtual: bool
) -> tuple[tuple[list[Token], bool] | None, list[Token]]:
    """The tokens in the brackets behind the name and whether they are closed; and the rest."""
    if virtual:  # USING fts5(…)
        at = next((i for i in range(at, len(all_)) if all_[i].text == "("), len(all_))
    while at < len(all_) and all_[at].text == ",":  # Teradata's options stand before the brackets
        at += 1
        while at < len(all_) and all_[at].text not in ("(", ",") and all_[at].upper != "AS":
            at += 1
    if [t.upper for t in all_[at : at + 2]] == ["ON", "CLUSTER"]:
        at += 3
    if at >= len(all_) or all_[at].text != "(":
        return None, all_[at:]
    inner, end, closed = group(all_, at)
    first = inner[0].upper if inner else ""
    if first in ("SELECT", "WITH"):
        return None, all_[at:]
    return (inner, closed), all_[end:]


def _part(made: Clauses, part: list[Token]) -> None:
    """A column or a constraint; nothing where a statement breaks off before it."""
    if not part:
        return
    words = [token.upper for token in part]
    named = words[0] == "CONSTRAINT" and len(part) > 2
    if named:
        skip = 1 if words[1] in ("PRIMARY", "FOREIGN", "UNIQUE", "CHECK") and words[2] else 2
        part, words = part[skip:], words[skip:]
    follows = words[1] if len(words) > 1 else ""
    if words[0] in ("PRIMARY", "FOREIGN", "UNIQUE") and _constraint(made, part, words):
        return
    if words[0] == "LIKE" and len(part) > 1:
        made.copies.append(read_dotted(part, 1)[0])
    elif named or follows in _PASSED.get(words[0], ()) or _is_index(part):
        return
    elif part[0].kind == "mark":
        made.whole = False
    else:
        made.columns.append(column(part))


def _is_index(part: list[Token]) -> bool:
    """Whether ``KEY …`` or ``INDEX …`` lists columns, or is a column of that name itself; and
    ClickHouse's ``PROJECTION name (SELECT …)``."""
    if part[0].upper == "PROJECTION":
        return any(token.upper == "SELECT" for token in part)
    if part[0].upper not in ("KEY", "INDEX", "FAMILY"):
        return False
    opens = next((i for i, token in enumerate(part[:6]) if token.text == "("), 0)
    if not opens:
        return any(token.upper == "TYPE" for token in part[2:])
    first = part[opens + 1] if opens + 1 < len(part) else None
    if first is not None and first.text == "(":  # of an expression, as MySQL writes it
        return True
    return first is not None and first.kind in ("name", "word") and not first.text.isdigit()


def _constraint(made: Clauses, part: list[Token], words: list[str]) -> bool:
    """Take up a key of the table; False where it is a column that is called so."""
    opens = next((i for i, token in enumerate(part) if token.text == "("), None)
    if opens is None or (words[0] != "UNIQUE" and "KEY" not in words[1:2]):
        return False
    inner, end, _ = group(part, opens)
    names = first_names(inner)
    if words[0] == "PRIMARY":
        made.primary_key = names
    elif words[0] == "UNIQUE":
        made.unique.append(names)
    elif "REFERENCES" in words[end:]:
        target, target_columns = reference_of(part, words.index("REFERENCES", end))
        made.foreign_keys.append((names, target, target_columns))
    return True


def _tail(made: Clauses, tail: list[Token], *, clickhouse: bool) -> None:
    """What stands behind the brackets, or instead of them."""
    words = [token.upper for token in tail]
    depth = 0
    for i, word in enumerate(words):
        depth += (word == "(") - (word == ")")
        pair = (word, words[i + 1] if i + 1 < len(words) else "")
        if depth:
            continue
        if word == "AS" and not made.query and pair[1] in _QUERY:
            made.query = tail[i].end
        elif pair == ("PARTITIONED", "BY") and words[i + 2 : i + 3] == ["("]:
            inner = group(tail, i + 2)[0]
            made.partition_columns = [column(p) for p in parts(inner) if type_end(p) > 1]
        elif word == "INHERITS" and pair[1] == "(":
            made.parents += [read_dotted(p, 0)[0] for p in parts(group(tail, i + 1)[0])]
        elif pair == ("PARTITION", "OF"):
            made.copies.append(read_dotted(tail, i + 2)[0])
        elif word in ("LIKE", "CLONE") and i < 2 and not made.columns:
            made.copies.append(read_dotted(tail, i + 1)[0])
        elif pair == ("PRIMARY", "KEY") and not clickhouse and words[i + 2 : i + 3] == ["("]:
            made.primary_key = made.primary_key or first_names(group(tail, i + 2)[0])
        elif word == "COMMENT":
            found = tail[i + 1 : i + 3]
            text = next((t for t in found if t.kind == "text"), None)
            made.comment = made.comment or (text.plain if text else "")
