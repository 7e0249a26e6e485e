"""Values that are not shown: by the names of columns, and through views."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pytest

from stages.core.catalog import ScanOptions, scan_files, scan_root
from stages.core.catalog.hiding import hidden_columns, secrecy
from stages.core.catalog.source_table import SourceTable
from tests.helpers.tools import run

ALWAYS = ["password", "Password", "user_password", "passwd", "pwd", "userPassword", "PasswordHash", "password_salt", "passcode", "token", "api_token", "accessToken", "refresh_token", "PUSH_TOKEN", "client_secret", "secret", "apiSecret", "secret_key", "api_key", "auth_key", "apikey", "cvv", "密码", "登录密码", "用户_密码", "密码哈希", "访问令牌", "密钥"]  # fmt: skip
NUMBERS = ["ssn", "SSN", "Essn", "Mgr_ssn", "social_security_number", "social_security_no", "iban", "IBAN", "bank_iban", "iban_code", "card", "card_number", "CardNumber", "CardNum", "cardNo", "credit_card", "CreditCardNumber", "credit_card_no", "debitCard", "passport", "passport_no", "PassportNumber", "bank_account", "BankAccountNo", "护照号", "护照号码", "身份证", "身份证号", "身份证号码", "银行卡号", "信用卡号", "卡号", "社保号"]  # fmt: skip
NEITHER = ["password_changed_at", "password_expiry", "is_passed", "passenger", "passing", "passport_country", "passport_expiry", "bank_account_type", "token_count", "tokens", "tokenized", "secretary", "secrets_found", "card_id", "card_type", "cardiac_output", "discard", "postcard_views", "credit_card_type", "CreditCardApprovalCode", "iban_country_name", "session_id", "assn_id", "lesson", "compass", "pass_rate", "id", "name", "密码修改时间", "卡类型", "会员卡类型", "证件类型", "身份"]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "said"), [(ALWAYS, "always"), (NUMBERS, "number"), (NEITHER, "")]
)
def test_what_names_say(names: list[str], said: str) -> None:
    assert {name: secrecy(name) for name in names} == dict.fromkeys(names, said)


def database(path: Path, script: str) -> Path:
    with sqlite3.connect(path) as con:
        con.executescript(script)
    con.close()
    return path


USERS = """
CREATE TABLE users (id integer primary key, email text, password text);
CREATE TABLE other (id integer, label text);
INSERT INTO users VALUES (1, 'ann@x.org', 'hunter2secret'); INSERT INTO other VALUES (1, 'plain');
"""
VIEWS = [
    ("CREATE VIEW v AS SELECT id, password AS pw, email FROM users", ["pw"]),
    ("CREATE VIEW v AS SELECT * FROM users", ["password"]),
    ("CREATE VIEW v (a, b, c) AS SELECT * FROM users", ["c"]),
    ("CREATE VIEW v AS SELECT u.*, o.label FROM users u JOIN other o USING (id)", ["password"]),
    ("CREATE VIEW v AS SELECT upper(substr(PASSWORD, 1, 3)) || email AS x, email FROM Users", ["x"]),
    ("CREATE VIEW v AS SELECT 'x' AS a, (SELECT max(u.password) FROM users u WHERE u.id = o.id) AS b FROM other o", ["b"]),
    ("CREATE VIEW v AS WITH c AS (SELECT password p, id FROM users) SELECT p AS x, id FROM c", ["x"]),
    ("CREATE VIEW v AS SELECT x, id FROM (SELECT id, password AS x FROM users) AS s", ["x"]),
    ("CREATE VIEW v AS SELECT id, email AS x FROM users UNION ALL SELECT id, password FROM users", ["x"]),
    ("CREATE VIEW w AS SELECT password AS p, id FROM users; CREATE VIEW v AS SELECT id, p AS q FROM w", ["q"]),
    ("CREATE VIEW v AS SELECT id, p AS q FROM w; CREATE VIEW w AS SELECT password AS p, id FROM users", ["q"]),
    ("CREATE VIEW v AS SELECT CASE WHEN id = 1 THEN password END AS x, count(password) AS n FROM users", ["x"]),
    ("CREATE VIEW v AS SELECT email, group_concat(password) OVER (PARTITION BY id) AS x FROM users", ["x"]),
    ('CREATE VIEW v AS SELECT "id", [password] AS "the, x" FROM `users`', ["the, x"]),
    ("CREATE VIEW v AS SELECT id, label FROM other", []),
    ("CREATE VIEW v AS SELECT email FROM users WHERE password IS NOT NULL", []),
    ("CREATE VIEW v AS WITH RECURSIVE r(n, p) AS (SELECT 1, password FROM users UNION ALL SELECT n + 1, p FROM r WHERE n < 3) SELECT n, p FROM r", ["n", "p"]),
]  # fmt: skip


@pytest.mark.parametrize(("script", "hidden"), VIEWS)
def test_what_a_view_passes_on_is_hidden(tmp_path: Path, script: str, hidden: list[str]) -> None:
    path = database(tmp_path / "u.db", USERS + script)
    for options in (ScanOptions(), ScanOptions(hide=("users.password",), show_secrets=True)):
        tables = {table["name"]: table for table in scan_files([path], options).tables}
        view: Any = tables["v"]
        assert [c["name"] for c in view["columns"] if c.get("hidden")] == hidden
        assert "hunter2" not in str(tables)
    shown = scan_files([path], ScanOptions(show_secrets=True)).tables
    assert not any(c.get("hidden") for table in shown for c in table["columns"])


def test_a_view_that_cannot_be_followed_hides_all(tmp_path: Path) -> None:
    script = (
        USERS + "CREATE VIEW v AS SELECT id, x FROM users, (VALUES (1)) AS s, json_each('[1]') j;"
    )
    script += "PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = 'CREATE VIEW v AS SELECT id, password AS x FROM users NOT INDEXED' WHERE name = 'v';"
    path = database(tmp_path / "u.db", script)
    assert "hunter2" not in str(scan_files([path]).tables)


def test_a_number_that_joins_tables_can_be_read(tmp_path: Path) -> None:
    path = database(
        tmp_path / "c.db",
        "CREATE TABLE employee (ssn text primary key, name text, iban text);"
        "CREATE TABLE works_on (essn text references employee, hours int);"
        "INSERT INTO employee VALUES ('111-22', 'Ann', 'DE99'); INSERT INTO works_on VALUES ('111-22', 3);",
    )
    tables = scan_files([path]).tables
    assert "111-22" not in str(tables)
    assert "DE99" not in str(tables)
    hidden = {c["name"] for table in tables for c in table["columns"] if c.get("hidden")}
    assert hidden == {"iban"}
    joined = "SELECT name, hours FROM employee JOIN works_on ON ssn = essn"
    assert run("query", str(path), joined).out == b"name,hours\nAnn,3\n"


def test_secrets_of_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,api_token,密码\n1,tok-1234,pw-5678\n", "utf-8")
    (tmp_path / "b.json").write_text(
        '[{"id": 1, "login": {"name": "Ann", "password": "pw-9999"}}]', "utf-8"
    )
    ran = run("scan", str(tmp_path))
    assert ran.status == 0
    for value in (b"tok-1234", b"pw-5678", b"pw-9999"):
        assert value not in ran.out
        assert value in run("scan", "--show-values", str(tmp_path)).out
        assert value not in run("scan", str(tmp_path)).out, "the cache of scans keeps them apart"
    assert (
        "no values of 2 columns that may be secret (a.api_token, a.密码); --show-values" in ran.err
    )
    assert "--show-values" not in run("scan", "--show-values", str(tmp_path)).err
    refused = run("query", str(tmp_path), "SELECT api_token FROM a")
    assert (refused.status, "its values are hidden" in refused.err) == (1, True)
    read = run("query", str(tmp_path), "SELECT api_token FROM a", "--show-values")
    assert b"tok-1234" in read.out


def test_schemas_without_data_hide_nothing(tmp_path: Path) -> None:
    (tmp_path / "s.sql").write_text("CREATE TABLE users (id int, password text);", "utf-8")
    ran = run("scan", str(tmp_path / "s.sql"))
    assert b'"hidden"' not in ran.out


def test_a_folder_is_scanned_the_same_twice(tmp_path: Path) -> None:
    database(tmp_path / "u.db", USERS + VIEWS[0][0])
    options = ScanOptions(cache=True)
    assert scan_root(tmp_path, options).tables == scan_root(tmp_path, options).tables


def test_views_of_duckdb_files(tmp_path: Path) -> None:
    path = tmp_path / "d.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(
            "CREATE SCHEMA s; CREATE TABLE s.users AS SELECT 1 AS id, 'hunter2secret' AS password"
        )
        con.execute(
            "CREATE VIEW v AS SELECT id, password AS pw FROM s.users; CREATE VIEW w AS FROM main.v"
        )
    tables = {table["name"]: table for table in scan_files([path]).tables}
    assert "hunter2" not in str(tables)
    for name in ("v", "w"):
        assert [c["name"] for c in tables[name]["columns"] if c.get("hidden")] == ["pw"]


@pytest.mark.parametrize(
    ("dialect", "query"),
    [
        ("postgres", "SELECT u.id, u.password AS pw FROM shop.users u"),
        ("mysql", "select `shop`.`users`.`id` AS `id`,`shop`.`users`.`password` AS `pw` from `shop`.`users`"),
    ],
)  # fmt: skip
def test_views_of_servers(dialect: str, query: str) -> None:
    users = SourceTable(
        "users", [{"name": "id", "type": "BIGINT"}, {"name": "password", "type": "VARCHAR"}]
    )
    view = SourceTable(
        "v", [{"name": "id", "type": "BIGINT"}, {"name": "pw", "type": "VARCHAR"}], view=True
    )
    view.query, view.query_dialect = query, dialect
    tables = [(("shop", "users"), "users", users), (("other", "v"), "v", view)]
    assert [made.whole for made in hidden_columns(tables, ScanOptions())] == [{"password"}, {"pw"}]


def test_a_table_hidden_whole_has_rows_to_count_and_spoils_no_other(tmp_path: Path) -> None:
    made = (
        USERS + "CREATE VIEW v AS SELECT password AS p FROM users;"
        "CREATE TABLE pins (pin_code text, secret text); INSERT INTO pins VALUES ('1', 'hunter2');"
    )
    database(tmp_path / "u.db", made)
    run("scan", "u.db", "--hide-values", "pin_code", "-q", "-o", "s.jsonl", cwd=tmp_path)
    for sql, rows in [
        ("SELECT count(*) AS n FROM pins", b"n\n1\n"),
        ("SELECT count(*) AS n, max(label) AS l FROM v, other", b"n,l\n1,plain\n"),
        ("SELECT * FROM v", b'(values hidden)\n""\n'),
        ("SELECT label FROM other", b"label\nplain\n"),
    ]:
        assert run("query", "s.jsonl", sql, cwd=tmp_path).out.replace(b"\r", b"") == rows
    refused = run("query", "s.jsonl", "SELECT secret FROM pins", cwd=tmp_path)
    assert (refused.status, "its values are hidden" in refused.err) == (1, True)
