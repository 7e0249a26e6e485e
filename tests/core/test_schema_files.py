"""Schemas without data: their form, what becomes of it, and files that break it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stages.core.catalog.build import ScanResult
from stages.core.catalog.schema_only.files import SchemaFolder, catalog_of
from stages.core.catalog.schema_only.types import duckdb_type
from stages.core.catalog.source_table import ScanOptions
from stages.core.errors import DataError, SourceError
from stages.core.lines import schema

SHOP: dict[str, Any] = {
    "db_id": "shop",
    "dialect": "sqlite",
    "tables": [
        {
            "name": "Orders",
            "nl_name": "orders",
            "description": "one row an order",
            "family": 3,
            "columns": [
                {
                    "name": "id",
                    "type": "number",
                    "nl_name": "order id",
                    "samples": [1, 2.5, True, None, "x", [1], 1],
                },
                {"name": "customer", "type": "text", "description": "who"},
                {"name": "note", "type": ""},
            ],
            "primary_key": ["id"],
            "foreign_keys": [{"columns": ["customer"], "ref_table": "CUSTOMER"}],
        },
        {
            "name": "Customer",
            "columns": [{"name": "name", "type": "VARCHAR(20)", "nullable": False}],
            "primary_key": ["name"],
        },
    ],
}


def of(record: dict[str, Any], **options: Any) -> ScanResult:
    schema.check(record, "schema-file")
    return catalog_of(record, "stem", ScanOptions(**options))


def test_what_becomes_of_a_schema() -> None:
    result = of(SHOP, examples=9)
    assert result.task is None
    assert {key: value for key, value in result.catalog.items() if key != "id"} == {
        "kind": "catalog",
        "v": 1,
        "name": "shop",
        "dialect": "sqlite",
    }
    orders, customer = result.tables
    assert dict(orders) == {
        "kind": "table",
        "catalog": result.catalog["id"],
        "name": "orders",
        "aliases": ["Orders"],
        "describe_key": "Orders",
        "nl_name": "orders",
        "description": "one row an order",
        "family": 3,
        "columns": [
            {
                "name": "id",
                "type": "DOUBLE",
                "declared": "number",
                "key": "primary",
                "nl_name": "order id",
                "examples": ["1", "2.5", "true", "x", "[1]"],
            },
            {
                "name": "customer",
                "type": "VARCHAR",
                "declared": "text",
                "key": "foreign",
                "description": "who",
            },
            {"name": "note", "type": "VARCHAR"},
        ],
        "checked": "declared",
        "primary_key": ["id"],
        "foreign_keys": [
            {"columns": ["customer"], "ref_table": "customer", "ref_columns": ["name"]}
        ],
        "always_keep": False,
        "warnings": [],
    }
    assert customer["columns"] == [
        {
            "name": "name",
            "type": "VARCHAR",
            "declared": "VARCHAR(20)",
            "nullable": False,
            "key": "primary",
        }
    ]
    for table in result.tables:
        schema.check(table, "table")
    schema.check(result.catalog, "catalog")


@pytest.mark.parametrize(
    ("options", "examples"),
    [
        ({}, ["1", "2.5", "true"]),
        ({"examples": 0}, None),
        ({"values": False}, None),
        ({"hide": ("ID",)}, None),
        ({"hide": ("orders.*",)}, None),
        ({"hide": ("customer.*",)}, ["1", "2.5", "true"]),
        ({"cell": 2}, ["1", "2.…(+1)", "tr…(+2)"]),
    ],
)
def test_values_are_cut_and_hidden(options: dict[str, Any], examples: list[str] | None) -> None:
    assert of(SHOP, **options).tables[0]["columns"][0].get("examples") == examples


def test_nested_fields() -> None:
    column = {
        "name": "c",
        "type": "STRUCT<a INT64>",
        "fields": ["c.a", {"name": "c.b", "type": "STRING", "description": "d"}, {"name": "c.c"}],
    }
    (table,) = of({"tables": [{"name": "t", "columns": [column]}]}).tables
    assert table["columns"][0]["fields"] == [
        {"name": "c.a", "type": "VARCHAR"},
        {"name": "c.b", "type": "VARCHAR", "description": "d"},
        {"name": "c.c", "type": "VARCHAR"},
    ]


def test_a_table_without_columns_stays_with_a_warning() -> None:
    (table,) = of({"tables": [{"name": "t", "columns": []}]}).tables
    assert table["warnings"] == ["the schema file names no column of this table"]


def test_a_key_to_a_table_that_is_not_there_keeps_its_spelling() -> None:
    key = {"columns": ["a"], "ref_table": "Gone", "ref_columns": ["b"]}
    (table,) = of(
        {"tables": [{"name": "t", "columns": [{"name": "a"}], "foreign_keys": [key]}]}
    ).tables
    assert table["foreign_keys"] == [key]


@pytest.mark.parametrize(
    ("declared", "dialect", "kind"),
    [
        ("", "", "VARCHAR"),
        ("text", "sqlite", "VARCHAR"),
        ("INTEGER", "", "BIGINT"),
        ("NUMBER(38, 0)", "snowflake", "BIGINT"),
        ("NUMBER(10,2)", "", "DOUBLE"),
        ("numeric(10)", "", "DOUBLE"),
        ("nvarchar(max)", "tsql", "VARCHAR"),
        ("timestamp", "tsql", "BLOB"),
        ("timestamp", "", "TIMESTAMP"),
        ("TIMESTAMP_NTZ(9)", "", "TIMESTAMP"),
        ("timestamp with time zone", "", "TIMESTAMP WITH TIME ZONE"),
        ("double precision", "", "DOUBLE"),
        ("int unsigned", "", "BIGINT"),
        ("VARIANT", "", "JSON"),
        ("ARRAY<STRING>", "", "VARCHAR[]"),
        (
            "ARRAY<STRUCT<k STRING, v STRUCT<i INT64, d DATE>>>",
            "",
            'STRUCT("k" VARCHAR, "v" STRUCT("i" BIGINT, "d" DATE))[]',
        ),
        ("STRUCT<...>", "", "JSON"),
        ("ARRAY<STRUCT<a STRING, b INT", "", "JSON"),
        ("MAP<STRING, INT64>", "", "MAP(VARCHAR, BIGINT)"),
        ('STRUCT<`odd "name` STRING>', "", "JSON"),
        ("STRUCT<NUMERIC>", "", "JSON"),
        ("ARRAY<" * 500 + ">" * 500, "", "JSON"),
        ("GEOGRAPHY", "", "VARCHAR"),
        ("\n<>", "", "JSON"),
    ],
)
def test_types(declared: str, dialect: str, kind: str) -> None:
    assert duckdb_type(declared, dialect).removesuffix("[]" * 500).rstrip("[]") == kind.rstrip("[]")


def write(path: Path, record: Any) -> Path:
    path.write_text(record if isinstance(record, str) else json.dumps(record), "utf-8")
    return path


def test_a_folder_finds_by_file_name_and_by_db_id(tmp_path: Path) -> None:
    write(tmp_path / "a.json", {**SHOP, "db_id": "inner"})
    write(tmp_path / "b.json", {"tables": []})
    write(tmp_path / "broken.json", "{")
    (tmp_path / "notes.txt").write_text("no schema", "utf-8")
    folder = SchemaFolder(tmp_path, ScanOptions())
    assert folder.names() == ["a", "b", "broken"]
    assert folder.find("a") == folder.find("inner") == tmp_path / "a.json"
    assert folder.find("gone") is None
    assert folder.read(tmp_path / "a.json").catalog["name"] == "inner"
    assert folder.read(tmp_path / "b.json").catalog["name"] == "b"


@pytest.mark.parametrize(
    ("record", "what"),
    [
        ("{", "not JSON"),
        ("[]", "schema-file"),
        ({}, "'tables' is a required property"),
        ({"tables": [{"name": "t"}]}, "'columns' is a required property"),
        ({"tables": [{"name": "", "columns": []}]}, "tables"),
        ({"tables": [{"name": "t", "columns": [{"name": 3}]}]}, "columns"),
        ({"tables": [], "db_id": 3}, "db_id"),
    ],
)
def test_files_that_break_the_form(tmp_path: Path, record: Any, what: str) -> None:
    path = write(tmp_path / "a.json", record)
    with pytest.raises(DataError, match=what) as caught:
        SchemaFolder(path, ScanOptions()).read(path)
    assert caught.value.place == str(path)


def test_a_byte_order_mark_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(SHOP).encode())
    assert SchemaFolder(path, ScanOptions()).read(path).catalog["name"] == "shop"


def test_nothing_there(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "gone.json"):
        with pytest.raises(SourceError, match="no schema file there"):
            SchemaFolder(path, ScanOptions())
