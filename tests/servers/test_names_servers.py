"""Names that differ in case alone, types of extensions, and syntax of MariaDB's own."""

from __future__ import annotations

import pytest

from stages.core.catalog.servers import ServerOptions, scan_server
from stages.core.errors import SqlRefused
from stages.core.sandbox.database import Database
from stages.core.sandbox.limits import Limits

pytestmark = pytest.mark.server


def fill(server, name, statements):
    """A new database with what the statements make, and its scan."""
    where = "postgres" if server.kind == "postgresql" else "shop"
    server.run(f"DROP DATABASE IF EXISTS {name}", database=where)
    server.run(f"CREATE DATABASE {name}", database=where)
    server.run(*statements, database=name)
    return scan_server(server.url(database=name), None, ServerOptions(sample=False))


def opened(result):
    return Database(result.catalog, result.tables, limits=Limits(privileged=True))


def references(result, name):
    """Schema and name of the table that a table's only foreign key leads to."""
    place = {table["name"]: table["source"]["table"] for table in result.tables}
    (key,) = next(t for t in result.tables if t["source"]["table"] == name)["foreign_keys"]
    return place[key["ref_table"]]


@pytest.fixture
def pg_cases(postgres):
    return fill(
        postgres,
        "cases",
        [
            'create table "Users" ("Id" int primary key, "userName" text)',
            "insert into \"Users\" values (1, 'Ann')",
            "create table users (id int primary key, name text)",
            "insert into users values (7, 'other')",
            "create schema sales",
            'create schema "Sales"',
            'create table sales.orders (id int primary key, user_id int references "Users"("Id"))',
            "insert into sales.orders values (1, 1)",
            'create table "Sales".orders (zzz int)',
            'insert into "Sales".orders values (5)',
        ],
    )


@pytest.mark.parametrize(
    ("sql", "head", "rows"),
    [
        ('SELECT * FROM "Users"', ("Id", "userName"), ((1, "Ann"),)),
        ("SELECT * FROM Users", ("id", "name"), ((7, "other"),)),
        ("SELECT users.id FROM Users", ("id",), ((7,),)),
        ('SELECT "Users"."Id" FROM "Users"', ("Id",), ((1,),)),
        ("SELECT * FROM sales.orders", ("id", "user_id"), ((1, 1),)),
        ("SELECT * FROM Sales.Orders", ("id", "user_id"), ((1, 1),)),
        ('SELECT * FROM "Sales".orders', ("zzz",), ((5,),)),
        (
            'SELECT u."Id" FROM sales.orders o JOIN "Users" u ON u."Id" = o.user_id',
            ("Id",),
            ((1,),),
        ),
    ],
)
def test_postgresql_names(pg_cases, sql, head, rows):
    with opened(pg_cases) as database:
        answer = database.query(sql)
    assert (answer.columns, answer.rows) == (head, rows)


def test_postgresql_foreign_keys_by_case(pg_cases):
    assert references(pg_cases, "sales.orders") == "public.Users"


def test_mysql_names(mariadb):
    result = fill(
        mariadb,
        "cases",
        [
            "create table Users (Id int unsigned primary key, nick varchar(20))",
            "insert into Users values (1, 'Ann')",
            "create table users (id int primary key, nm varchar(20))",
            "insert into users values (7, 'other')",
            "create table orders (id int primary key, uid int unsigned, foreign key (uid) references Users(Id))",
        ],
    )
    assert references(result, "cases.orders") == "cases.Users"
    with opened(result) as database:
        for sql in ("SELECT * FROM Users", "SELECT * FROM `Users`", "SELECT * FROM cases.Users"):
            assert database.query(sql).columns == ("Id", "nick")
        assert database.query("SELECT * FROM users").rows == ((7, "other"),)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        (
            "SELECT uid, count(*) FROM calls GROUP BY uid WITH ROLLUP",
            ((1, 1), (3, 1), (None, 2)),
        ),
        ("SELECT 'abc' REGEXP 'b'", ((1,),)),
        ("SELECT id FROM calls WHERE uid NOT RLIKE '3'", ((1,),)),
        ("SELECT id FROM calls WHERE (uid = 1 OR uid = 3) REGEXP '1' ORDER BY id", ((1,), (2,))),
        ("SELECT 1 FROM DUAL", ((1,),)),
        ("SELECT (SELECT 2 FROM dual) + id FROM calls WHERE id = 1", ((3,),)),
    ],
)
def test_statements_of_mariadb_stay_what_they_are(mariadb, sql, rows):
    result = fill(
        mariadb,
        "calls",
        [
            "create table calls (id int primary key, uid int)",
            "insert into calls values (1,1),(2,3)",
        ],
    )
    with opened(result) as database:
        assert database.query(sql).rows == rows


PEOPLE = [
    "create extension citext",
    "create extension hstore",
    "create table people (id int primary key, email citext, attrs hstore)",
    "insert into people values (1, 'A@x.org', 'colour=>red'), (2, 'a@X.org', 'colour=>blue')",
]


def test_operators_of_extensions_mean_what_they_do_there(postgres):
    with opened(fill(postgres, "extended", PEOPLE)) as database:
        assert database.query("SELECT id FROM people WHERE email = 'a@x.org'").rows == ((1,), (2,))
        assert database.query("SELECT count(DISTINCT email) FROM people").rows == ((1,),)
        assert database.query("SELECT attrs -> 'colour' FROM people WHERE id = 1").rows == (
            ("red",),
        )
        assert len(database.query("SELECT id FROM people WHERE email IN ('A@X.ORG')").rows) == 2


def test_an_operator_of_another_role_takes_no_place(postgres):
    makes = [
        *PEOPLE,
        "drop role if exists maker",
        "create role maker",
        "grant create, usage on schema public to maker",
        "create function public.never(citext, text) returns boolean language sql as 'select false'",
        "alter function public.never(citext, text) owner to maker",
    ]
    with opened(fill(postgres, "taken", makes)) as database:
        assert database.query("SELECT lower(email) FROM people WHERE id = 1").rows == (
            ("a@x.org",),
        )
    postgres.run("DROP DATABASE taken", "DROP ROLE maker", database="postgres")


def test_a_function_of_another_dialect_is_refused_on_a_server(pg_cases):
    with opened(pg_cases) as database:
        for sql in (
            "SELECT to_days(now())",
            "SELECT id / 2 FROM users",
            "SELECT dayofweek('2020-01-01')",
        ):
            with pytest.raises(SqlRefused, match="write postgres SQL"):
                database.query(sql, dialect="mysql")
        assert database.query("SELECT count(*), max(id) FROM users", dialect="mysql").rows == (
            (1, 7),
        )
