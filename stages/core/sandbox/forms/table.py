"""The table of one dialect, and a form of it filled with the arguments of a call."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from sqlglot import exp

from stages.core.errors import SqlRefused
from stages.core.jsontypes import JsonObject
from stages.core.sandbox.forms import kinds
from stages.core.sandbox.gate import grammar
from stages.core.sandbox.names import nearest, shown

_PLACE = re.compile(r"_(\d+)([tsdibf]?)")
"""An argument in a form: ``_1`` as it stands, with ``t`` as text, ``s`` as a timestamp, ``d``
as a date, ``i`` as a whole number, ``b`` as a boolean, ``f`` as a floating-point number."""
_ALL = re.compile(r"\b_all([tsdibf]?)\b")
_CASTS = {
    "t": "VARCHAR",
    "s": "TIMESTAMP",
    "d": "DATE",
    "i": "BIGINT",
    "b": "BOOLEAN",
    "f": "DOUBLE",
}
_HAVE = {
    "t": kinds.TEXTS,
    "s": {"timestamp"},
    "d": {"date"},
    "i": {"int"},
    "b": {"bool"},
    "f": {"float"},
}
_AROUND = (exp.Order, exp.Limit, exp.IgnoreNulls, exp.RespectNulls)
"""What stands around the argument of an aggregate."""
MADE = "made"
"""What marks a node of a form, which is DuckDB already."""
_LENIENT = ("sqlite", "mysql")
"""Dialects in which a text that is no time is null, and no error."""
WRITE_DUCKDB = "leave out --dialect and write DuckDB SQL"


@dataclass(frozen=True)
class Forms:
    """One dialect's table.

    Args:
        same: Functions that mean the same in DuckDB, with any number of arguments or ``name/n``.
        form: ``name`` or ``name/n`` to DuckDB SQL over ``_1``, or ``@handler``.
        kind: Function to the kind of its value.
        refused: Function to what to write instead.
        units: Field of EXTRACT to DuckDB SQL over ``_1``.
    """

    same: frozenset[str]
    form: dict[str, str]
    kind: dict[str, str]
    refused: dict[str, str]
    units: dict[str, str]

    def text(self, name: str, count: int) -> str:
        """The form of a call; empty where there is none."""
        exact = f"{name}/{count}"
        for key in (exact, name):
            if key in self.form:
                return self.form[key]
            if key in self.same:
                return f"{name}(_all)"
        return ""

    def names(self) -> set[str]:
        """Every function that has a form."""
        return {key.partition("/")[0] for key in (*self.form, *self.same)}


@cache
def forms(source: str) -> Forms:
    """The table of a dialect, from the file of its name beside this one."""
    text = resources.files("stages.core.sandbox.forms").joinpath(f"{source}.toml")
    data: JsonObject = tomllib.loads(text.read_text("utf-8"))
    of = {name: kind for kind, names in data["kinds"].items() for name in names.split()}
    refused = {
        name: hint for names, hint in data.get("refused", {}).items() for name in names.split()
    }
    return Forms(frozenset(data["same"].split()), data["form"], of, refused, data.get("units", {}))


@dataclass(frozen=True)
class Scope:
    """What a call is translated with: the dialect and the kinds of columns."""

    source: str
    columns: kinds.Columns

    def kind(self, node: exp.Expr | None) -> str:
        """The kind of an expression."""
        return kinds.kind(node, self.columns)

    def cast(self, node: exp.Expr, letter: str) -> exp.Expr:
        """An argument as text, timestamp, date, whole number or boolean, where it is not yet."""
        if isinstance(node, (exp.Distinct, _AROUND)):
            return self._inside(node, letter)
        if not letter or self.kind(node) in _HAVE[letter] or isinstance(node, exp.Null | exp.Star):
            return node
        if letter == "t" and self.kind(node) in ("float", "") and self.source != "sqlite":
            return self._number_text(node)
        if letter not in "sd" or self.kind(node) in kinds.TIMES:
            return duck_cast(node, _CASTS[letter])
        if self.source in _LENIENT:
            return self._read_time(node, letter)
        return duck_cast(node, _CASTS[letter])

    def _number_text(self, node: exp.Expr) -> exp.Expr:
        """A number as text, without the ``.0`` that only DuckDB and SQLite write."""
        text = duck_cast(node, "VARCHAR")
        if self.kind(node) != "float":
            return text
        return fill(r"regexp_replace(_1, '\.0$', '')", [text], self)

    def _read_time(self, node: exp.Expr, letter: str) -> exp.Expr:
        """A text as a time; null where it is none."""
        if self.kind(node) in ("int", "decimal", "float"):
            raise SqlRefused("a number as a date refused", hint="write the date as text")
        stamp = fill(_READ_TIME, [node], self)
        return stamp if letter == "s" else duck_cast(stamp, "DATE")

    def _inside(self, node: exp.Expr, letter: str) -> exp.Expr:
        if isinstance(node, exp.Distinct):
            if len(node.expressions) == 1:
                node.set("expressions", [self.cast(node.expressions[0].copy(), letter)])
        else:
            node.set("this", self.cast(node.this.copy(), letter))
        return node


_READ_TIME = (
    "TRY_CAST(CASE WHEN regexp_full_match(_1t, '\\d{2}:\\d{2}(:\\d{2}(\\.\\d+)?)?') "
    "THEN '2000-01-01 ' || _1t ELSE _1t END AS TIMESTAMP)"
)


def no_form(name: str, count: int, source: str) -> SqlRefused:
    """The refusal of a call, by the name it was written with."""
    table = forms(source)
    what = f"function {shown(name)} of {source} refused"
    if name in table.refused:
        return SqlRefused(what, hint=table.refused[name])
    if name in table.names():
        return SqlRefused(
            f"{what} with {count} arguments", hint=f"its DuckDB form is not known; {WRITE_DUCKDB}"
        )
    near = nearest(name, table.names(), close=75)
    hint = f"did you mean {near}?" if near else f"it has no tested DuckDB form; {WRITE_DUCKDB}"
    return SqlRefused(what, hint=hint)


def fill(text: str, args: list[exp.Expr], scope: Scope) -> exp.Expr:
    """A form with its arguments in their places.

    Args:
        text: DuckDB SQL.
        args: What ``_1``, ``_2`` … stand for; ``_all`` is all of them.
        scope: For casts.
    """
    places = range(1, len(args) + 1)
    text = _ALL.sub(lambda found: ", ".join(f"_{at}{found[1]}" for at in places), text)
    root = exp.Paren(this=_parsed(text).copy())
    root.meta[MADE] = True
    for place in list(root.find_all(exp.Column)):
        if match := _PLACE.fullmatch(place.name):
            place.replace(_inner(scope.cast(args[int(match[1]) - 1].copy(), match[2])))
    made: exp.Expr = root.this
    return made if isinstance(made, exp.Func | exp.Window | exp.Cast) else root


def _inner(node: exp.Expr) -> exp.Expr:
    """An argument in brackets, where an operator beside it could take it apart."""
    if isinstance(node, exp.Binary | exp.Unary | exp.Connector | exp.Case) and not isinstance(
        node, exp.Paren
    ):
        wrapped = exp.Paren(this=node)
        wrapped.meta.update({key: node.meta[key] for key in (kinds.KEY,) if key in node.meta})
        return wrapped
    return node


@cache
def _parsed(text: str) -> exp.Expr:
    tree = grammar.parse(f"SELECT {text}")
    made: exp.Expr = tree.expressions[0]
    for node in made.walk():
        node.meta[MADE] = True
    return made


def duck_cast(node: exp.Expr, to: str | exp.DataType, *, lenient: bool = False) -> exp.Cast:
    """A cast in DuckDB's own meaning, which no other dialect's rule for casts touches."""
    kind = exp.TryCast if lenient else exp.Cast
    made = kind(this=node, to=exp.DataType.build(to, dialect="duckdb"))
    made.meta[MADE] = True
    return made
