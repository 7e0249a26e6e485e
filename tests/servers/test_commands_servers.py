"""The commands on a server, as processes: nothing on stdout or stderr shows the password."""

from __future__ import annotations

import json

import pytest

from tests.helpers.servers import PASSWORD
from tests.helpers.tools import run

pytestmark = pytest.mark.server
SECRET = "s3cret"
KNOWN = {"WINNOW_DB_PASSWORD": PASSWORD}


def quiet_about_it(done):
    assert SECRET not in done.err
    assert SECRET.encode() not in done.out


def test_scan_then_query(shop_server, tmp_path):
    lines = tmp_path / "scan.jsonl"
    done = run(
        "scan", shop_server.url(), "--question", "How many customers?", "-o", str(lines), env=KNOWN
    )
    assert done.status == 0, done.err
    assert PASSWORD not in lines.read_text(encoding="utf-8")
    quiet_about_it(done)
    assert "superuser" in done.err or "ALL PRIVILEGES" in done.err
    kinds = [json.loads(line)["kind"] for line in lines.read_text(encoding="utf-8").splitlines()]
    assert kinds[0] == "catalog"
    assert kinds[-1] == "task"
    asked = run(
        "query",
        str(lines),
        "SELECT count(*) AS n FROM customers",
        "--allow-privileged",
        "--format",
        "json",
        env=KNOWN,
    )
    assert json.loads(asked.out) == [{"n": 500}]
    refused = run("query", str(lines), "DELETE FROM customers", env=KNOWN)
    assert refused.status == 1
    assert "DELETE refused" in refused.err


def test_a_password_in_the_url_is_used_and_not_told(shop_server):
    url = shop_server.url(password=True)
    asked = run(
        "query",
        url,
        "SELECT count(*) AS n FROM customers",
        "--allow-privileged",
        "--format",
        "json",
    )
    assert json.loads(asked.out) == [{"n": 500}], asked.err
    quiet_about_it(asked)
    scanned = run("scan", url, "--no-sample", "--include", "orders")
    assert scanned.status == 0
    quiet_about_it(scanned)


@pytest.mark.parametrize("command", [("scan",), ("query",)])
def test_errors_do_not_tell_a_password(shop_server, command):
    for url in (
        shop_server.url().replace("boss@", "boss:wrong-s3cret@"),
        "postgresql://boss:wrong-s3cret@127.0.0.1:1/shop",
        "mysql://boss:wrong-s3cret@127.0.0.1:port/shop",
        "oracle://boss:wrong-s3cret@127.0.0.1/shop",
    ):
        done = run(*command, url, *(["SELECT 1"] if command == ("query",) else []))
        assert done.status in (1, 2)
        assert done.err.strip()
        quiet_about_it(done)


def test_a_scaffold_over_a_server_says_how_it_is_asked(shop_server, tmp_path):
    lines = tmp_path / "scan.jsonl"
    run("scan", shop_server.url(), "--no-sample", "-o", str(lines), env=KNOWN)
    done = run("scaffold", str(lines), "-o", str(tmp_path / "out"), env=KNOWN)
    assert done.status == 1
    assert "on a server, which is queried in place" in done.err
    assert "winnow query" in done.err
    assert not (tmp_path / "out").exists()


def test_schemas_and_patterns(pg_shop):
    done = run(
        "scan", pg_shop.url(), "--schemas", "hr", "--exclude", "lines", "--no-sample", env=KNOWN
    )
    tables = [line for line in done.lines if line["kind"] == "table"]
    assert [table["describe_key"] for table in tables] == ["hr.orders"]


COUNT = "SELECT count(*) AS n FROM customers"


def test_a_role_that_can_do_more_than_read_asks_for_a_flag(shop_server):
    url = shop_server.url()
    refused = run("query", url, COUNT, env=KNOWN)
    assert refused.status == 2
    assert refused.out == b""
    assert "the role can do anything" in refused.err
    assert "--allow-privileged" in refused.err
    assert "Traceback" not in refused.err
    allowed = run("query", url, COUNT, "--allow-privileged", "--format", "json", env=KNOWN)
    assert json.loads(allowed.out) == [{"n": 500}]
    assert "the role can do anything" in allowed.err


def test_a_reader_needs_no_flag(shop_server):
    asked = run("query", shop_server.url("plain"), COUNT, "--format", "json", env=KNOWN)
    assert json.loads(asked.out) == [{"n": 500}], asked.err
    assert "the role can" not in asked.err


def test_a_writer_is_told_what_it_can_write_to(shop_server):
    user, place = (
        ("writer", "public.orders")
        if shop_server.kind == "postgresql"
        else ("reader", "shop.secret")
    )
    refused = run("query", shop_server.url(user), "SELECT count(*) FROM orders", env=KNOWN)
    assert refused.status == 2
    assert f"write: on {place}" in refused.err


def test_exploring_as_a_superuser_asks_for_the_flag_before_any_answer(shop_server, tmp_path):
    env = {**KNOWN, "WINNOW_CACHE": str(tmp_path)}
    asked = ("--question", "Which customers have the largest balance?", "--no-sample")
    lines = run("scan", shop_server.url(), *asked, env=env)
    for command in ("plan", "prune", "summarize"):
        lines = run(command, stdin=lines.out, env=env)
    refused = run("explore", stdin=lines.out, env=env)
    assert refused.status == 2
    assert "--allow-privileged" in refused.err
    assert "Traceback" not in refused.err
    allowed = run("explore", "--allow-privileged", stdin=lines.out, env=env)
    assert allowed.status == 0, allowed.err
