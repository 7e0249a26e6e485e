"""Functions of MySQL and PostgreSQL over files, as the servers answer them."""

from __future__ import annotations

import pytest

from tests.helpers.forms import ROWS, opened, same, statements, whole

TABLE = (
    "id int primary key, name {text}, note {text}, day date, ts {stamp}, n int, x {real}, t {text}"
)
KINDS = {
    "mysql": {"text": "varchar(50)", "stamp": "datetime", "real": "double"},
    "postgresql": {"text": "text", "stamp": "timestamp", "real": "double precision"},
}


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("forms")) as made:
        yield made


@pytest.fixture(scope="module")
def filled():
    """Fills a server with the table, and runs statements there."""
    made = {}

    def run(server, sql):
        if server.kind not in made:
            con = server.connect()
            cursor = con.cursor()
            cursor.execute("drop table if exists v")
            cursor.execute(f"create table v ({TABLE.format(**KINDS[server.kind])})")
            cursor.executemany(f"insert into v values ({', '.join(['%s'] * 8)})", ROWS)
            if server.kind == "postgresql":
                cursor.execute("set timezone to 'UTC'")
            made[server.kind] = (con, cursor)
        cursor = made[server.kind][1]
        cursor.execute(sql)
        return cursor.fetchall()

    yield run
    for con, cursor in made.values():
        cursor.execute("drop table v")
        con.close()


@pytest.mark.parametrize("line", statements("mysql.sql"))
def test_mysql(db, filled, mariadb, line):
    ours, theirs = same(db.query(whole(line), dialect="mysql").rows, filled(mariadb, whole(line)))
    assert ours == theirs


@pytest.mark.parametrize("line", statements("postgres.sql"))
def test_postgresql(db, filled, postgres, line):
    ours, theirs = same(
        db.query(whole(line), dialect="postgres").rows, filled(postgres, whole(line))
    )
    assert ours == theirs
