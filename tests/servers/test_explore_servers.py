"""Exploring tables of servers in place: the statements of the stage, and a model's own."""

from __future__ import annotations

import pytest

from stages.core.catalog.servers import ServerOptions, scan_server
from stages.core.linking.data import Data, Ways
from stages.core.linking.facts import facts_of
from stages.core.linking.kept import Kept

pytestmark = pytest.mark.server


@pytest.fixture
def opened(shop_server, tmp_path):
    result = scan_server(shop_server.url("boss"), None, ServerOptions(sample=False))
    data = Data(result.catalog, result.tables, Ways(size=2, kept=Kept(tmp_path)))
    yield data
    data.close()


def named(data, ending):
    return next(table for table in data.tables if table["name"].endswith(ending))


def test_fixed_statements_run_in_the_servers_dialect(opened):
    table = named(opened, "customers")
    assert opened.has_data(table)
    kept = [column["name"] for column in table["columns"]]
    found = facts_of(opened, table, kept, ["no such value at all"])
    assert found.error == ""
    assert found.rows == 500
    assert [entry["res"] for entry in found.log if entry["res"].startswith("error")] == []


def test_a_models_statement_is_its_own(opened):
    found = opened.tried("SELECT count(*) AS n FROM customers")
    assert found.error == ""
    assert found.result.rows == (("500",),)
    assert opened.tried("SELECT count(*) AS n FROM customers") == found
    assert opened.tried("DELETE FROM customers").kind == "SqlRefused"
