"""The words that may stand bare in the text of a statement, and the closed lists they come from.

Whatever stood in quotes in a statement, as a string or as a name, stays in quotes on its way
to an engine. Where a writer takes a string for a unit, a format or a type and writes it bare,
it has to be a word of these lists; anything else is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect

from stages.core.dialects import BY_SQL, SERVERS
from stages.core.errors import SqlRefused
from stages.core.sandbox.gate import grammar
from stages.core.sandbox.names import nearest, shown

_UNITS = """
century dayname dayofmonth dayofweek dayofweekiso dayofyear datetime date day decade dow dow_iso
doy epoch epoch_microsecond epoch_millisecond epoch_nanosecond epoch_second era hour isodow
isoweek isoyear julian microsecond millennia millennium millisecond minute month monthname
nanosecond quarter second time timezone timezone_hour timezone_minute timestamp tzh tzm week
weekday weekiso weekofyear year yearofweek yearofweekiso yearweek centuries
day_hour day_microsecond day_minute day_second hour_microsecond hour_minute hour_second
minute_microsecond minute_second second_microsecond year_month
sql_tsi_day sql_tsi_hour sql_tsi_microsecond sql_tsi_minute sql_tsi_month sql_tsi_quarter
sql_tsi_second sql_tsi_week sql_tsi_year
"""
"""Parts of a time, beside sqlglot's own list of their spellings."""
_MORE = """
after all and any array as asc at base before between both by case char character cross cube
current desc distinct double else end epoch error escape exclude except exists false filter first
following for format from full group grouping groups having ignore ilike in inner integer
intersect interval into is join json keep key last lateral leading left level like limit materialized
national natural next no not null nulls of offset on only or order ordinality outer over overlay
partition passing path percent placing position precision preceding range recursive replace
respect returning right rollup row rows select set sets signed similar some symmetric table then
ties to trailing true try unbounded union unique unknown unsigned using value values varying
wrapper when where window with within without xml zone
varchar text timestamp timestamptz tsvector utf8mb4 mb4 utf8 binary
"""  # noqa: E501
"""Words of the grammar that no tokenizer lists, and words that writers add."""
_WORD = re.compile(r"[^\W\d]\w*")
_MADE = re.compile(
    r"_[a-z]{0,2}_?\d*|_row_number|t\d*|pos|col|key|value|element|x|e|l|k|v|i|generate_series"
)
"""Aliases that writers make up."""
_QUOTED = frozenset(
    kind for kind in TokenType if kind.name.endswith(("STRING", "STRING_START"))
) | {TokenType.IDENTIFIER}


@cache
def units() -> frozenset[str]:
    """Names of parts of a time, in lower case, in every spelling that some dialect has."""
    spelt = {word.lower() for pair in Dialect.DATE_PART_MAPPING.items() for word in pair}
    spelt |= set(_UNITS.split())
    return frozenset(spelt | {f"{word}s" for word in spelt})


@cache
def words() -> frozenset[str]:
    """Every word that may come out of a string: of the grammar, of functions, types and units."""
    found = set(units()) | set(_MORE.split())
    for name in ("", *BY_SQL):
        dialect = Dialect.get_or_raise(name)
        found |= set(_split(dialect.tokenizer_class.KEYWORDS))
        found |= set(_split(dialect.generator_class.TYPE_MAPPING.values()))
    found |= set(_split(kind.value for kind in exp.DType))
    for function in exp.ALL_FUNCTIONS:
        found |= set(_split(function.sql_names()))
    found |= grammar.functions().scalar | grammar.functions().table
    for name in {server.sql for server in SERVERS}:
        own = grammar.server_functions(name)
        found |= own.scalar | own.table
    return frozenset(found)


def _split(texts: object) -> Iterator[str]:
    for text in texts:  # type: ignore[attr-defined]
        yield from (word.lower() for word in _WORD.findall(str(text)))


def refuse_raw(tree: exp.Expr) -> None:
    """Refuse units that are none, and words that are several, before anything is written.

    Raises:
        SqlRefused: With the nearest unit.
    """
    for node in tree.walk():
        if isinstance(node, exp.Var) and not _WORD.fullmatch(node.name.replace(" ", "_")):
            raise SqlRefused(f"{shown(node.name)} refused", hint="a single word stands here")
        unit = _unit(node)
        if unit is not None and unit.lower() not in units():
            near = nearest(unit, units())
            hint = f"did you mean {near}?" if near else "day, month, year and the like"
            raise SqlRefused(f"{shown(unit)} is no part of a time", hint=hint)


def _unit(node: exp.Expr) -> str | None:
    """What a node names as a part of a time, where it names one itself."""
    if isinstance(node, exp.Extract):
        unit = node.this
    elif isinstance(node, exp.Func | exp.Interval | exp.IntervalSpan):
        unit = node.args.get("unit")
    else:
        return None
    if isinstance(unit, exp.Literal):
        return str(unit.name) if unit.is_string else None
    return str(unit.name) if isinstance(unit, exp.Var | exp.Identifier) else None


def refuse_words(sql: str, source: str, text: str, target: str) -> None:
    """Refuse a text with a bare word that its statement does not have, and SQL does not either.

    Args:
        sql: The statement as it came.
        source: Its dialect.
        text: What was made of it.
        target: The dialect of that.

    Raises:
        SqlRefused: With the word.
    """
    given = set(_bare(sql, source))
    for word in _bare(text, target):
        if word not in given and word not in words() and not _MADE.fullmatch(word):
            raise SqlRefused(
                f"{shown(word)} refused",
                hint="a unit, type or format in quotes has to be one that is known",
            )


def _bare(sql: str, dialect: str) -> Iterator[str]:
    """Words outside quotes, in lower case."""
    with grammar.faults("not SQL that can be read"):
        found = Dialect.get_or_raise(dialect).tokenize(sql)
    for token in found:
        if token.token_type not in _QUOTED:
            yield from (word.lower() for word in _WORD.findall(token.text))
