"""A budget of tokens: what is given up, in which order, and what never is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.core.context import ddl_format, json_format, text_format
from stages.core.context.budget import PageFormat, fit
from stages.core.context.values import given_up
from stages.core.context.view import Page, TableView
from stages.core.tokens import count
from tests.helpers.seed_tables import CATALOG, seed_table

FORMS: dict[str, PageFormat] = {"context": text_format, "ddl": ddl_format, "json": json_format}


def page(full: int = 4, line: int = 3, names: int = 2) -> Page:
    """Tables t0… of falling relevance, then l0… folded, then n0… by names."""
    columns = [f"column_{i}:VARCHAR:value number {i}" for i in range(6)]
    views = [
        view(seed_table(f"{level[0] if level != 'full' else 't'}{i}", *columns), level, 1 - i / 10)
        for level, n in (("full", full), ("line", line), ("names", names))
        for i in range(n)
    ]
    documents = tuple(cast("Any", CATALOG["documents"])[:1])
    return Page(cast("Any", CATALOG), tuple(views), documents)


def view(table: Any, level: Any, relevance: float) -> TableView:
    return TableView(table, level, tuple(table["columns"]), relevance=relevance)


@pytest.mark.parametrize("form", FORMS)
def test_no_budget_or_a_wide_one_gives_up_nothing(form: str) -> None:
    whole = fit(page(), FORMS[form])
    assert whole.tokens == count(whole.text)
    for budget in (whole.tokens, 10**6):
        fitted = fit(replace(page(), budget=budget), FORMS[form])
        assert fitted.text == whole.text
        assert given_up(fitted.page) == []


@pytest.mark.parametrize("form", FORMS)
def test_the_budget_holds_or_everything_is_given_up(form: str) -> None:
    whole = fit(page(), FORMS[form]).tokens
    smallest = fit(replace(page(), budget=1), FORMS[form])
    assert smallest.tokens < whole
    for budget in range(1, whole, 40):
        fitted = fit(replace(page(), budget=budget), FORMS[form])
        assert fitted.tokens == count(fitted.text)
        assert fitted.tokens <= budget or fitted.page.tables == smallest.page.tables


def test_what_goes_first() -> None:
    tokens = fit(page(), text_format).tokens
    seen = [fit(replace(page(), budget=b), text_format).page for b in range(tokens - 1, 1, -5)]
    order = [
        (
            [v.sample for v in p.at("full")].count(False),
            [v.examples for v in p.at("full")].count(False),
            not p.first_lines,
            [v.bare for v in p.at("names")].count(True),
            [v.bare for v in p.at("full")].count(True),
        )
        for p in seen
    ]
    assert order == sorted(order, key=lambda state: tuple(map(int, state)))
    assert order[-1] == (4, 4, True, 2, 4)
    for state in order:
        later = [i for i, done in enumerate(state) if done]
        full = (4, 4, True, 2, 4)
        assert all(state[i] == full[i] for i in range(later[-1] if later else 0))


def test_the_least_relevant_goes_first() -> None:
    tokens = fit(page(line=0), text_format).tokens
    fitted = fit(replace(page(line=0), budget=tokens - 10), text_format).page
    lost = [v.table["name"] for v in fitted.tables if not v.sample]
    assert lost
    assert lost == ["t0", "t1", "t2", "t3"][-len(lost) :]


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=25, deadline=None)
@given(budget=st.integers(1, 1500))
def test_no_name_of_a_table_or_shown_column_is_ever_given_up(form: str, budget: int) -> None:
    text = fit(replace(page(), budget=budget), FORMS[form]).text
    assert all(name in text for name in ("t0", "t3", "l0", "l2", "n0", "n1"))
    assert text.count("column_3") == 6
