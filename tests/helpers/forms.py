"""One table in DuckDB and in the engines themselves, and statements that have to agree.

A line of the ``.sql`` files is a statement, or expressions over the table ``v`` by its rows.
"""

from __future__ import annotations

import csv
import datetime
import decimal
import io
from pathlib import Path

from stages.core.sandbox.database import Database
from stages.core.sandbox.limits import Limits
from tests.helpers.sandbox_kit import column, table

STATEMENTS = Path(__file__).resolve().parents[1] / "forms"
TEXT = """id,name,note,day,ts,n,x,t
1,Ann,hello world,2020-01-31,2020-01-31 10:20:30,7,2.5,10:20:30
2,bob,a%b_c,2019-07-04,2019-07-04 23:59:59,-3,-2.5,00:00:00
3,Éva,12abc,2021-12-31,2021-12-31 00:00:00,0,0.285,23:59:59
4,ann,,2020-02-29,2020-02-29 12:00:00,10,1e3,12:00:00
5,,2020-05-06,,,,,
6,Zoë Lee,3.7,2023-01-01,2023-01-01 05:06:07,12,3.7,05:06:07
"""
TYPES = {"id": "BIGINT", "name": "VARCHAR", "note": "VARCHAR", "day": "DATE", "ts": "TIMESTAMP",
         "n": "BIGINT", "x": "DOUBLE", "t": "VARCHAR"}  # fmt: skip
LINE = table("v", "v.csv", [column(name, kind) for name, kind in TYPES.items()], primary_key=["id"])
ROWS = [[cell or None for cell in row] for row in list(csv.reader(io.StringIO(TEXT)))[1:]]


def statements(name):
    """The statements of a file."""
    lines = (STATEMENTS / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line]


def whole(line):
    """A line of expressions as the statement that it stands for."""
    if line.lower().startswith(("select", "with")):
        return line
    return f"select {line} from v order by id"


def opened(folder):
    """The table in DuckDB."""
    (folder / "v.csv").write_text(TEXT, encoding="utf-8")
    catalog = {"kind": "catalog", "v": 1, "id": "c", "name": "c", "root": str(folder)}
    return Database(catalog, [LINE], cache=folder / "cache", load=_load, limits=Limits(seconds=20))


def _load(con, root, _line, target):
    kinds = ", ".join(f"'{name}': '{kind}'" for name, kind in TYPES.items())
    con.execute(
        f"CREATE TABLE \"{target}\" AS SELECT * FROM read_csv('{root}/v.csv', types={{{kinds}}}, nullstr='')"
    )


def comparable(value):
    """A cell as it is the same from every driver."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float | decimal.Decimal):
        return float(f"{float(value):.9g}")
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ").replace("+00:00", "")
    if isinstance(value, list | tuple):
        shown = ", ".join("NULL" if item is None else str(item) for item in value)
        return f"[{shown}]"
    if isinstance(value, bytes):
        return value.decode()
    return value if value is None else str(value).replace("'", "")


def same(ours, theirs):
    """Rows of both, ready to be compared."""
    return tuple([[comparable(cell) for cell in row] for row in rows] for rows in (ours, theirs))
