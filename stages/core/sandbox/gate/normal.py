"""Text and tree of a statement that are each other's, so that what is judged is what is sent.

sqlglot writes some arguments of functions into its text as they stand: units, formats and
types, which a statement may give as strings or as quoted names. A parser that looks at the
tree sees a string there, and the engine reads code. So a tree is judged only in the form that
its own text gives back (`normal_form`), no string of the statement may come out of it as bare
words that SQL does not have (`core.sandbox.gate.vocabulary`), and every text that leaves is read
again and has to be the very tree that was judged (`write`).
"""

from __future__ import annotations

from sqlglot import exp

from stages.core.dialects import BY_SQL
from stages.core.errors import SqlRefused
from stages.core.sandbox.gate import grammar, vocabulary

ROUNDS = 5
"""Times that a statement is written and read until its text stays; one or two do in practice."""
NO_FORM = "this statement has no {} form"
OTHERWISE = "write it without what only another engine has"


def normal_form(tree: exp.Expr, sql: str, source: str, target: str) -> exp.Expr:
    """The statement as a tree of the target's dialect that its own text gives back.

    Args:
        tree: As it was read; its text is made from it.
        sql: The text that it was read from.
        source: The dialect of `sql`.
        target: The dialect of the engine.

    Raises:
        SqlRefused: It has no form in the target's dialect, or none that stays the same, or a
            string of it would come out as something else than a string.
    """
    if isinstance(tree, exp.Describe | exp.Summarize):
        if isinstance(tree.this, exp.Query):
            tree.set("this", normal_form(tree.this, sql, source, target))
        return tree
    if not isinstance(tree, exp.Query | exp.Values):
        return tree  # the gate will refuse it by its name
    last = ""
    for _ in range(ROUNDS):
        vocabulary.refuse_raw(tree)
        text = _text(tree, target)
        vocabulary.refuse_words(sql, source, text, target)
        if text == last:
            return tree
        tree, last = _read(text, target), text
    raise SqlRefused("the statement reads differently each time it is written", hint=OTHERWISE)


def write(tree: exp.Expr, dialect: str) -> str:
    """The text of a judged tree, for the engine.

    Raises:
        SqlRefused: The text would not be read as this tree.
    """
    text = _text(tree, dialect)
    same = _read(text, dialect) == tree
    if not same or BY_SQL[dialect].loose.search(BY_SQL[dialect].quoted.sub(" ", text)):
        raise SqlRefused("the statement would be read as another one", hint=OTHERWISE)
    return text


def _text(tree: exp.Expr, dialect: str) -> str:
    with grammar.faults(NO_FORM.format(dialect)):
        return tree.sql(dialect=grammar.writer(dialect), comments=False)


def _read(text: str, dialect: str) -> exp.Expr:
    try:
        return grammar.parse(text, dialect)
    except SqlRefused:
        raise SqlRefused(NO_FORM.format(dialect), hint=OTHERWISE) from None
