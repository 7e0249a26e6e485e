"""CSV and TSV as they are found: every known trap, scanned and loaded.

What is loaded is compared with what Python's `csv` reads from the same text.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from stages.core.catalog.bytes.cells import cast
from stages.core.catalog.bytes.infer import text_type
from stages.core.catalog.source_table import ScanOptions, SourceTable
from stages.core.catalog.sources import csv as source
from stages.core.catalog.sources.csv.dialect import sniff
from stages.core.errors import SourceError


def scanned(path: Path, **options: Any) -> SourceTable:
    (raw,) = source.scan(path, ScanOptions(**options))
    return raw


def written(folder: Path, data: bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def loaded(path: Path, raw: SourceTable) -> tuple[dict[str, str], list[list[str | None]]]:
    """Types by column and all rows as text, after loading."""
    con = duckdb.connect()
    line: Any = {
        "name": raw.name,
        "columns": raw.columns,
        "checked": raw.checked,
        "source": {"kind": "csv", "reader": raw.reader},
    }
    source.load(con, path, line, 'odd "name"')
    types = {row[0]: row[1] for row in con.execute('DESCRIBE "odd ""name"""').fetchall()}
    cells = con.execute('SELECT COLUMNS(*)::VARCHAR FROM "odd ""name"""').fetchall()
    return types, [list(row) for row in cells]


def expected(text: str, width: int, *, header: bool = True, **how: Any) -> list[list[str | None]]:
    """Rows as Python's csv reads them: of one width, empty cells null."""
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), **how) if row]
    body = rows[1:] if header else rows
    return [[cell or None for cell in (row + [""] * width)[:width]] for row in body]


def types_of(raw: SourceTable) -> list[str]:
    return [column["type"] for column in raw.columns]


def names_of(raw: SourceTable) -> list[str]:
    return [column["name"] for column in raw.columns]


FIFTY = "".join(f"{i},x{i},{i}.5\n" for i in range(50))
LONG_TEXT = "".join(f"{i},Tom said hello {i}\n" for i in range(30))

# name, text, what the names are, keywords for csv.reader, words that a warning must hold
TRAPS: list[tuple[str, str, list[str], dict[str, Any], str]] = [
    ("plain", f"a,b,c\n{FIFTY}", ["a", "b", "c"], {}, ""),
    ("carriage returns", f"a,b,c\n{FIFTY}".replace("\n", "\r\n"), ["a", "b", "c"], {}, ""),
    ("old Mac line ends", f"a,b,c\n{FIFTY}".replace("\n", "\r"), ["a", "b", "c"], {}, ""),
    ("mixed line ends", "a,b\r\n1,x\n2,y\r3,z\r\n4,w", ["a", "b"], {}, ""),
    (
        "over-long last row",
        f"a,b,c\n{FIFTY}50,x,1.5,extra\n",
        ["a", "b", "c", "column3"],
        {},
        "more cells",
    ),
    ("short row", f"a,b,c\n7,x\n{FIFTY}", ["a", "b", "c"], {}, "fewer cells"),
    ("short last row", f"a,b,c\n{FIFTY}7\n", ["a", "b", "c"], {}, "fewer cells"),
    ("a delimiter too many", "a,b\n1,x,\n2,y,\n", ["a", "b"], {}, ""),
    ("caret", "a^b\n1^x,y\n2^z\n", ["a", "b"], {"delimiter": "^"}, ""),
    ("tilde", "a~b\n1~x\n2~z\n", ["a", "b"], {"delimiter": "~"}, ""),
    (
        "semicolon, decimal commas",
        "id;b\n1;1,5\n2;2,5\n",
        ["id", "b"],
        {"delimiter": ";"},
        "with commas in them",
    ),
    ("bar", "a|b\n1|x\n2|z\n", ["a", "b"], {"delimiter": "|"}, ""),
    ("quoted line ends", 'a,b\n1,"x\ny"\n2,"p\r\nq"\n', ["a", "b"], {}, ""),
    ("doubled quotes", 'a,b\n1,"x ""y"" z"\n2,w\n', ["a", "b"], {}, ""),
    ("inches", 'a,b\n1,5" pipe\n2,6" pipe\n', ["a", "b"], {}, ""),
    ("blank lines", "\n\na,b\n1,x\n\n2,y\n\n", ["a", "b"], {}, ""),
    (
        "blank before quotes",
        'a, b\n1, "x, y"\n2, "z"\n',
        ["a", "b"],
        {"skipinitialspace": True},
        "",
    ),
    ("backslash quotes", 'a,b\n1,"x \\"y\\", z"\n2,"w"\n', ["a", "b"], {"escapechar": "\\"}, ""),
    ("apostrophes", "a,b\n'1','x, y'\n'2','z'\n", ["a", "b"], {"quotechar": "'"}, ""),
    ("duplicate headers", "a,a,A\n1,2,3\n", ["a", "a_1", "A_2"], {}, ""),
    ("unnamed column", ",b\n0,x\n1,y\n", ["column0", "b"], {}, ""),
    ("blank around names", " a ,b \n1,x\n", ["a", "b"], {}, ""),
    ("one column", "code\nx\ny\n", ["code"], {}, ""),
    ("one column of prose", "note\nHello, you\nAll is well\n", ["note"], {"delimiter": "\t"}, ""),
    ("headers only", "a,b\n", ["a", "b"], {}, ""),
    ("headers only, no line end", "a,b", ["a", "b"], {}, ""),
    (
        "years as headers",
        "land,2019,2020,2021\nA,1,2,3\nB,4,5,6\n",
        ["land", "2019", "2020", "2021"],
        {},
        "",
    ),
    ("sentences", f"id,note\n{LONG_TEXT}", ["id", "note"], {}, ""),
    ("NUL in a cell", "a,b\n1,x\0y\n2,z\n", ["a", "b"], {}, ""),
    ("a long cell", f"a,b\n1,{'x' * 200_000}\n2,y\n", ["a", "b"], {}, ""),
]


@pytest.mark.parametrize(
    ("text", "names", "how", "warning"),
    [trap[1:] for trap in TRAPS],
    ids=[trap[0] for trap in TRAPS],
)
def test_traps_are_read_as_they_stand(
    tmp_path: Path, text: str, names: list[str], how: dict[str, Any], warning: str
) -> None:
    path = written(tmp_path, text.encode())
    raw = scanned(path)
    assert names_of(raw) == names
    assert warning in " ".join(raw.warnings)
    assert bool(raw.warnings) is bool(warning)
    assert raw.checked == "full"
    rows = expected(text, len(names), **how)
    assert raw.rows == {"count": len(rows), "how": "exact"}
    types, cells = loaded(path, raw)
    assert list(types.values()) == types_of(raw)
    wanted = [
        [cell and cast(kind, cell) for cell, kind in zip(row, types_of(raw), strict=True)]
        for row in rows
    ]
    assert cells == wanted
    shown = [list(row.values()) for row in raw.sample]
    assert shown == wanted[:2]


HEADERS: list[tuple[str, str, bool, bool]] = [
    ("typed columns under names", "id,n\n1,2.5\n2,3.5\n", True, True),
    ("numbers from the first line on", "1,2.5\n2,3.5\n3,4.5\n", False, True),
    ("all text, codes", "".join(f"A{i:03},B{i:03}\n" for i in range(10)), False, True),
    ("all text, a value comes again", "red,dog\nblue,cat\nred,cow\n", False, False),
    ("all text, telling names", "first_name,city\nAnn,Rome\nBob,Oslo\n", True, True),
    ("all text, Chinese names", "姓名,城市名称\n王小明,北京\n李丽,上海\n", True, True),
    ("all text, no telling", "ann,rome\nbob,oslo\ncyd,bonn\n", True, False),
    ("only one line, of numbers", "1,2\n", False, True),
]


@pytest.mark.parametrize(
    ("text", "header", "sure"), [case[1:] for case in HEADERS], ids=[case[0] for case in HEADERS]
)
def test_no_row_is_lost_to_the_header_without_a_word(
    tmp_path: Path, text: str, header: bool, sure: bool
) -> None:
    path = written(tmp_path, text.encode())
    raw = scanned(path)
    assert raw.reader["header"] is header
    assert raw.rows["count"] == text.count("\n") - header
    assert any("without certainty" in warning for warning in raw.warnings) is not sure
    assert len(loaded(path, raw)[1]) == raw.rows["count"]


TYPES: list[tuple[list[str], str]] = [
    (["1", "-2", "0"], "BIGINT"),
    (["9223372036854775807", "1"], "BIGINT"),
    (["9223372036854775808", "1"], "HUGEINT"),
    (["1" * 60, "1"], "VARCHAR"),
    (["007", "8"], "VARCHAR"),
    (["+4912345", "1"], "VARCHAR"),
    (["1.5", "2"], "DOUBLE"),
    (["1e+05", "2.5E-03", "3"], "DOUBLE"),
    (["1e5", "2.5"], "VARCHAR"),
    (["12E12", "13E12"], "VARCHAR"),
    (["1.9", "1.10"], "VARCHAR"),
    (["1.9", "1.11"], "DOUBLE"),
    (["250.0", "250.00"], "VARCHAR"),
    (["250", "250.0"], "VARCHAR"),
    (["250.0", "3.5"], "DOUBLE"),
    (["1200000.0", "950000.0"], "DOUBLE"),
    (["2.50", "10.00", "0"], "DECIMAL(18,2)"),
    (["2.50", "10"], "VARCHAR"),
    (["-0.00", "0.00"], "VARCHAR"),
    (["0.00", "0"], "VARCHAR"),
    (["12345678901234567890.10", "1.25"], "DECIMAL(38,2)"),
    (["123456789.123456789", "1.5"], "VARCHAR"),
    (["0.1234567890123456789", "1.5"], "VARCHAR"),
    (["0.30000000000000004", "0.1"], "DOUBLE"),
    (["123456789012345678", "1"], "BIGINT"),
    (["+5", "5"], "VARCHAR"),
    (["+0.5", "0.5"], "VARCHAR"),
    (["00.5", "1.5"], "VARCHAR"),
    ([".5", "0.5"], "VARCHAR"),
    ([".5", "1.25"], "DOUBLE"),
    (["-0", "0"], "VARCHAR"),
    (["1e+05", "100000"], "VARCHAR"),
    (["0.00001", "0.5"], "DOUBLE"),
    (["10000000000000000", "0.5"], "DOUBLE"),
    (["True", "true"], "VARCHAR"),
    (["2024-01-05", "2024-1-5"], "VARCHAR"),
    (["10:00:00", "10:00:00.0"], "VARCHAR"),
    (["2024-01-05 10:00:00", "2024-01-05T10:00:00"], "VARCHAR"),
    (["1.5", "12345678901234567"], "VARCHAR"),
    (["1e999", "1"], "VARCHAR"),
    (["1.5", "nan", "-inf"], "DOUBLE"),
    (["nan", "inf"], "VARCHAR"),
    (["1,234", "5"], "VARCHAR"),
    (["true", "False"], "BOOLEAN"),
    (["true", "1"], "VARCHAR"),
    (["t", "f"], "VARCHAR"),
    (["2024-01-05", "2023-12-31"], "DATE"),
    (["2024/1/5", "2024/12/31"], "DATE"),
    (["2024-02-30", "2024-01-01"], "VARCHAR"),
    (["05.01.2024", "01/02/2024"], "VARCHAR"),
    (["2024-01-05 10:00:00", "2024-01-05T10:00:00.25"], "TIMESTAMP"),
    (["2024-01-05 10:00:00", "2024-01-05"], "TIMESTAMP"),
    (["2024-02-30 10:00:00"], "VARCHAR"),
    (["2024-01-05 24:00:00"], "VARCHAR"),
    (["2024-01-05T10:00:00Z", "2024-01-05T10:00:00+02:00"], "TIMESTAMP WITH TIME ZONE"),
    (["10:00:00", "23:59:59.5"], "TIME"),
    (["25:00:00", "10:00:00"], "VARCHAR"),
    (["NULL", "1"], "VARCHAR"),
    (["1\n2"], "VARCHAR"),
    ([], "VARCHAR"),
]


@pytest.mark.parametrize(("values", "kind"), TYPES)
def test_types_lose_nothing(values: list[str], kind: str) -> None:
    assert text_type(dict.fromkeys(values)) == kind


@pytest.mark.parametrize(("values", "kind"), [case for case in TYPES if case[0]])
def test_cells_are_shown_as_duckdb_casts_them(values: list[str], kind: str) -> None:
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    for value in values:
        found = con.execute(f"SELECT CAST(CAST(? AS {kind}) AS VARCHAR)", [value]).fetchone()
        assert found == (cast(kind, value),)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_are_printed_as_duckdb_prints_them(number: float) -> None:
    found = duckdb.execute("SELECT CAST(? AS DOUBLE)::VARCHAR", [number]).fetchone()
    assert found == (cast("DOUBLE", repr(number)),)


ENCODED = [
    ("utf-8-sig", "名,n\n张三,1\n李四,2\n", None),
    ("utf-16", "name,n\nMüller,1\nJörg,2\n", None),
    ("utf-16-be", "name,n\nMüller,1\nJörg,2\n", None),
    ("gb18030", "姓名,n\n王小明,1\n李丽,2\n", None),
    ("big5", "姓名,n\n王曉明,1\n李麗,2\n", None),
    ("cp1252", "name,n\nMüller,1\nJörg,2\n", None),
    ("shift_jis", "名前,n\nやまだ,1\nすずき,2\n", "shift_jis"),
]


@pytest.mark.parametrize(
    ("encoding", "text", "override"), ENCODED, ids=[case[0] for case in ENCODED]
)
def test_encodings(tmp_path: Path, encoding: str, text: str, override: str | None) -> None:
    path = written(tmp_path, text.encode(encoding))
    raw = scanned(path, encoding=override)
    assert names_of(raw) == text.split("\n")[0].split(",")
    assert types_of(raw) == ["VARCHAR", "BIGINT"]
    assert loaded(path, raw)[1] == expected(text, 2)


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.zst", "t.tsv", "T.TSV"])
def test_suffixes(tmp_path: Path, name: str) -> None:
    text = f"a,b,c\n{FIFTY}"
    text = text.replace(",", "\t") if "tsv" in name.lower() else text
    pack = {".gz": gzip.compress, ".zst": zstandard.compress}.get(Path(name).suffix, bytes)
    path = written(tmp_path, pack(text.encode()), name)
    raw = scanned(path)
    assert raw.name.lower() == "t"
    assert raw.rows == {"count": 50, "how": "exact"}
    assert len(loaded(path, raw)[1]) == 50
    assert name.lower().endswith(source.SUFFIXES)


@pytest.mark.parametrize(
    ("data", "name", "words"),
    [
        (b"", "t.csv", "empty"),
        (b"\n\n  \n", "t.csv", ""),
        (b"PK\x03\x04\0\0\0\0\0\0\0\0", "t.csv", "not text"),
        (b"no gzip", "t.csv.gz", "cannot be read"),
        (gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-20], "t.csv.gz", "cannot be read"),
        (b"no zstd", "t.csv.zst", "cannot be read"),
    ],
)
def test_what_is_no_table_says_why(tmp_path: Path, data: bytes, name: str, words: str) -> None:
    path = written(tmp_path, data, name)
    if not words:
        assert next(iter(source.scan(path, ScanOptions()))).columns is not None
        return
    with pytest.raises(SourceError, match=words) as caught:
        scanned(path)
    assert caught.value.place == name
    assert caught.value.hint


def test_a_missing_file_is_a_source_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        scanned(tmp_path / "none.csv")


ROWS, AT = 45_000, 18_500  # the row lies between the samples of head and middle


def large(late: str = "") -> str:
    """About 1.5 MB, with lines of their own where no sample looks."""
    lines = [f"{i},{i}.5,2024-01-05,word {i}\n" for i in range(ROWS)]
    lines[AT] = late or lines[AT]
    return "n,x,day,w\n" + "".join(lines)


LATE = [
    ("fits", "", {}),
    ("text among numbers", "none,0.5,2024-01-05,x\n", {"n": "VARCHAR"}),
    ("a fraction is not rounded", "1.5,0.5,2024-01-05,x\n", {"n": "DOUBLE"}),
    ("nor is an exponent read", "1e2,0.5,2024-01-05,x\n", {"n": "VARCHAR"}),
    ("but a power that a program wrote", "2e+22,0.5,2024-01-05,x\n", {"n": "DOUBLE"}),
    ("a zero at the end stays", "1,1.10,2024-01-05,x\n", {"x": "VARCHAR"}),
    ("a bare whole number among pointed ones", "1,7,2024-01-05,x\n", {}),
    ("more digits than a double has", "1,0.12345678901234567,2024-01-05,x\n", {"x": "VARCHAR"}),
    ("a small fraction", "1,0.00001,2024-01-05,x\n", {}),
    ("a sign stays", "1,+0.5,2024-01-05,x\n", {"x": "VARCHAR"}),
    ("beyond 64 bits", "9223372036854775808,0.5,2024-01-05,x\n", {"n": "HUGEINT"}),
    ("an hour is not dropped", "1,0.5,2024-01-05 10:00:00,x\n", {"day": "TIMESTAMP"}),
    ("leading zeros stay", "007,0.5,2024-01-05,x\n", {"n": "VARCHAR"}),
    ("no such day", "1,0.5,2024-02-30,x\n", {"day": "VARCHAR"}),
    ("a whole number beyond doubles", "1,9007199254740993,2024-01-05,x\n", {"x": "VARCHAR"}),
    ("two at once", "1.5,none,2024-01-05,x\n", {"n": "DOUBLE", "x": "VARCHAR"}),
    ("short row", "1,0.5\n", {}),
    ("stray quotation mark", '1,0.5,2024-01-05,"x" y\n', {}),
    ("mixed line end", "1,0.5,2024-01-05,x\r\n", {}),
    ("an exact spelling otherwise", " 7 , 0.75 ,2024/1/5,x\n", {}),
]


@pytest.mark.parametrize(
    ("late", "wider"), [case[1:] for case in LATE], ids=[case[0] for case in LATE]
)
def test_late_surprises_widen_when_loading(
    tmp_path: Path, late: str, wider: dict[str, str]
) -> None:
    text = large(late)
    path = written(tmp_path, text.encode())
    raw = scanned(path)
    assert raw.checked == "sample"
    assert raw.rows["how"] == "estimate"
    assert abs((raw.rows["count"] or 0) - ROWS) < 2_000
    assert types_of(raw) == ["BIGINT", "DOUBLE", "DATE", "VARCHAR"]
    found, cells = loaded(path, raw)
    types = {"n": "BIGINT", "x": "DOUBLE", "day": "DATE", "w": "VARCHAR"} | wider
    assert found == types
    rows = expected(text, 4)
    assert len(cells) == len(rows)
    wanted = [
        cell and cast(kind, cell) for cell, kind in zip(rows[AT], types.values(), strict=True)
    ]
    assert cells[AT] == wanted


SEPARATORS = [
    (
        "a;b\n1.000;2,50\n12.500;3,75\n",
        ["VARCHAR", "VARCHAR"],
        ["with commas", "of thousands beside"],
    ),
    (
        "a;b\n1.234;2,50\n12.567;3,75\n",
        ["VARCHAR", "VARCHAR"],
        ["with commas", "of thousands beside"],
    ),
    (
        "a\tb\n1.234\t2,5\n900\t3,75\n",
        ["VARCHAR", "VARCHAR"],
        ["with commas", "of thousands beside"],
    ),
    (
        "a;b\n1.234.567;1.234,50\n900;3,75\n",
        ["VARCHAR", "VARCHAR"],
        ["with commas", "of thousands beside"],
    ),
    ("a;b\nx;1.234\ny;900\n", ["VARCHAR", "DOUBLE"], ["a guess: b"]),
    ("a;b\nx;1.000\ny;12.500\n", ["VARCHAR", "DECIMAL(18,3)"], ["a guess: b"]),
    ("a;b\nx;1.000\ny;900\n", ["VARCHAR", "VARCHAR"], ["kept as text: b"]),
    ("a;b\nx;0.125\ny;1.250\n", ["VARCHAR", "DECIMAL(18,3)"], []),
    ('a,b\nx,"1,234"\ny,900\n', ["VARCHAR", "VARCHAR"], ["with commas in them"]),
    ('a,b\nx,"1,234.50"\ny,"2,000.00"\n', ["VARCHAR", "VARCHAR"], ["with commas in them"]),
    ("v,b\n1.9,1\n1.10,2\n", ["VARCHAR", "BIGINT"], ["would not come back"]),
    ("v,b\n12E12,1\n13E12,2\n", ["VARCHAR", "BIGINT"], []),
    ("v,b\n192.168,1\n10.0,2\n", ["DOUBLE", "BIGINT"], []),
]


@pytest.mark.parametrize(("text", "types", "words"), SEPARATORS)
def test_points_and_commas_are_right_or_told(
    tmp_path: Path, text: str, types: list[str], words: list[str]
) -> None:
    path = written(tmp_path, text.encode())
    raw = scanned(path)
    assert types_of(raw) == types
    found, cells = loaded(path, raw)
    assert list(found.values()) == types
    assert len(raw.warnings) == len(words)
    assert all(any(word in said for said in raw.warnings) for word in words)
    rows = [row.replace('"', "") for row in text.split("\n")[1:-1]]
    assert [",".join(map(str, row)).replace("\t", ",") for row in cells] == [
        row.replace(";", ",").replace("\t", ",") for row in rows
    ] or "DOUBLE" in types


def test_a_late_open_quotation_mark_swallows_nothing(tmp_path: Path) -> None:
    text = large('1,0.5,2024-01-05,"open\n')
    path = written(tmp_path, text.encode())
    raw = scanned(path)
    cells = loaded(path, raw)[1]
    assert len(cells) == ROWS
    assert cells[AT] == ["1", "0.5", "2024-01-05", '"open']
    assert scanned(path, exact=True).rows["count"] == ROWS


def test_moments_with_a_zone_do_not_depend_on_the_zone_of_the_loader(tmp_path: Path) -> None:
    path = written(tmp_path, b"t,n\n2024-01-05T10:00:00+02:00,1\n2024-01-05T10:00:00Z,2\n")
    raw = scanned(path)
    con = duckdb.connect()
    con.execute("SET TimeZone = 'Asia/Shanghai'")
    line: Any = {"columns": raw.columns, "source": {"reader": raw.reader}}
    source.load(con, path, line, "t")
    con.execute("SET TimeZone = 'UTC'")
    found = [row[0] for row in con.execute("SELECT t::VARCHAR FROM t").fetchall()]
    assert (
        found
        == [row["t"] for row in raw.sample]
        == [
            "2024-01-05 08:00:00+00",
            "2024-01-05 10:00:00+00",
        ]
    )


@pytest.mark.parametrize("encoding", ["utf-16", "gb18030", "cp1252", "utf-8-sig"])
def test_large_files_in_other_encodings(tmp_path: Path, encoding: str) -> None:
    word = "王小明的城市" if encoding != "cp1252" else "Müller"
    text = "n,w\n" + "".join(f"{at},{word * (at % 3 + 1)}{at}\n" for at in range(60_000))
    path = written(tmp_path, text.encode(encoding))
    raw = scanned(path)
    assert raw.checked == "sample"
    assert names_of(raw) == ["n", "w"]
    assert types_of(raw) == ["BIGINT", "VARCHAR"]
    examples = raw.columns[1].get("examples", [])
    assert len(examples) == 3
    assert all(example.startswith(word) and "\ufffd" not in example for example in examples)
    assert abs((raw.rows["count"] or 0) - 60_000) < 2_000
    assert loaded(path, raw)[1] == expected(text, 2)


def test_late_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    data = large("1,0.5,2024-01-05,MARK\n").encode().replace(b"MARK", b"M\xfcller")
    path = written(tmp_path, data)
    _, cells = loaded(path, scanned(path))
    assert cells[AT][3] == "M\ufffdller"


def test_the_tail_and_the_middle_are_looked_at(tmp_path: Path) -> None:
    text = large() + "last,1.5,2024-01-05,x\n"
    raw = scanned(written(tmp_path, text.encode()))
    assert types_of(raw)[0] == "VARCHAR"
    assert raw.columns[0].get("examples", [])[-1] == "last"


def test_exact_counts_all_rows(tmp_path: Path) -> None:
    path = written(tmp_path, large().encode())
    assert scanned(path, exact=True).rows == {"count": ROWS, "how": "exact"}
    path = written(tmp_path, large("1,2\n").encode(), "ragged.csv")
    assert scanned(path, exact=True).rows == {"count": ROWS, "how": "exact"}


def test_a_line_longer_than_every_sample(tmp_path: Path) -> None:
    path = written(tmp_path, b"a,b\n1," + b"x" * 5_000_000 + b"\n2,y\n")
    raw = scanned(path)
    assert names_of(raw) == ["a", "b"]
    _, cells = loaded(path, raw)
    assert [len(cell or "") for row in cells for cell in row] == [1, 5_000_000, 1, 1]


def test_an_open_quotation_mark_swallows_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, b'a,b\n1,"x\n2,y\n3,z\n4,w\n5,v\n')
    raw = scanned(path)
    assert raw.rows["count"] == 5
    assert "never closed" in " ".join(raw.warnings)
    assert loaded(path, raw)[1][0] == ["1", '"x']


def test_titles_above_the_table_are_left_out_and_said(tmp_path: Path) -> None:
    path = written(tmp_path, b"Report 2024\n\na,b,c\n1,2,3\n4,5,6\n")
    raw = scanned(path)
    assert names_of(raw) == ["a", "b", "c"]
    assert "above the table" in " ".join(raw.warnings)
    assert loaded(path, raw)[1] == [["1", "2", "3"], ["4", "5", "6"]]


def test_a_header_without_a_name_for_the_row_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, b'"a","b"\n"1",5,x\n"2",6,y\n')
    raw = scanned(path)
    assert names_of(raw) == ["column0", "a", "b"]
    assert loaded(path, raw)[1] == [["1", "5", "x"], ["2", "6", "y"]]


def test_examples_are_distinct_spread_and_few(tmp_path: Path) -> None:
    path = written(
        tmp_path, b"n,c\n" + b"".join(b"%d,%s\n" % (i, b"ab"[i % 2 : i % 2 + 1]) for i in range(99))
    )
    raw = scanned(path, examples=3)
    assert [column.get("examples") for column in raw.columns] == [["0", "49", "98"], ["a", "b"]]
    assert [column.get("nullable") for column in raw.columns] == [False, False]
    bare = scanned(path, values=False)
    assert bare.sample == []
    assert all("examples" not in column for column in bare.columns)


def test_sample_rows_are_as_many_as_asked(tmp_path: Path) -> None:
    path = written(tmp_path, f"a,b,c\n{FIFTY}".encode())
    assert len(scanned(path, sample_rows=5).sample) == 5
    assert scanned(path, sample_rows=0).sample == []


def test_loading_by_a_line_that_says_nothing_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, b"a,b\n1,2\n")
    line: Any = {"columns": [], "source": {"kind": "csv"}}
    with pytest.raises(SourceError, match="does not say"):
        source.load(duckdb.connect(), path, line, "t")


CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"), max_size=8)


@settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    rows=st.lists(st.lists(CELL, min_size=3, max_size=3), min_size=1, max_size=8),
    mark=st.sampled_from(",;|\t^~"),
)
def test_whatever_python_writes_is_loaded_as_it_was(
    tmp_path: Path, rows: Sequence[Sequence[str]], mark: str
) -> None:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=mark, quoting=csv.QUOTE_ALL)
    writer.writerow(["first_id", "second_name", "third_date"])
    writer.writerows([f"x{row[0]}", f"y{row[1]}", f"z{row[2]}"] for row in rows)
    path = written(tmp_path, buffer.getvalue().encode())
    raw = scanned(path)
    assert raw.reader["delimiter"] == mark
    wanted = [[f"x{row[0]}", f"y{row[1]}", f"z{row[2]}"] for row in rows]
    found = loaded(path, raw)[1]
    if not raw.reader["header"]:
        found = found[1:]
        assert raw.warnings
    assert found == wanted


@given(st.text(max_size=200))
def test_any_text_has_some_dialect(text: str) -> None:
    how = sniff(text)
    assert all(isinstance(row, list) for row in how.rows(text))


@settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(data=st.binary(max_size=400))
@example(data=b'"')
def test_any_bytes_are_a_table_or_a_source_error_and_twice_the_same(
    tmp_path: Path, data: bytes
) -> None:
    path = written(tmp_path, data)
    try:
        first = scanned(path)
    except SourceError:
        return
    assert scanned(path) == first
    assert len(loaded(path, first)[1]) == first.rows["count"]


def test_quotation_mark_that_is_never_closed_costs_no_rows(tmp_path: Path) -> None:
    path = written(tmp_path, b'id,note\n0,"x, ""y"""\n1,"a\n2,b\n3,c\n')
    raw = scanned(path)
    assert raw.rows == {"count": 4, "how": "exact"}
    assert any("never closed" in words for words in raw.warnings)
    assert [row["id"] for row in raw.sample] == ["0", "1"]
    rows = [["0", 'x, "y"'], ["1", '"a'], ["2", "b"], ["3", "c"]]
    assert loaded(path, raw)[1] == rows


@pytest.mark.parametrize("now", [b"other,columns\n5,6\n", b"id\n1\n", b"v,id\n2,1\n", b""])
def test_file_with_another_header_than_was_scanned_is_refused(tmp_path: Path, now: bytes) -> None:
    path = written(tmp_path, b"id,v\n1,2\n")
    raw = scanned(path)
    path.write_bytes(now)
    with pytest.raises(SourceError, match="other columns"):
        loaded(path, raw)


def test_renaming_a_column_by_hand_is_no_other_header(tmp_path: Path) -> None:
    path = written(tmp_path, b"id,v\n1,2\n")
    raw = scanned(path)
    raw.columns[1]["name"] = "volts"
    assert loaded(path, raw)[1] == [["1", "2"]]


ESCAPED = [
    ('id,q,w\n1,"He said \\"hi\\" to me",A\n2,"p",B\n', 'He said "hi" to me'),
    ('id,q,w\n1,"\\"Chill\\"",A\n2,"p, q",B\n', '"Chill"'),
    ('id,q,w\n1,"C:\\new\\"x\\"",A\n2,"p",B\n', 'C:\\new"x"'),
    ('id,q,w\n1,"a\\\\b \\"x\\"",A\n2,"p",B\n', 'a\\b "x"'),
    ("id,q,w\n1,Smith\\, John,A\n2,Kim,B\n3,Lee,C\n", "Smith, John"),
    ("id\tq\tw\n1\tone\\\ntwo\tA\n2\tKim\tB\n3\tLee\tC\n", "one\ntwo"),
    ('id,q,w\n1,"C:\\dir\\",A\n2,"p",B\n', "C:\\dir\\"),
    ("id,q,w\n1,C:\\new,A\n2,p,B\n", "C:\\new"),
    ('id,q,w\n1,"say ""hi""\\",A\n2,"p",B\n', 'say "hi"\\'),
]


@pytest.mark.parametrize(("text", "cell"), ESCAPED)
@pytest.mark.parametrize("before", [0, 3000])
def test_backslashes_are_escapes_where_the_file_reads_better_so(
    tmp_path: Path, text: str, cell: str, before: int
) -> None:
    head, first, rest = text.partition("\n")
    mark = "\t" if "\t" in text else ","
    plain = "".join(f"{at}{mark}plain{mark}Z\n" for at in range(before))
    path = written(tmp_path, (head + first + plain + rest).encode())
    raw = scanned(path)
    assert names_of(raw) == ["id", "q", "w"]
    assert raw.warnings == []
    rows = loaded(path, raw)[1]
    assert rows[before] == ["1", cell, "A"]
    assert rows[-1][2] in ("B", "C")


HEADS: list[tuple[str, list[str], int, str]] = [
    ("sep=;\nid;name\n1;a\n2;b\n", ["id", "name"], 2, ""),
    ("SEP=,\r\nid,name\r\n1,a\r\n2,b\r\n", ["id", "name"], 2, ""),
    ('"sep=\t"\nid\tname\n1\ta\n2\tb\n', ["id", "name"], 2, ""),
    ("sep=|\nid|name\n1|a;b;c\n2|b;c;d\n", ["id", "name"], 2, ""),
    ("Sales report, 2024\n\nid,name,qty\n1,a,5\n2,b,6\n", ["id", "name", "qty"], 2, "above"),
    ("Sales report, 2024\nid,name,qty\n1,a,5\n2,b,6\n", ["id", "name", "qty"], 2, "above"),
    (
        "Made by:,Ann,\nOn:,Monday,\n\nid,name,qty\n1,a,5\n2,b,6\n",
        ["id", "name", "qty"],
        2,
        "above",
    ),
    (
        ",2023,,2024,\nregion,q1,q2,q1,q2\nN,1,2,3,4\nS,5,6,7,8\n",
        ["region", "2023 q1", "2023 q2", "2024 q1", "2024 q2"],
        2,
        "two lines of headers",
    ),
    (
        "Report\n,North,,South,\nyear,a,b,a,b\n2020,1,2,3,4\n2021,5,6,7,8\n",
        ["year", "North a", "North b", "South a", "South b"],
        2,
        "two lines of headers",
    ),
    ("time,speed\ns,m/s\n0,1.5\n1,2.5\n2,3.5\n", ["time", "speed"], 3, "of units"),
    ("name,weight\n,(kg)\na,1.5\nb,2.5\nc,3.5\n", ["name", "weight"], 3, "of units"),
    ("id,name\n1,a\n2,b\nid,name\n3,c\n", ["id", "name"], 3, "header again"),
    ("id,x\n1,foo\n2,bar\n3,baz\n", ["id", "x"], 3, ""),
    ("id,x\nq,unsure\n2,3\n3,4\n4,5\n", ["id", "x"], 4, "does not fit"),
    ("id,x\n1,n/a\n2,3\n3,4\n4,5\n", ["id", "x"], 4, ""),
]


@pytest.mark.parametrize(("text", "names", "count", "words"), HEADS)
def test_what_stands_above_the_rows_is_no_row(
    tmp_path: Path, text: str, names: list[str], count: int, words: str
) -> None:
    path = written(tmp_path, text.encode())
    raw = scanned(path)
    assert names_of(raw) == names
    assert raw.rows["count"] == count
    assert words in " ".join(raw.warnings)
    assert bool(raw.warnings) is bool(words)
    types, rows = loaded(path, raw)
    assert list(types.values()) == types_of(raw)
    assert len(rows) == count


def test_a_unit_is_told_of_its_column(tmp_path: Path) -> None:
    raw = scanned(written(tmp_path, b"time,speed\ns,m/s\n0,1.5\n1,2.5\n2,3.5\n"))
    assert [column.get("comment") for column in raw.columns] == ["unit: s", "unit: m/s"]
    assert types_of(raw) == ["BIGINT", "DOUBLE"]


def test_a_header_that_comes_again_deep_in_a_file_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, large("n,x,day,w\n").encode())
    raw = scanned(path)
    types, rows = loaded(path, raw)
    assert list(types.values()) == types_of(raw)
    assert len(rows) == ROWS - 1
