"""Columns whose names say that their values are secret: passwords, tokens, numbers of cards,
accounts and people, in English and Chinese.

A name says so where the word stands at its end, with nothing behind it but what the value is
(``password_hash``, ``card_number``): ``password_changed_at`` and ``token_count`` hold no secret.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, build_scope
from sqlglot.schema import MappingSchema

from stages.core.catalog.source_table import ScanOptions, SourceTable
from stages.core.names import fold

_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
_VALUE = r"(?: (?:hash|hashed|salt|digest|encrypted|enc|plain|plaintext|text|value|string|\d+))*"
_NUMBER = r"(?: (?:number|num|no|nr|nbr|code))?"
_NEVER_A_KEY = re.compile(
    r"(?:.* )?(?:password|passwd|passwort|pass ?word|pwd|passcode|passphrase"
    r"|(?:api|access|auth|refresh|bearer|session|csrf|id|oauth|secret|security|reset|push|device|user) token|token"
    r"|(?:client|api|app|shared|consumer|webhook|totp|otp|user) secret|secret"
    r"|(?:api|secret|private|access|encryption|signing) ?key|apikey|cvv2?|cvc2?)"
    + _VALUE
    + r"|pass|pw"
)
_NUMBERED = re.compile(
    r"(?:.* )?(?:ssn|social security|iban|(?:credit|debit|bank|payment) ?card|creditcard)"
    + _NUMBER
    + _VALUE
    + r"|(?:.* )?(?:cc|card|cardholder) ?(?:number|num|no|nr|nbr|pan)"
    + _VALUE
    + r"|card|\w?ssn|cardno|cardnumber|ccnum|cc"
)
_CHINESE_SECRET = re.compile(
    r".*(?:密码|口令|密钥|私钥|令牌|安全码|验证码|凭证密文)(?:哈希|散列|密文|明文|值|盐)?"
)
_CHINESE_NUMBER = re.compile(
    r".*(?:身份证|社保|社会保障|社会保险|银行卡|信用卡|储蓄卡|借记卡|银行账|银行帐)(?:卡)?(?:号|号码|编号|账号)?|卡号|银行账户|银行卡号码"
)


@lru_cache(maxsize=1 << 16)
def secrecy(name: str) -> str:
    """What a column's name says of its values.

    Returns:
        ``always`` for a secret that nothing is joined by, ``number`` for a number that may
        also be a key, empty for all else.

    >>> secrecy("userPassword"), secrecy("password_changed_at"), secrecy("SSN"), secrecy("密码")
    ('always', '', 'number', 'always')
    """
    words = " ".join(_WORDS.findall(name)).casefold()
    joined = name.strip().replace(" ", "").replace("_", "")
    if _NEVER_A_KEY.fullmatch(words) or _CHINESE_SECRET.fullmatch(joined):
        return "always"
    if _NUMBERED.fullmatch(words) or _CHINESE_NUMBER.fullmatch(joined):
        return "number"
    return ""


# Which columns of a view hold what comes from columns of other tables.

Place = tuple[str, str]


def passed_on(
    view: SourceTable,
    place: Place,
    columns: Mapping[Place, Sequence[str]],
    secret: Mapping[Place, set[str]],
) -> set[str]:
    """Names of the view's columns that hold something of a secret column.

    A statement that cannot be followed hides every column of the view, where it names a table
    with a secret column: a value that was shown cannot be taken back.

    Args:
        view: The view, with its statement.
        place: Where it is.
        columns: All tables' columns by place.
        secret: Columns to look for, by the place of their table.
    """
    words = set(re.findall(r"\w+", fold(view.query)))
    if not any(words.issuperset(re.findall(r"\w+", table)) for _, table in secret):
        return set()
    names = [column["name"] for column in view.columns]
    try:
        outputs = _sources(view, place[0], columns)
    except Exception:
        return set(names)
    if len(outputs) != len(names):
        return set(names)
    return {
        name
        for name, reads in zip(names, outputs, strict=True)
        if any(column in map(fold, secret.get(other, ())) for other, column in reads)
    }


def _sources(
    view: SourceTable, source: str, columns: Mapping[Place, Sequence[str]]
) -> list[set[tuple[Place, str]]]:
    """For each column of the view, the tables and folded columns that it is made of."""
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    dialect = view.query_dialect
    tree = sqlglot.parse_one(view.query, read=dialect)
    query = tree if isinstance(tree, exp.Query) else tree.find(exp.Query)
    if query is None:
        raise ValueError("no query in it")
    query = query.copy()
    schema: dict[str, object] = {}
    places: dict[str, Place] = {}
    ctes = {fold(cte.alias) for cte in query.find_all(exp.CTE)}
    for table in query.find_all(exp.Table):
        if fold(table.name) in ctes and not table.db:
            continue
        place = _place(table, source, columns)
        key = f"t{len(places)}" if place else fold(table.name)
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
        table.set("db", None)
        table.set("catalog", None)
        if place:
            places[key] = place
            schema[key] = {fold(name): "text" for name in columns[place]}
            table.set("this", exp.to_identifier(key, quoted=True))
    for column in query.find_all(exp.Column):
        column.set("db", None)
        column.set("catalog", None)
    for name in query.find_all(exp.Identifier):
        name.set("this", fold(name.this))
        name.set("quoted", True)
    query = qualify(
        query, dialect=dialect, schema=MappingSchema(schema, normalize=False), quote_identifiers=False,
        validate_qualify_columns=False, identify=True,
    )  # fmt: skip
    scope = build_scope(query)
    if scope is None or any(item.is_star for item in query.selects):
        raise ValueError("a star that cannot be expanded")
    outputs = [_reads(scope, at, frozenset()) for at in range(len(query.selects))]
    return [
        {(places[table], column) for table, column in reads if table in places} for reads in outputs
    ]


def _place(table: exp.Table, source: str, columns: Mapping[Place, Sequence[str]]) -> Place | None:
    """The table that a name in the statement means; None where it is none of the catalog."""
    name = fold(table.name)
    within = fold(f"{table.db}.{table.name}")
    for place in ((table.db, name), (source, within), (source, name)):
        if place in columns:
            return place
    return None


def _reads(scope: Scope, at: int, seen: frozenset[tuple[int, int]]) -> set[tuple[str, str]]:
    """Tables and columns that the output column at a place reads, through all queries inside.

    Args:
        scope: A query.
        at: Place of its output column.
        seen: Queries and places that are being looked at, for a query may read itself.
    """
    if (id(scope), at) in seen:
        return set()
    seen |= {(id(scope), at)}
    if scope.set_operation_scopes:
        return set().union(*(_reads(part, at, seen) for part in scope.set_operation_scopes))
    item = _selects(scope)[at]
    if isinstance(item.unalias(), exp.Count):
        return set()
    found: set[tuple[str, str]] = set()
    for column in item.find_all(exp.Column):
        found |= _column(scope, column, seen)
    return found


def _selects(scope: Scope) -> list[exp.Expr]:
    if not isinstance(scope.expression, exp.Query):
        raise ValueError("rows of no query")
    return list(scope.expression.selects)


def _column(
    scope: Scope, column: exp.Column, seen: frozenset[tuple[int, int]]
) -> set[tuple[str, str]]:
    """What one column stands for; of a query inside, what its output column reads."""
    name, table = column.name, column.table
    near = [scope, *scope.traverse()]
    while scope.parent is not None:
        scope = scope.parent
        near.append(scope)
    if not table:  # of any of the tables, or a text in double quotes
        every = [source for part in near for source in part.sources.values()]
        return set().union(*(_of_source(source, name, seen, sure=False) for source in every))
    for part in near:
        if table in part.sources:
            return _of_source(part.sources[table], name, seen, sure=True)
    raise ValueError("a table that is not known")


def _of_source(
    source: exp.Expr | Scope, name: str, seen: frozenset[tuple[int, int]], *, sure: bool
) -> set[tuple[str, str]]:
    if isinstance(source, exp.Table):
        return {(source.name, name)}
    if not isinstance(source, Scope):
        raise ValueError("a source that is no table")
    outputs = [item.alias_or_name for item in _selects(source)]
    outer = source.expression.parent
    given = outer.alias_column_names if isinstance(outer, exp.CTE | exp.Subquery) else []
    for names in (given, outputs):
        if name in names:
            return _reads(source, names.index(name), seen)
    if sure:
        raise ValueError("a column that no query inside has")
    return set()


# Which columns show no values: by the user's patterns, by names that say they are secret, and


@dataclass
class Hidden:
    """Names of columns of one table.

    Attributes:
        whole: No statement can read them.
        values: They show no values, and can be read; none of ``whole`` among them.
    """

    whole: set[str] = field(default_factory=set)
    values: set[str] = field(default_factory=set)


"""A source (a file, or a schema of a server) and the folded spelling of a table in it."""


def hidden_columns(
    tables: Sequence[tuple[Place, str, SourceTable]], options: ScanOptions, *, data: bool = True
) -> list[Hidden]:
    """What is hidden of each table, in their order.

    Args:
        tables: Place, canonical name and what the source says.
        options: The user's patterns, and whether secrets are shown.
        data: Whether there are rows that a statement could read.
    """
    spread = Counter(
        fold(column["name"]) for _, _, raw in tables if not raw.view for column in raw.columns
    )
    found = [Hidden(_by_pattern(raw, name, options)) for _, name, raw in tables]
    if not options.show_secrets:
        for made, (_, _, raw) in zip(found, tables, strict=True):
            _add_secrets(made, raw, spread, data=data)
    if any(made.whole or made.values for made in found):
        _pass_on({place: made for made, (place, _, _) in zip(found, tables, strict=True)}, tables)
    return found


def _by_pattern(raw: SourceTable, name: str, options: ScanOptions) -> set[str]:
    """Columns that a pattern names, by ``column`` or ``table.column``, without regard to case."""
    if not options.hide:
        return set()
    patterns = [fold(pattern) for pattern in options.hide]
    tables = {fold(raw.name), fold(name)}
    return {
        column["name"]
        for column in raw.columns
        for full in [
            fold(column["name"]),
            *(f"{t}.{fold(column['name'])}" for t in tables),
        ]
        if any(fnmatchcase(full, pattern) for pattern in patterns)
    }


def _add_secrets(made: Hidden, raw: SourceTable, spread: Mapping[str, int], *, data: bool) -> None:
    keys = set(raw.primary_key) | {name for key in raw.foreign_keys for name in key["columns"]}
    for column in raw.columns:
        name = column["name"]
        kind = secrecy(name)
        if name in made.whole:
            continue
        if not kind:
            if any(secrecy(inner["name"].rpartition(".")[2]) for inner in column.get("fields", ())):
                made.values.add(name)
            continue
        joins = kind == "number" and (name in keys or spread[fold(name)] > 1)
        (made.whole if data and not joins else made.values).add(name)


def _pass_on(found: dict[Place, Hidden], tables: Sequence[tuple[Place, str, SourceTable]]) -> None:
    """Hide what views pass on, views of views too: until nothing more is found."""
    views = [(place, raw) for place, _, raw in tables if raw.query]
    if not views:
        return

    columns = {place: [c["name"] for c in raw.columns] for place, _, raw in tables}
    for _ in range(len(views)):
        before = sum(len(made.whole) + len(made.values) for made in found.values())
        for place, raw in views:
            for kind in ("whole", "values"):
                secret = {at: getattr(made, kind) for at, made in found.items() if at != place}
                more = passed_on(raw, place, columns, {at: x for at, x in secret.items() if x})
                getattr(found[place], kind).update(more)
            found[place].values -= found[place].whole
        if before == sum(len(made.whole) + len(made.values) for made in found.values()):
            return
