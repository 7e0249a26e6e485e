"""JSON in the shapes and with the faults it is found with, scanned and loaded.

What is loaded is compared with what Python's `json` reads from the same text.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stages.core.catalog.source_table import ScanOptions, SourceTable
from stages.core.catalog.sources import json as source
from stages.core.catalog.sources.json import columns, loader
from stages.core.catalog.sources.json.types import column_type, depth, plain
from stages.core.errors import SourceError

Rows = list[dict[str, Any]]


def written(folder: Path, data: bytes | str, name: str = "t.json") -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def scanned(path: Path, **options: Any) -> SourceTable:
    (raw, *beside) = source.scan(path, ScanOptions(**options))
    assert all(other.inner == "top" for other in beside)
    return raw


def loaded(path: Path, raw: SourceTable) -> tuple[dict[str, str], Rows]:
    """Types by column and all rows as Python values, after loading."""
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    line: Any = {
        "name": raw.name,
        "columns": raw.columns,
        "checked": raw.checked,
        "source": {"kind": "json", "reader": raw.reader},
    }
    source.load(con, path, line, 'odd "name"')
    types = {row[0]: row[1] for row in con.execute('DESCRIBE "odd ""name"""').fetchall()}
    rows = con.execute('SELECT * FROM "odd ""name"""').fetchall()
    return types, [dict(zip(types, row, strict=True)) for row in rows]


def types_of(raw: SourceTable) -> list[str]:
    return [column["type"] for column in raw.columns]


def names_of(raw: SourceTable) -> list[str]:
    return [column["name"] for column in raw.columns]


RECORDS: Rows = [
    {"id": 1, "name": "Ann", "x": 1.5, "ok": True},
    {"id": 2, "name": "007", "x": 2.25, "ok": None},
    {"id": 3, "name": "é", "x": None, "ok": False},
]
TEXT = json.dumps(RECORDS)
LINES = "".join(json.dumps(record) + "\n" for record in RECORDS)

# name, text, file, table's name, words a warning must hold
SHAPES: list[tuple[str, str, str, str, str]] = [
    ("array", TEXT, "t.json", "t", ""),
    ("array, spread out", json.dumps(RECORDS, indent=2), "t.json", "t", ""),
    ("table and records", f'{{"table": "staff", "records": {TEXT}}}', "t.json", "staff", ""),
    ("records and table", f'{{"records": {TEXT}, "table": "staff"}}', "t.json", "staff", ""),
    (
        "described",
        f'{{"table": "staff", "columns": [{{"name": "id"}}], "records": {TEXT}}}',
        "t.json",
        "staff",
        "columns",
    ),
    ("records alone", f'{{"records": {TEXT}}}', "t.json", "t", ""),
    (
        "wrapped",
        f'{{"total": 3, "next": {{"a": [1]}}, "rows": {TEXT}}}',
        "t.json",
        "t",
        "",
    ),
    ("wrapped twice", f'{{"data": {{"items": {TEXT}, "total": 3}}}}', "t.json", "t", ""),
    ("lines", LINES, "t.jsonl", "t", ""),
    ("lines called json", LINES, "t.json", "t", ""),
    ("lines with returns", LINES.replace("\n", "\r\n"), "t.ndjson", "t", ""),
    ("lines without a last end", LINES.strip(), "t.jsonl", "t", ""),
    (
        "lines, one broken",
        LINES + "oops, this is not JSON\n" + LINES,
        "t.jsonl",
        "t",
        "not JSON: 1",
    ),
    (
        "objects one after the other",
        json.dumps(RECORDS[0], indent=1) + json.dumps(RECORDS[1]) + "\n" + json.dumps(RECORDS[2]),
        "t.json",
        "t",
        "",
    ),
    ("comma at the end", TEXT[:-1] + ",]", "t.json", "t", "commas"),
    ("commas in records", TEXT.replace("}", ", }"), "t.json", "t", "commas"),
    ("commas twice", TEXT.replace("}, {", "},, {"), "t.json", "t", "commas"),
    ("array cut in a record", TEXT[:-1] + ', {"id": 4, "na', "t.json", "t", "ends inside"),
    ("array cut after a record", TEXT[:-1], "t.json", "t", "ends inside"),
    (
        "wrapped and cut",
        f'{{"table": "staff", "records": {TEXT[:-1]}, {{"id"',
        "t.json",
        "staff",
        "ends inside",
    ),
    ("keys twice", TEXT.replace('"id": 1', '"id": 9, "id": 1'), "t.json", "t", "same key"),
    (
        "columns",
        json.dumps({key: [record[key] for record in RECORDS] for key in RECORDS[0]}),
        "t.json",
        "t",
        "",
    ),
    (
        "numbered columns",
        json.dumps(
            {key: {str(at): record[key] for at, record in enumerate(RECORDS)} for key in RECORDS[0]}
        ),
        "t.json",
        "t",
        "",
    ),
    (
        "rows of arrays",
        json.dumps(
            {"columns": list(RECORDS[0]), "data": [list(record.values()) for record in RECORDS]}
        ),
        "t.json",
        "t",
        "",
    ),
]


@pytest.mark.parametrize(
    ("text", "file", "name", "warning"),
    [case[1:] for case in SHAPES],
    ids=[case[0] for case in SHAPES],
)
def test_shapes_give_the_same_table(
    tmp_path: Path, text: str, file: str, name: str, warning: str
) -> None:
    path = written(tmp_path, text, file)
    raw = scanned(path)
    assert (raw.name, raw.inner) == (name, None)
    assert names_of(raw) == list(RECORDS[0])
    assert types_of(raw) == ["BIGINT", "VARCHAR", "DOUBLE", "BOOLEAN"]
    assert warning in " ".join(raw.warnings)
    assert bool(raw.warnings) is bool(warning)
    types, rows = loaded(path, raw)
    assert list(types.values()) == types_of(raw)
    assert rows == RECORDS * (2 if "oops" in text else 1)
    assert raw.rows == {"count": len(rows), "how": "exact"}
    assert raw.sample[0] == {"id": "1", "name": "Ann", "x": "1.5", "ok": "true"}
    assert raw.sample[1]["ok"] is None


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "gb18030", "big5"]
)
@pytest.mark.parametrize("shape", ["array", "lines", "wrapped"])
def test_encodings_and_marks(tmp_path: Path, encoding: str, shape: str) -> None:
    rows: Rows = [{"姓名": "王小明", "n": 1}, {"姓名": "張偉", "n": 2}]
    if encoding in ("gb18030", "big5"):
        rows[0]["姓名"] = "王大文"
    array = json.dumps(rows, ensure_ascii=False)
    text = {
        "array": array,
        "lines": "\n".join(json.dumps(row, ensure_ascii=False) for row in rows),
        "wrapped": f'{{"table": "t", "records": {array}}}',
    }[shape]
    path = written(tmp_path, text.encode(encoding))
    raw = scanned(path)
    assert names_of(raw) == ["姓名", "n"]
    assert loaded(path, raw)[1] == rows


@pytest.mark.parametrize("name", ["t.json.gz", "t.jsonl.zst", "t.ndjson.gz", "T.JSON"])
def test_suffixes(tmp_path: Path, name: str) -> None:
    pack = {".gz": gzip.compress, ".zst": zstandard.compress}.get(Path(name).suffix, bytes)
    text = LINES if "json." in name and "t.json." not in name else TEXT
    if "jsonl" in name or "ndjson" in name:
        text = LINES
    path = written(tmp_path, pack(text.encode()), name)
    assert name.lower().endswith(source.SUFFIXES)
    raw = scanned(path)
    assert raw.name.lower() == "t"
    assert loaded(path, raw)[1] == RECORDS


def test_several_arrays_are_several_tables(tmp_path: Path) -> None:
    path = written(
        tmp_path, '{"users": [{"id": 1}], "orders": [{"id": 7, "day": "2024-01-05"}], "n": 3}'
    )
    raws = list(source.scan(path, ScanOptions()))
    assert [(raw.name, raw.inner) for raw in raws] == [
        ("users", "users"),
        ("orders", "orders"),
        ("t_top", "top"),
    ]
    assert types_of(raws[1]) == ["BIGINT", "DATE"]
    assert [len(loaded(path, raw)[1]) for raw in raws] == [1, 1, 1]
    assert loaded(path, raws[2])[1] == [{"n": 3}]


SINGLES: list[tuple[str, str, Rows]] = [
    ("an object", '{"a": 1, "b": {"c": [1, 2]}}', [{"a": 1, "b": {"c": [1, 2]}}]),
    ("numbers", "[1, 2, 3]", [{"value": 1}, {"value": 2}, {"value": 3}]),
    ("texts", '["x", null]', [{"value": "x"}, {"value": None}]),
    ("a number", "42", [{"value": 42}]),
    (
        "arrays",
        '[[1, "a"], [2, "b"]]',
        [{"column0": 1, "column1": "a"}, {"column0": 2, "column1": "b"}],
    ),
    (
        "like objects",
        '{"p": {"x": 1}, "q": {"x": 2}, "r": {"x": 3}}',
        [{"key": "p", "x": 1}, {"key": "q", "x": 2}, {"key": "r", "x": 3}],
    ),
    (
        "like objects with a key",
        '{"p": {"key": 1}, "q": {"key": 2}, "r": {"key": 3}}',
        [{"_key": "p", "key": 1}, {"_key": "q", "key": 2}, {"_key": "r", "key": 3}],
    ),
    (
        "mixed scalars",
        '[{"a": 1}, {"a": "x"}, {"a": true}]',
        [{"a": "1"}, {"a": "x"}, {"a": "true"}],
    ),
    ("an object or not", '[{"a": 1}, {"a": {"b": 1}}]', [{"a": "1"}, {"a": '{"b":1}'}]),
    (
        "beyond 64 bits",
        '[{"a": 12345678901234567890}, {"a": 1}]',
        [{"a": 12345678901234567890}, {"a": 1}],
    ),
    ("only nulls", '[{"a": null, "b": 1}]', [{"a": None, "b": 1}]),
    ("keys that differ in case", '[{"a": 1, "A": 2, "": 3}]', [{"a": 1, "A_1": 2, "column2": 3}]),
    ("keys with quotes", '[{"a\\"b": 1, "it\'s": 2}]', [{'a"b': 1, "it's": 2}]),
    (
        "nested, not all there",
        '[{"n": {"x": 1}}, {"n": {"y": "b"}}]',
        [{"n": {"x": 1, "y": None}}, {"n": {"x": None, "y": "b"}}],
    ),
    (
        "objects in arrays",
        '[{"l": [{"k": 1}, {"k": 2.5}]}, {"l": []}]',
        [{"l": [{"k": 1.0}, {"k": 2.5}]}, {"l": []}],
    ),
]


@pytest.mark.parametrize(
    ("text", "rows"), [case[1:] for case in SINGLES], ids=[case[0] for case in SINGLES]
)
def test_other_shapes_and_values(tmp_path: Path, text: str, rows: Rows) -> None:
    path = written(tmp_path, text)
    raw = scanned(path)
    types, found = loaded(path, raw)
    assert found == rows
    assert list(types.values()) == types_of(raw)
    assert raw.rows["count"] == len(rows)


def test_nested_columns_have_fields_by_dotted_path(tmp_path: Path) -> None:
    text = '[{"n": {"x": 1, "y": ["p", "q"], "end": {"w": 1.5}}, "l": [{"k": "a"}]}]'
    raw = scanned(written(tmp_path, text))
    assert types_of(raw) == [
        'STRUCT(x BIGINT, y VARCHAR[], "end" STRUCT(w DOUBLE))',
        "STRUCT(k VARCHAR)[]",
    ]
    assert raw.columns[0].get("fields") == [
        {"name": "n.x", "type": "BIGINT", "examples": ["1"]},
        {"name": "n.y", "type": "VARCHAR[]", "examples": ["p", "q"]},
        {"name": "n.end", "type": "STRUCT(w DOUBLE)"},
        {"name": "n.end.w", "type": "DOUBLE", "examples": ["1.5"]},
    ]
    assert raw.columns[1].get("fields") == [{"name": "l.k", "type": "VARCHAR", "examples": ["a"]}]


NESTED = [
    '{"a": 1, "b": [true, null], "c": "it\'s, so"}',
    '[{"k": 1.0, "v": "x y"}, {"k": null, "v": "{}"}]',
    '{"day": "2024-01-05", "deep": {"er": [[1], [2, 3]]}}',
]


@pytest.mark.parametrize("value", NESTED)
def test_nested_cells_are_shown_as_duckdb_casts_them(tmp_path: Path, value: str) -> None:
    path = written(tmp_path, f'[{{"n": {value}}}]')
    raw = scanned(path)
    con = duckdb.connect()
    line: Any = {"columns": raw.columns, "source": {"reader": raw.reader}}
    source.load(con, path, line, "t")
    shown = con.execute("SELECT n::VARCHAR FROM t").fetchone()
    assert shown == (raw.sample[0]["n"],)
    assert raw.columns[0].get("examples") == [raw.sample[0]["n"]]


@pytest.mark.slow
def test_three_thousand_keys_are_columns(tmp_path: Path) -> None:
    rows: Rows = [{f"k{at}": at, f"j{at}": "v"} for at in range(1500)]
    path = written(tmp_path, json.dumps(rows))
    raw = scanned(path)
    assert len(raw.columns) == 3000
    found = loaded(path, raw)[1]
    assert [
        {key: value for key, value in row.items() if value is not None} for row in found
    ] == rows


def test_thousands_of_keys_deeper_down_are_a_map(tmp_path: Path) -> None:
    rows: Rows = [{"m": {f"k{at}": at, f"k{at + 1}": 2}} for at in range(2000)]
    path = written(tmp_path, json.dumps(rows))
    raw = scanned(path)
    assert types_of(raw) == ["MAP(VARCHAR, BIGINT)"]
    assert loaded(path, raw)[1] == rows


@pytest.mark.parametrize("levels", [120, 200, 600])
def test_deep_nesting_is_text_and_said(tmp_path: Path, levels: int) -> None:
    deep = "[" * levels + "]" * levels
    path = written(tmp_path, f'{{"id": 1, "d": {deep}}}\n{{"id": 2, "d": null}}\n', "t.jsonl")
    raw = scanned(path)
    assert types_of(raw) == ["BIGINT", "VARCHAR"]
    assert "nested too deeply" in raw.warnings[0]
    assert loaded(path, raw)[1] == [{"id": 1, "d": deep}, {"id": 2, "d": None}]


def test_nesting_beyond_python_is_a_source_error(tmp_path: Path) -> None:
    path = written(tmp_path, '[{"d": ' + "[" * 200_000)
    with pytest.raises(SourceError, match="nested too deeply"):
        scanned(path)


@pytest.mark.slow
def test_an_object_over_16_mib(tmp_path: Path) -> None:
    path = written(tmp_path, '[{"a": "' + "x" * 17_000_000 + '"}, {"a": "y"}]')
    raw = scanned(path)
    assert types_of(raw) == ["VARCHAR"]
    assert [len(row["a"]) for row in loaded(path, raw)[1]] == [17_000_000, 1]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"  \n ", "blanks"),
        (b"\xef\xbb\xbf", "blanks"),
        (b"nonsense at all", "not JSON"),
        (b"<html>", "not JSON"),
        (b"{'a': 1}", "not JSON"),
    ],
)
def test_what_is_no_json_says_why(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(SourceError, match=words) as caught:
        list(source.scan(written(tmp_path, data), ScanOptions()))
    assert caught.value.place == "t.json"
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "name"),
    [("[]", "t"), ('{"table": "e", "records": []}', "e"), ("{}", "t"), ("[{}]", "t")],
)
def test_a_table_without_records_stays_with_the_reason(
    tmp_path: Path, text: str, name: str
) -> None:
    path = written(tmp_path, text)
    raw = scanned(path)
    assert (raw.name, raw.columns, raw.checked) == (name, [], "none")
    assert "not known" in raw.error
    with pytest.raises(SourceError, match="does not say"):
        loaded(path, raw)


def big(shape: str, late: dict[str, Any] | None = None) -> tuple[str, Rows]:
    """About 1.5 MB, with a record of its own where no sample looks."""
    rows: Rows = [
        {"n": at, "x": at + 0.5, "day": "2024-01-05", "s": {"k": at}} for at in range(24_000)
    ]
    if late:
        rows[9_500] = late
    if shape == "lines":
        return "\n".join(map(json.dumps, rows)), rows
    array = json.dumps(rows)
    return (array if shape == "array" else f'{{"records": {array}, "table": "late name"}}'), rows


LATE: list[tuple[str, dict[str, Any], list[str]]] = [
    ("fits", {}, ["BIGINT", "DOUBLE", "DATE", "STRUCT(k BIGINT)"]),
    ("text", {"n": "none", "x": 1.5}, ["VARCHAR", "DOUBLE", "DATE", "STRUCT(k BIGINT)"]),
    ("a fraction", {"n": 1.5, "x": 1}, ["DOUBLE", "DOUBLE", "DATE", "STRUCT(k BIGINT)"]),
    (
        "a fraction inside",
        {"n": 1, "s": {"k": 1.5}},
        ["BIGINT", "DOUBLE", "DATE", "STRUCT(k DOUBLE)"],
    ),
    (
        "a new field",
        {"n": 1, "s": {"z": "a"}},
        ["BIGINT", "DOUBLE", "DATE", "STRUCT(k BIGINT, z VARCHAR)"],
    ),
    ("an empty object", {"n": 1, "s": {}}, ["BIGINT", "DOUBLE", "DATE", "STRUCT(k BIGINT)"]),
    (
        "beyond 64 bits inside",
        {"n": 1, "s": {"k": 2**63}},
        ["BIGINT", "DOUBLE", "DATE", "STRUCT(k JSON)"],
    ),
    ("text for an object", {"n": 1, "s": "none"}, ["BIGINT", "DOUBLE", "DATE", "JSON"]),
    ("no day", {"n": 1, "day": "soon"}, ["BIGINT", "DOUBLE", "VARCHAR", "STRUCT(k BIGINT)"]),
]


@pytest.mark.parametrize(
    ("shape", "late", "types"),
    [
        (shape, *case[1:])
        for case in LATE
        for shape in (["lines", "array", "wrapped"] if case[0] == "a fraction" else ["lines"])
    ],
)
def test_late_surprises_widen_when_loading(
    tmp_path: Path, shape: str, late: dict[str, Any], types: list[str]
) -> None:
    text, rows = big(shape, late)
    path = written(tmp_path, text)
    raw = scanned(path)
    assert raw.name == ("late name" if shape == "wrapped" else "t")
    assert raw.checked == "sample"
    assert raw.rows["how"] == "estimate"
    assert abs((raw.rows["count"] or 0) - len(rows)) < len(rows) / 15
    assert types_of(raw) == ["BIGINT", "DOUBLE", "DATE", "STRUCT(k BIGINT)"]
    found, cells = loaded(path, raw)
    assert list(found.values()) == types
    assert len(cells) == len(rows)
    assert cells[-1]["n"] == rows[-1]["n"] or types[0] == "VARCHAR"
    if late:
        assert cells[9_500]["n"] == late["n"]


def test_the_tail_is_looked_at_and_exact_counts(tmp_path: Path) -> None:
    text, rows = big("array")
    path = written(tmp_path, text[:-1] + ', {"n": "last", "x": 1, "day": null, "s": null}]')
    raw = scanned(path, exact=True)
    assert types_of(raw)[0] == "VARCHAR"
    assert raw.columns[0].get("examples", [])[-1] == "last"
    assert raw.rows == {"count": len(rows) + 1, "how": "exact"}


MEMBERS: list[tuple[str, str]] = [
    (
        "brackets in texts before",
        '{"note": "a ] } \\\\\\" [", "n": {"q": [[1], "]"]}, "records": ROWS}',
    ),
    ("more behind", '{"records": ROWS, "more": [1, {"a": "]}"}], "note": "] } \\" ]"}'),
    ("numbers and words before", '{"k": -1.5e3, "t": true, "records" : ROWS }'),
    ("deeper", '{"data": {"total": 3, "items": ROWS}, "x": 1}'),
]


@pytest.mark.parametrize("text", [case[1] for case in MEMBERS], ids=[case[0] for case in MEMBERS])
def test_an_array_is_cut_out_at_its_own_brackets(tmp_path: Path, text: str) -> None:
    rows: Rows = [{"id": at, "s": '"]}\\' * (at % 5) + '\\"['} for at in range(40_000)]
    path = written(tmp_path, text.replace("ROWS", json.dumps(rows)))
    raw = scanned(path, exact=True)
    assert raw.rows == {"count": len(rows), "how": "exact"}
    assert loaded(path, raw)[1] == rows


@settings(max_examples=40, deadline=None)
@given(
    value=st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    size=st.sampled_from([1, 5, 40]),
)
def test_an_array_ends_where_it_ends_however_it_comes_in(value: Any, size: int) -> None:
    text = json.dumps({"before": value, "records": [value, 1], "after": value}).encode()
    pieces = (text[at : at + size] for at in range(0, len(text), size))
    assert json.loads(b"".join(loader.array(pieces, ["records"]))) == [value, 1]


def test_a_map_with_a_late_fraction_keeps_it(tmp_path: Path) -> None:
    rows: Rows = [{"m": {f"k{at}": 1.5 if at == 30_000 else at}} for at in range(70_000)]
    path = written(tmp_path, json.dumps(rows))
    raw = scanned(path)
    assert types_of(raw) == ["MAP(VARCHAR, BIGINT)"]
    types, found = loaded(path, raw)
    assert types == {"m": "MAP(VARCHAR, DOUBLE)"}
    assert found == rows


def test_values_can_be_left_out(tmp_path: Path) -> None:
    raw = scanned(written(tmp_path, '[{"a": 1, "n": {"x": "secret"}}]'), values=False)
    assert raw.sample == []
    assert "secret" not in repr(raw)


TYPES: list[tuple[list[Any], str]] = [
    ([1, 2], "BIGINT"),
    ([1, 2.0], "DOUBLE"),
    ([1.5, 2**53 + 1], "VARCHAR"),
    ([2**64], "HUGEINT"),
    ([2**130], "VARCHAR"),
    ([True, False], "BOOLEAN"),
    ([True, 1], "VARCHAR"),
    (["1", "2"], "VARCHAR"),
    (["2024-01-05"], "DATE"),
    (["2024-01-05", ""], "VARCHAR"),
    (["2024-01-05T10:00:00"], "TIMESTAMP"),
    ([[1, None], []], "BIGINT[]"),
    ([[]], "JSON[]"),
    ([{}], "JSON"),
    ([{"a": 1, "A": 2}], "JSON"),
    ([{"a": None}], 'STRUCT("a" JSON)'),
    ([{"a b": 1, "select": 2, "x1": 3}], 'STRUCT("a b" BIGINT, "select" BIGINT, "x1" BIGINT)'),
    ([], "VARCHAR"),
]


@pytest.mark.parametrize(("values", "kind"), TYPES)
def test_types(values: list[Any], kind: str) -> None:
    assert column_type(values) == kind
    spelt = duckdb.execute(f"SELECT typeof(CAST(NULL AS {kind}))").fetchone()
    assert spelt == (columns.spellings([kind]).get(kind, kind),)


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (True, "BOOLEAN", "true"),
        (1, "DOUBLE", "1.0"),
        (2, "VARCHAR", "2"),
        ("2024-01-05T10:00:00", "TIMESTAMP", "2024-01-05 10:00:00"),
        ({"a": "é"}, "JSON", '{"a":"é"}'),
    ],
)
def test_scalars_as_text(value: Any, kind: str, text: str) -> None:
    assert plain(value, kind) == text


def test_depth_needs_no_recursion() -> None:
    value: Any = []
    for _ in range(5000):
        value = [value]
    assert depth(value) == 5001


SCALAR = (
    st.none()
    | st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
)
KEY = st.sampled_from(["a", "b", "c d", "é", "select"])


@settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    rows=st.lists(
        st.fixed_dictionaries({"id": st.integers(0, 9)}, optional={"a": SCALAR, "c d": SCALAR}),
        min_size=1,
        max_size=6,
    ),
    wrap=st.booleans(),
)
def test_whatever_python_writes_is_loaded_as_it_was(tmp_path: Path, rows: Rows, wrap: bool) -> None:
    text = json.dumps({"table": "t", "records": rows} if wrap else rows)
    path = written(tmp_path, text)
    raw = scanned(path)
    types, found = loaded(path, raw)
    assert list(types.values()) == types_of(raw)
    wanted = [
        {
            name: None if row.get(name) is None else plain(row[name], kind)
            for name, kind in zip(names_of(raw), types_of(raw), strict=True)
        }
        for row in rows
    ]
    as_text = [
        {
            name: None
            if value is None
            else plain(value)
            if not hasattr(value, "isoformat")
            else str(value)
            for name, value in row.items()
        }
        for row in found
    ]
    assert as_text == wanted


@settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(text=st.text('[]{}:,"a1 \n', max_size=40))
def test_any_text_is_a_table_or_a_source_error_and_twice_the_same(
    tmp_path: Path, text: str
) -> None:
    path = written(tmp_path, text)
    try:
        first = list(source.scan(path, ScanOptions()))
    except SourceError:
        return
    assert list(source.scan(path, ScanOptions())) == first
    for raw in first:
        if not raw.error:
            assert len(loaded(path, raw)[1]) == raw.rows["count"]


HEADED = [
    ('[["NAME","POP","state"],["Alabama","5","01"],["Ohio","7","39"]]', "t.json", False),
    ('{"range":"A1:B3","values":[["NAME","POP"],["1","Ann"],["2","Bob"]]}', "t.json", False),
    ('["NAME","n"]\n[1,"a"]\n[2,"b"]\n', "t.jsonl", False),
    ('[["NAME","n"],[1,"a"],[2,null]]', "t.jsonl", False),
    ('[["NAME","v","w"],[1.5,true,{"a":1}],[2,null,null]]', "t.json", False),
    ('[["NAME","city"],["Ann","Rome"],["Bob","Oslo"]]', "t.json", False),
    ('[["NAME","x"],["ann","rome"],["bob","oslo"]]', "t.json", False),
]


@pytest.mark.parametrize(("text", "name", "doubtful"), HEADED)
def test_the_first_of_arrays_names_the_columns(
    tmp_path: Path, text: str, name: str, doubtful: bool
) -> None:
    path = written(tmp_path, text, name)
    raw = scanned(path)
    assert names_of(raw)[0] == "NAME"
    assert raw.rows["count"] == 2
    types, rows = loaded(path, raw)
    assert len(rows) == 2
    assert list(types) == names_of(raw)
    assert any("certainty" in said for said in raw.warnings) is doubtful


@pytest.mark.parametrize(
    "text", ["[[1,2],[3,4]]", '[["a",1],["b",2]]', '[["a","a"],["b","c"]]', '[["","x"],["1","y"]]']
)
def test_arrays_without_names_lose_no_row(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    raw = scanned(path)
    assert names_of(raw) == ["column0", "column1"]
    assert len(loaded(path, raw)[1]) == 2


@pytest.mark.parametrize("name", ["t.jsonl", "t.ndjson", "t.json"])
def test_an_array_of_records_in_a_file_of_lines(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, TEXT, name)
    assert loaded(path, scanned(path))[1] == RECORDS


BESIDE: list[tuple[str, list[tuple[str, list[str], int]]]] = [
    (
        '{"order_id": 77, "to": {"n": "X"}, "items": [{"sku": "a"}, {"sku": "b"}]}',
        [("t", ["sku"], 2), ("t_top", ["order_id", "to"], 1)],
    ),
    (
        '{"users": [{"id": 1}], "meta": {"groups": [{"g": 1}, {"g": 2}]}}',
        [("t", ["id"], 1), ("meta.groups", ["g"], 2)],
    ),
    (
        '{"users": [{"id": 1}], "meta": {"page": 2, "groups": [{"g": 1}, {"g": 2}]}}',
        [("t", ["id"], 1), ("meta.groups", ["g"], 2), ("t_top", ["meta"], 1)],
    ),
    ('{"data": {"items": [{"id": 1}], "total": 3}}', [("t", ["id"], 1), ("t_top", ["data"], 1)]),
    ('{"r1": {"a": 1, "b": 2}, "r2": {"a": 3, "b": 4}}', [("t", ["key", "a", "b"], 2)]),
    ('{"r1": {"a": 1, "b": 2}, "r2": {"c": 3}}', [("t", ["r1", "r2"], 1)]),
    ('{"table": "staff", "records": [{"id": 1}]}', [("staff", ["id"], 1)]),
]


@pytest.mark.parametrize(("text", "tables"), BESIDE)
def test_all_of_a_file_is_in_some_table(
    tmp_path: Path, text: str, tables: list[tuple[str, list[str], int]]
) -> None:
    path = written(tmp_path, text)
    raws = list(source.scan(path, ScanOptions()))
    assert [(raw.name, names_of(raw), raw.rows["count"]) for raw in raws] == tables
    for raw, (_, names, count) in zip(raws, tables, strict=True):
        types, rows = loaded(path, raw)
        assert (list(types), len(rows)) == (names, count)
        assert raw.warnings == []


TORN = [
    '[{"id":1,"text":"fine"},{"id":2,"text":"cut \\ud83d"}]',
    '[{"id":1,"text":"fine"},{"id":2,"text":"cut \\ude00 off"}]',
    '{"id":1,"text":"fine"}\n{"id":2,"text":"cut \\uD83D\\ud83d"}\n',
    '[{"id":1,"text":{"a":"cut \\ud83d"}}]',
    '[{"id":1,"text":"x","k\\ud83d":1}]',
]


@pytest.mark.parametrize("text", TORN)
def test_half_a_character_is_read_and_said(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    raw = scanned(path)
    assert any("U+FFFD" in said for said in raw.warnings)
    _, rows = loaded(path, raw)
    assert len(rows) == text.count('"id"')
    assert "\ufffd" in str(rows)
    orjson.dumps([raw.columns, raw.sample])


def test_a_whole_emoji_in_escapes_is_no_half(tmp_path: Path) -> None:
    path = written(tmp_path, '[{"id":1,"text":"\\ud83d\\ude00 \\\\ud83d"}]')
    raw = scanned(path)
    assert raw.warnings == []
    assert loaded(path, raw)[1][0]["text"] == "\U0001f600 \\ud83d"
