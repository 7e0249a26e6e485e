"""What a function of another dialect is in DuckDB, from tables that are compared with the engines.

Each dialect has a file of its own here. A function that stands in none of its lists is
refused: a likely translation may be wrong without a word, and nobody would see it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from sqlglot import exp

from stages.core.sandbox.forms import kinds
from stages.core.sandbox.forms.table import Scope, fill, forms, no_form

Handler = Callable[[str, list[exp.Expr], Scope], exp.Expr]


def translate(tree: exp.Expr, scope: Scope) -> None:
    """Replace every call in the tree by its DuckDB form, innermost first, in place.

    Raises:
        SqlRefused: A function has no faithful form; with what to write instead.
    """
    for node in reversed(list(tree.find_all(exp.Anonymous))):
        made = call(node.name.lower(), list(node.expressions), scope)
        if made.sql_name() == "GENERATE_SERIES" if isinstance(made, exp.Func) else False:
            made = _rows(node, made)
        node.replace(made)


def _rows(node: exp.Expr, made: exp.Expr) -> exp.Expr:
    """A series outside of FROM as rows, and not as a list."""
    return made if isinstance(node.parent, exp.Table | exp.Unnest) else exp.Explode(this=made)


def call(name: str, args: list[exp.Expr], scope: Scope) -> exp.Expr:
    """The DuckDB form of one call.

    Raises:
        SqlRefused: It has none.
    """
    table = forms(scope.source)
    text = table.text(name, len(args))
    if not text:
        raise no_form(name, len(args), scope.source)
    if text.startswith("@"):
        made = _handler(text[1:])(name, args, scope)
    else:
        made = fill(text, args, scope)
    kind = table.kind.get(name)
    if kind and kinds.KEY not in made.meta:
        made.meta[kinds.KEY] = kinds.common(args, scope.columns) if kind == "args" else kind
    return made


@cache
def _handler(name: str) -> Handler:
    """The function that a form names with ``@``."""
    from stages.core.sandbox.forms import numbers, sqlite_times, texts, times, units

    modules = (numbers, texts, times, sqlite_times, units)
    found: Handler = next(getattr(module, name) for module in modules if hasattr(module, name))
    return found
