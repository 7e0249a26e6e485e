"""A small catalog for the sandbox's tests, loaded by a loader of the tests' own."""

from __future__ import annotations

from pathlib import Path

from stages.core.sandbox import Database, Limits

CSV = {
    "employees.csv": "emp_id,Emp Name,salary,dept_id,hired\n"
    "1,Ann,10.1,1,2020-01-02\n2,Bob,20.2,2,2021-02-03\n3,Cy,20.2,1,2022-03-04\n4,,,2,\n",
    "dept.csv": "dept_id,name\n1,Sales\n2,IT\n3,Legal\n",
}


def column(name, type_="BIGINT", **more):
    return {"name": name, "type": type_, **more}


def table(name, path, columns, **more):
    return {
        "kind": "table",
        "catalog": "c",
        "name": name,
        "describe_key": path,
        "source": {"kind": "csv", "path": path},
        "columns": columns,
        **more,
    }


EMPLOYEES = table(
    "employees",
    "employees.csv",
    [
        column("emp_id"),
        column("Emp Name", "VARCHAR"),
        column("salary", "DOUBLE"),
        column("dept_id"),
        column("hired", "DATE"),
    ],
    aliases=["Employee Attendance", "HR.PUBLIC.EMP"],
)
DEPT = table("dept", "dept.csv", [column("dept_id"), column("name", "VARCHAR")])
TABLES = [EMPLOYEES, DEPT]


def load(con, root, line, target):
    """The tests' own loader: a CSV file as DuckDB reads it."""
    path = str(Path(root) / line["source"]["path"])
    con.execute(f'CREATE TABLE "{target}" AS SELECT * FROM read_csv(?)', [path])


def write_root(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in CSV.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def database(root, cache, tables=TABLES, **limits):
    """A database over the root's two CSV files, or over tables of the test's own."""
    catalog = {"kind": "catalog", "v": 1, "id": "c", "name": "c", "root": str(root)}
    return Database(catalog, tables, cache=cache, load=load, limits=Limits(**limits))
