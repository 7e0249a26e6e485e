"""What a hostile statement must not do to a server, told by its effect, also as a superuser.

A statement may be refused, fail or give rows: what counts is that no file appeared or
changed, no marker came out, no table changed, the next answers are right, and time passed
was short.
"""

from __future__ import annotations

import json
import time

import pytest

from stages.core.catalog.servers import scan_server
from stages.core.errors import SqlError
from stages.core.sandbox.database import Database
from stages.core.sandbox.limits import Limits
from tests.helpers.server_attacks import ALIKE, FILE_MARKER, MARKER, MYSQL, POSTGRES

pytestmark = pytest.mark.server


def state(server):
    """Everything that a harmful statement would change."""
    if server.kind == "postgresql":
        places = (
            "SELECT count(*), sum(balance) FROM public.customers",
            "SELECT count(*) FROM public.orders",
            "SELECT x FROM public.secret",
            "SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'S', 'v')",
            "SELECT last_value FROM public.customers_id_seq",
            "SELECT rolname, rolsuper FROM pg_roles ORDER BY 1",
            "SELECT count(*) FROM pg_largeobject_metadata",
        )
    else:
        places = (
            "SELECT count(*), sum(balance) FROM customers",
            "SELECT count(*) FROM orders",
            "SELECT x FROM secret",
            "SELECT count(*) FROM information_schema.tables",
            "SHOW GRANTS FOR reader@'127.0.0.1'",
            "SELECT @@global.max_statement_time",
        )
    return [server.run(place) for place in places]


@pytest.fixture(params=["boss", "reader"])
def attacked(request, shop_server):
    """A database over all tables but the secret one, and a folder that the server can write."""
    folder = shop_server.folder
    file = folder / "readable.txt"
    file.write_text(FILE_MARKER, encoding="utf-8")
    file.chmod(0o644)
    folder.chmod(0o777)
    result = scan_server(shop_server.url(request.param))
    tables = [table for table in result.tables if table["name"] != "secret"]
    with Database(result.catalog, tables, limits=Limits(seconds=2.0, privileged=True)) as database:
        yield shop_server, database, folder, file


@pytest.mark.slow
def test_no_attack_has_an_effect(attacked):
    server, database, folder, file = attacked
    before = state(server)
    made = folder / "made-by-an-attack"
    good = "SELECT count(*), sum(balance) FROM customers"
    right = database.query(good).rows
    for attack in POSTGRES if server.kind == "postgresql" else [*MYSQL, *ALIKE]:
        sql = (
            attack.replace("{made}", str(made))
            .replace("{file}", str(file))
            .replace("{folder}", str(folder))
        )
        start = time.monotonic()
        try:
            said = json.dumps(database.query(sql).rows, default=str)
        except SqlError as error:
            said = str(error)
        assert time.monotonic() - start < 4, attack
        assert MARKER not in said, attack
        assert FILE_MARKER not in said, attack
        assert "readable.txt" not in said or "readable.txt" in sql, attack
        assert not made.exists(), attack
        assert database.query(good).rows == right, attack
    assert state(server) == before


def test_the_list_would_do_harm_without_the_gate(shop_server):
    """The verdicts can fail: run past the gate, some of the list leaks the marker or a file."""
    folder = shop_server.folder
    folder.chmod(0o777)
    file = folder / "readable.txt"
    file.write_text(FILE_MARKER, encoding="utf-8")
    file.chmod(0o644)
    if shop_server.kind == "postgresql":
        for sql in (f"SELECT pg_read_file('{file}')", f"SELECT ('{file}'::text).pg_read_file"):
            assert FILE_MARKER in str(shop_server.run(sql))
        whole = f"SELECT g.pg_read_file FROM unnest(ARRAY['{file}']) AS g"
        assert FILE_MARKER in str(shop_server.run(whole))
        assert MARKER in str(
            shop_server.run("SELECT query_to_xml('SELECT * FROM secret', true, true, '')")
        )
    else:
        assert FILE_MARKER in str(shop_server.run(f"SELECT LOAD_FILE('{file}')"))
        made = folder / "made-without-the-gate"
        shop_server.run(f"SELECT 1 FROM customers /*!50000 INTO OUTFILE '{made}' */")
        assert made.exists()
        made.unlink()
