"""Exploring tables of servers in place: the statements of the stage, and a model's own."""

from __future__ import annotations

import os
import socket

import pytest

from stages.core.catalog.servers import ServerOptions, scan_server
from stages.core.errors import SqlUnavailable
from stages.core.linking.explore.profile import facts_of
from stages.core.sandbox.limits import Limits
from stages.core.sandbox.result_cache import ResultCache
from stages.core.sandbox.session import Data, SessionOptions
from tests.helpers.servers import PASSWORD
from tests.helpers.tools import run

pytestmark = pytest.mark.server


@pytest.fixture
def opened(shop_server, tmp_path):
    result = scan_server(shop_server.url("boss"), None, ServerOptions(sample=False))
    data = Data(
        result.catalog,
        result.tables,
        SessionOptions(limits=Limits(privileged=True), size=2, kept=ResultCache(tmp_path)),
    )
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
    found = opened.run_query("SELECT count(*) AS n FROM customers")
    assert found.error == ""
    assert found.result.rows == (("500",),)
    assert opened.run_query("SELECT count(*) AS n FROM customers") == found
    assert opened.run_query("DELETE FROM customers").kind == "SqlRefused"


def _cut(data):
    """Cut the line to the server under the one connection that there is."""
    [session] = [
        engine._session
        for member in data._pool._members
        for engine in member.database._servers.values()
    ]
    number = (
        session._con.fileno() if hasattr(session._con, "fileno") else session._con._sock.fileno()
    )
    with socket.socket(fileno=os.dup(number)) as line:
        line.shutdown(socket.SHUT_RDWR)


def test_without_a_password_it_is_told_and_with_it_explored(shop_server, tmp_path):
    cache = {"WINNOW_CACHE": str(tmp_path)}
    known = {**cache, "WINNOW_DB_PASSWORD": PASSWORD}
    asked = ("--question", "How many customers?", "--no-sample")
    lines = run("scan", shop_server.url("boss"), *asked, env=known)
    assert lines.status == 0, lines.err
    for command in ("plan", "prune", "summarize"):
        lines = run(command, stdin=lines.out, env=cache)
    for given in ("", "wrong"):
        failed = run(
            "explore",
            "--allow-privileged",
            stdin=lines.out,
            env={**cache, "WINNOW_DB_PASSWORD": given},
        )
        assert failed.status == 1
        assert "tables were not explored" in failed.err
        assert "WINNOW_DB_PASSWORD" in failed.err
    explored = run("explore", "--allow-privileged", stdin=lines.out, env=known)
    assert explored.status == 0, explored.err
    assert "after 0 statements" not in explored.err


def test_what_a_server_refuses_is_asked_again(opened, shop_server):
    data, table = opened, named(opened, "customers")
    missing = f"SELECT count(*) AS n FROM {table['name']}"
    shop_server.run("ALTER TABLE customers RENAME TO customers_away")
    try:
        assert data.run_query(missing).kind == "SqlFailed"
    finally:
        shop_server.run("ALTER TABLE customers_away RENAME TO customers")
    assert data.run_query(missing).result.rows == (("500",),)


def test_a_lost_connection_is_no_outcome(opened):
    sql = "SELECT count(*) AS n FROM customers"
    assert opened.run_query("SELECT 1 AS one FROM customers LIMIT 1").error == ""
    _cut(opened)
    with pytest.raises(SqlUnavailable):
        opened.run_query(sql)
    assert opened.run_query(sql).result.rows == (("500",),)


def test_a_line_that_was_closed_meanwhile_is_opened_again(opened, monkeypatch):
    from stages.core.sandbox.servers import session

    monkeypatch.setattr(session, "IDLE", 0.0)
    sql = "SELECT count(*) AS n FROM customers"
    assert opened.run_query("SELECT 1 AS one FROM customers LIMIT 1").error == ""
    _cut(opened)
    assert opened.run_query(sql).result.rows == (("500",),)
