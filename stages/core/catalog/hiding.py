"""Which columns show no values: by the user's patterns, by names that say they are secret, and
what views pass on of either.

A hidden column has no values in lines and prompts, and no statement can read it. A number that
may be a key (of a person, a card, an account) stays readable where tables are joined by it, for
without it they could not be; it shows no values all the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache

from stages.core.catalog.source_table import ScanOptions, SourceTable
from stages.core.names import fold

_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
_VALUE = r"(?: (?:hash|hashed|salt|digest|encrypted|enc|plain|plaintext|text|value|string|\d+))*"
_NUMBER = r"(?: (?:number|num|no|nr|nbr|code))?"
_NEVER_A_KEY = re.compile(
    r"(?:.* )?(?:password|passwd|passwort|pass ?word|pwd|passcode|passphrase"
    r"|(?:api|access|auth|refresh|bearer|session|csrf|id|oauth|secret|security|reset|push|device|user) token|token"  # noqa: E501
    r"|(?:client|api|app|shared|consumer|webhook|totp|otp|user) secret|secret"
    r"|(?:api|auth|secret|private|access|encryption|signing) ?key|apikey|cvv2?|cvc2?)"
    + _VALUE
    + r"|pass|pw"
)
_NUMBERED = re.compile(
    r"(?:.* )?(?:ssn|social security|iban|passport|bank account"
    r"|(?:credit|debit|bank|payment) ?card|creditcard)"
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
    r".*(?:身份证|社保|社会保障|社会保险|银行卡|信用卡|储蓄卡|借记卡|银行账|银行帐|护照)(?:卡)?(?:号|号码|编号|账号)?|卡号|银行账户|银行卡号码"
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


@dataclass
class Hidden:
    """Names of columns of one table.

    Attributes:
        whole: No statement can read them.
        values: They show no values, and can be read; none of ``whole`` among them.
    """

    whole: set[str] = field(default_factory=set)
    values: set[str] = field(default_factory=set)


Place = tuple[str, str]
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

    from stages.core.catalog.lineage import passed_on

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
