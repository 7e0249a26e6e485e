"""A small catalog for the sandbox's tests, loaded by a loader of the tests' own."""

from __future__ import annotations

from pathlib import Path

from stages.core.sandbox.database import Database
from stages.core.sandbox.limits import Limits

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


SAME_AS_THE_ENGINE = [
    "SELECT * FROM dept",
    "FROM dept",
    "TABLE dept",
    "VALUES (1, 'a'), (2, 'b')",
    "(SELECT * FROM dept)",
    "-- first\nSELECT /* in */ name FROM dept -- last\n;",
    "SELECT count(*), sum(salary), avg(salary), median(salary), stddev(salary) FROM employees",
    "SELECT dept_id, list(emp_id ORDER BY emp_id) FROM employees GROUP BY ALL",
    "SELECT d.name, count(e.emp_id) FROM dept d LEFT JOIN employees e USING (dept_id) GROUP BY 1",
    "SELECT * FROM dept NATURAL JOIN employees",
    "SELECT * FROM employees WHERE hired > DATE '2020-06-01' AND \"Emp Name\" ILIKE '%Y%'",
    "SELECT * FROM employees WHERE dept_id IN (SELECT dept_id FROM dept WHERE name = 'IT')",
    "SELECT * FROM employees e WHERE EXISTS (SELECT 1 FROM dept d WHERE d.dept_id = e.dept_id)",
    "SELECT emp_id, row_number() OVER (PARTITION BY dept_id ORDER BY emp_id) FROM employees",
    "SELECT emp_id FROM employees QUALIFY rank() OVER (ORDER BY salary DESC NULLS LAST) = 1",
    "WITH d AS (SELECT * FROM dept), e AS (SELECT * FROM d) SELECT * FROM e",
    "WITH dept AS (SELECT * FROM dept WHERE dept_id > 1) SELECT * FROM dept",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r",
    "SELECT * FROM dept UNION SELECT dept_id, name FROM dept EXCEPT SELECT 3, 'Legal'",
    "SELECT * EXCLUDE (salary) REPLACE (emp_id + 1 AS emp_id) FROM employees",
    "SELECT COLUMNS('.*_id') FROM employees",
    "SELECT year(hired), strftime(hired, '%Y-%m'), date_trunc('month', hired) FROM employees",
    "SELECT extract(year FROM hired), hired + INTERVAL 3 DAY, date_diff('day', hired, DATE '2024-01-01') FROM employees",
    "SELECT salary / 2, emp_id // 2, emp_id % 2, round(salary, 1), emp_id ** 2 FROM employees",
    "SELECT coalesce(salary, 0), nullif(emp_id, 1), if(emp_id > 1, 'a', 'b'), CASE WHEN emp_id = 1 THEN 'x' END FROM employees",
    "SELECT TRY_CAST(name AS INTEGER), name::VARCHAR, CAST(dept_id AS DOUBLE) FROM dept",
    "SELECT [1, 2, 3][2], [x + 1 FOR x IN [1, 2] IF x > 1], {'a': 1}.a, MAP {'k': 1}['k']",
    "SELECT list_transform([1, 2], lambda x: x * 2), list_filter([1, 2], lambda x: x > 1), list_sum([1, 2])",
    "SELECT unnest([1, 2, 3]), generate_series(1, 3)",
    "SELECT * FROM range(3), generate_series(1, 2) g(i), unnest(['a', 'b']) u(x)",
    "SELECT regexp_matches(name, 'S.*'), regexp_extract(name, '(.)a', 1), split_part(name, 'a', 1) FROM dept",
    "SELECT string_agg(name, ',' ORDER BY name DESC), group_concat(name) FROM dept",
    "SELECT arg_max(name, dept_id), first(name ORDER BY dept_id), quantile_cont(dept_id, 0.5) FROM dept",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY salary) FROM employees",
    "SELECT '{\"a\": [1, 2]}'::JSON -> 'a' -> 0, json_extract_string('{\"a\": \"b\"}', '$.a')",
    "SELECT * FROM dept PIVOT (count(*) FOR name IN ('IT', 'Sales'))",
    "SELECT * FROM (SELECT dept_id, name FROM dept) UNPIVOT (v FOR k IN (name))",
    "SELECT count(*) FILTER (WHERE salary > 15), count(DISTINCT dept_id) FROM employees",
    "SELECT dept_id, GROUPING(dept_id), count(*) FROM employees GROUP BY ROLLUP (dept_id)",
    "SELECT DISTINCT ON (dept_id) dept_id, emp_id FROM employees ORDER BY dept_id, emp_id",
    "SELECT * FROM employees ASOF JOIN (SELECT DATE '2021-01-01' AS hired) q USING (hired)",
    "SELECT dept FROM dept",
    "SELECT 'it''s', E'a\\nb', $$x 'y'$$, 1e3, 0x1F, 1_000",
    "SELECT hash(name), md5(name), typeof(dept_id), greatest(dept_id, 2) FROM dept",
    "SELECT sum(dept_id) AS s FROM dept HAVING s > 1",
    "SELECT a.dept_id FROM dept a, dept b, LATERAL (SELECT a.dept_id + b.dept_id AS s) l WHERE s = 3",
    "SELECT * FROM dept ORDER BY name DESC LIMIT 2 OFFSET 1",
    "SELECT 公 FROM (SELECT 1 AS 公)",
    "SELECT emp_id IS DISTINCT FROM 2, NOT emp_id BETWEEN 2 AND 3, emp_id IN (1, 2) FROM employees",
]
