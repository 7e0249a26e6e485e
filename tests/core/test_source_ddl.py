"""DDL text of several dialects as catalogs without data."""

from __future__ import annotations

import pytest

from stages.core.catalog.schema_only import ddl, statements
from stages.core.catalog.source_table import ScanOptions
from stages.core.errors import DataError
from stages.core.lines import schema

MYSQL = """-- a dump
/*!40101 SET NAMES utf8 */;
DROP TABLE IF EXISTS `dept`;
CREATE TABLE `dept` (
  `id` int(11) NOT NULL AUTO_INCREMENT COMMENT 'the; id',
  `name` varchar(20) DEFAULT NULL, `cost` decimal(10,2), `kind` enum('a','b'),
  PRIMARY KEY (`id`), UNIQUE KEY `u` (`name`)
) ENGINE=InnoDB COMMENT='departments';
INSERT INTO `dept` VALUES (1,'it''s; CREATE TABLE x (a int);'),(2,'b\\'; CREATE TABLE y(b int);');
CREATE TABLE `emp` (`id` bigint(20) unsigned NOT NULL, `dept_id` int(11),
  CONSTRAINT `fk` FOREIGN KEY (`dept_id`) REFERENCES `dept` (`id`));
CREATE ALGORITHM=UNDEFINED DEFINER=`root`@`localhost` SQL SECURITY DEFINER VIEW `v` AS
  select `dept`.`id` AS `id`, count(*) AS n from `dept`;
"""
POSTGRES = """SET statement_timeout = 0;
CREATE FUNCTION f() RETURNS int AS $$ BEGIN; CREATE TABLE nope (a int); END $$ LANGUAGE plpgsql;
CREATE TABLE public.users (id integer NOT NULL, name character varying(50), tags text[],
  at timestamp with time zone DEFAULT now(), meta jsonb);
CREATE TABLE sales.users (id serial primary key, u integer references public.users);
ALTER TABLE ONLY public.users ADD CONSTRAINT users_pkey PRIMARY KEY (id);
COMMENT ON TABLE public.users IS 'People'; COMMENT ON COLUMN public.users.name IS 'Full name';
"""
TSQL = """CREATE TABLE [dbo].[Order Details](
  [OrderID] [int] IDENTITY(1,1) NOT NULL, [Name] [nvarchar](50) NULL,
  CONSTRAINT [PK] PRIMARY KEY CLUSTERED ([OrderID] ASC))
GO
CREATE TABLE dbo.B (x uniqueidentifier, y money)
GO
"""
BIGQUERY = """CREATE TABLE `p.d.t` (a INT64 NOT NULL OPTIONS(description="the a"),
  s STRUCT<x STRING, y ARRAY<INT64>>);"""
SNOWFLAKE = """CREATE OR REPLACE TRANSIENT TABLE db.sch.ev (v VARIANT, n NUMBER(38,0) COMMENT 'nn',
  t TIMESTAMP_NTZ(9)) COMMENT='events';"""
SQLITE = """CREATE TABLE "b"(k TEXT PRIMARY KEY);
CREATE TABLE lite (id INTEGER PRIMARY KEY AUTOINCREMENT, z DATETIME, b TEXT REFERENCES b);"""


def read(tmp_path, text, name="schema.sql", **options):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return ddl.catalog_of(path, ScanOptions(**options))


def columns(table):
    return {c["name"]: (c["type"], c.get("key"), c.get("comment")) for c in table["columns"]}


@pytest.mark.parametrize(
    ("text", "dialect", "names"),
    [
        (MYSQL, "mysql", ["dept", "emp", "v"]),
        (POSTGRES, "postgres", ["public__users", "sales__users"]),
        (TSQL, "tsql", ["order_details", "b"]),
        (BIGQUERY, "bigquery", ["t"]),
        (SNOWFLAKE, "snowflake", ["ev"]),
        (SQLITE, "sqlite", ["b", "lite"]),
    ],
)
def test_dialects_are_found_out(tmp_path, text, dialect, names):
    result = read(tmp_path, text)
    assert result.catalog["dialect"] == dialect
    assert [table["name"] for table in result.tables] == names
    assert "skipped" not in result.catalog
    assert "root" not in result.catalog
    schema.check(result.catalog, "catalog", place="")
    for table in result.tables:
        schema.check(table, "table", place=table["name"])
        assert "source" not in table
        assert table["checked"] == "declared"


def test_mysql_columns_and_keys(tmp_path):
    dept, emp, view = read(tmp_path, MYSQL).tables
    assert dept["comment"] == "departments"
    assert columns(dept) == {
        "id": ("INTEGER", "primary", "the; id"),
        "name": ("VARCHAR", "unique", None),
        "cost": ("DECIMAL(10,2)", None, None),
        "kind": ("VARCHAR", None, None),
    }
    assert emp["columns"][0]["type"] == "UBIGINT"
    assert emp["foreign_keys"] == [
        {"columns": ["dept_id"], "ref_table": "dept", "ref_columns": ["id"]}
    ]
    assert columns(view) == {"id": ("INTEGER", None, None), "n": ("BIGINT", None, None)}


def test_postgres_alters_and_comments(tmp_path):
    public, sales = read(tmp_path, POSTGRES).tables
    assert public["describe_key"] == "public.users"
    assert public["comment"] == "People"
    assert columns(public)["name"] == ("VARCHAR", None, "Full name")
    assert columns(public)["tags"][0] == "VARCHAR[]"
    assert public["primary_key"] == ["id"]
    assert sales["foreign_keys"] == [
        {"columns": ["u"], "ref_table": "public__users", "ref_columns": ["id"]}
    ]


def test_nested_types(tmp_path):
    (table,) = read(tmp_path, BIGQUERY).tables
    assert columns(table) == {
        "a": ("BIGINT", None, "the a"),
        "s": ("STRUCT(x VARCHAR, y BIGINT[])", None, None),
    }


def test_a_statement_that_cannot_be_read_is_skipped_with_its_line(tmp_path):
    result = read(
        tmp_path, "CREATE TABLE a (x int);\n\nCREATE TABLE b (((;\nCREATE TABLE c (y int);"
    )
    assert [table["name"] for table in result.tables] == ["a", "c"]
    assert [item["path"] for item in result.catalog["skipped"]] == ["schema.sql:3"]
    assert result.catalog["skipped"][0]["reason"].startswith("cannot be parsed")


def test_the_dialect_can_be_told(tmp_path):
    text = "CREATE TABLE t (a NUMBER(10), b VARCHAR2(20 CHAR))"
    assert read(tmp_path, text, dialect="oracle").catalog["dialect"] == "oracle"
    with pytest.raises(DataError, match="no SQL dialect"):
        read(tmp_path, text, dialect="nosuch")


@pytest.mark.parametrize("text", ["", "SELECT 1;", "-- nothing", "CREATE TABLE (((", "\0\0\0", "'"])
def test_text_without_tables(tmp_path, text):
    with pytest.raises(DataError, match="makes no table"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("CREATE TABLE a (x int); CREATE TABLE b (y int)", 2),
        ("/* CREATE TABLE a (x int); */ CREATE TABLE b (y int)", 1),
        ("-- CREATE TABLE a (x int);\nCREATE TABLE b (y int)", 1),
        ("INSERT INTO t VALUES ('; CREATE TABLE a (x int);')", 0),
        ('CREATE TABLE "a;b" (x int)', 1),
        ("CREATE TABLE `a;b` (x int)", 1),
        ("CREATE TABLE a (x int)\nGO\nCREATE TABLE b (y int)\ngo", 2),
        ("CREATE FUNCTION f() AS $$ ; CREATE TABLE a (x int); $$; CREATE TABLE b (y int)", 1),
        ("CREATE FUNCTION f() AS $x$ $$ ; CREATE TABLE a (x int); $x$; CREATE TABLE b (y int)", 1),
        ("create external table a (x int)", 1),
        ("CREATE INDEX i ON a (x); DROP TABLE a; GRANT SELECT ON a TO b", 0),
        ("CREATE TABLE a (x text DEFAULT 'never closed", 1),
    ],
)
def test_statements_are_cut_without_being_understood(text, found):
    assert len(list(statements.statements(text))) == found


def test_a_long_dump_costs_little(tmp_path):
    import time

    rows = "INSERT INTO dept VALUES (1, 'it''s; a \\'long\\' row', 2.5);\n" * 50_000
    start = time.perf_counter()
    result = read(tmp_path, MYSQL + rows + "CREATE TABLE last (x int);")
    assert [table["name"] for table in result.tables] == ["dept", "emp", "v", "last"]
    assert time.perf_counter() - start < 10


def test_two_readings_are_the_same(tmp_path):
    first, second = read(tmp_path, POSTGRES), read(tmp_path, POSTGRES)
    assert (first.catalog, first.tables) == (second.catalog, second.tables)
