"""Making a context description fit a number of tokens.

What is least needed goes first, table by table from the least relevant up: sample rows,
examples, documents' first lines, and in the end all but the names of columns. Names of tables
and columns are never given up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from stages.core.context.view import Page, TableView
from stages.core.tokens import count


class PageFormat(Protocol):
    """A module that writes a page down."""

    def whole(self, page: Page) -> str:
        """The text of a page."""

    def table(self, page: Page, view: TableView) -> str:
        """The part of it that is about one table."""


@dataclass(frozen=True)
class BudgetFit:
    """A page as it is to be shown, its text, and the text's tokens."""

    page: Page
    text: str
    tokens: int


def fit(page: Page, form: PageFormat) -> BudgetFit:
    """The page with as much left out as its budget asks for.

    Args:
        page: The page; its budget of 0 is no limit.
        form: The format it is written in.

    Returns:
        The first page of the order above that is within the budget, else the smallest one,
        which says that it is over.
    """
    fitted = _written(page, form)
    if not page.budget or fitted.tokens <= page.budget:
        return fitted
    tokens, last = fitted.tokens, page
    for last, saved in _steps(page, form):
        tokens -= saved
        if tokens > page.budget:
            continue
        # The sum leaves out the words that say what was given up, so the text is counted.
        fitted = _written(last, form)
        if fitted.tokens <= page.budget:
            return fitted
        tokens = fitted.tokens
    return _written(replace(last, over=True), form)


def _written(page: Page, form: PageFormat) -> BudgetFit:
    text = form.whole(page)
    return BudgetFit(page, text, count(text))


_Change: TypeAlias = Callable[[TableView], TableView | None]
"""A view with less in it, or None where there is nothing of the kind to leave out."""


def _steps(page: Page, form: PageFormat) -> Iterator[tuple[Page, int]]:
    """The page after each thing left out, and the tokens that it saved."""
    for change in (_no_sample, _no_examples, None, _bare):
        if change is None:
            page, saved = _shorter(page, replace(page, first_lines=False), form)
            yield page, saved
            continue
        for step in _each(page, form, change):
            page = step[0]
            yield step


def _shorter(page: Page, other: Page, form: PageFormat) -> tuple[Page, int]:
    """The shorter of two pages, and by how much."""
    saved = _written(page, form).tokens - _written(other, form).tokens
    return (other, saved) if saved > 0 else (page, 0)


def _each(page: Page, form: PageFormat, change: _Change) -> Iterator[tuple[Page, int]]:
    """Make the change to one table after the other, the least relevant first."""
    tables = page.tables
    order = sorted(
        range(len(tables)), key=lambda i: (tables[i].level == "full", tables[i].relevance, -i)
    )
    for place in order:
        before = page.tables[place]
        after = change(before)
        if after is None:
            continue
        saved = count(form.table(page, before)) - count(form.table(page, after))
        views = (*page.tables[:place], after, *page.tables[place + 1 :])
        page = replace(page, tables=views)
        yield page, saved


def _no_sample(view: TableView) -> TableView | None:
    return replace(view, sample=False) if view.rows else None


def _no_examples(view: TableView) -> TableView | None:
    return replace(view, examples=False) if view.level == "full" else None


def _bare(view: TableView) -> TableView | None:
    return replace(view, bare=True) if view.level != "line" else None
