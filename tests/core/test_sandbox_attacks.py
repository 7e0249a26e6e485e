"""Attacks, judged by what they do and not by what is said about them.

Each one runs three times: through the whole sandbox, straight in the child without the gate,
and straight on the engine as the child locks it, without gate, without the child's own check
and without its limits on the process. After each: no file has changed or appeared, the marker
that lies in files and in the environment is not in the answer, and the tables still answer as
before (the engine alone gets a fresh connection each time: its views could be replaced, which
is what the child's own check is for).
"""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path

import duckdb
import pytest

from stages.core.errors import SqlError
from stages.core.sandbox.engine import child
from stages.core.sandbox.engine.worker import Worker
from stages.core.sandbox.gate import grammar
from stages.core.sandbox.limits import Limits
from tests.core.sandbox_kit import database, write_root

MARKER = "m4rk3r-of-the-test"

IN_SCOPE = """WITH "{secret}" AS (SELECT 1) SELECT * FROM (WITH y AS (SELECT 1) SELECT * FROM '{secret}') q"""

READ = [
    "SELECT * FROM read_text('{secret}')",
    "SELECT * FROM read_blob('{secret}')",
    "SELECT * FROM read_csv('{secret}')",
    "SELECT * FROM read_csv_auto('{secret}')",
    "SELECT * FROM read_csv('{secret}', header=false)",
    "SELECT * FROM read_json('{json}')",
    "SELECT * FROM read_json_auto('{json}')",
    "SELECT * FROM read_json_objects('{json}')",
    "SELECT * FROM read_ndjson('{json}')",
    "SELECT * FROM read_ndjson_objects('{json}')",
    "SELECT * FROM read_parquet('{parquet}')",
    "SELECT * FROM parquet_scan('{parquet}')",
    "SELECT * FROM parquet_metadata('{parquet}')",
    "SELECT * FROM parquet_schema('{parquet}')",
    "SELECT * FROM parquet_kv_metadata('{parquet}')",
    "SELECT * FROM sniff_csv('{secret}')",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM '{secret}'",
    "FROM '{secret}'",
    'SELECT * FROM "{secret}"',
    "SELECT * FROM '{json}'",
    "SELECT * FROM '{parquet}'",
    "SELECT * FROM '{folder}/*.csv'",
    "SELECT * FROM '{sqlite}'",
    "SELECT (SELECT content FROM read_text('{secret}'))",
    "SELECT * FROM dept WHERE name IN (SELECT content FROM read_text('{secret}'))",
    "WITH x AS (SELECT * FROM read_text('{secret}')) SELECT * FROM x",
    "WITH x AS MATERIALIZED (FROM '{secret}') SELECT * FROM x",
    "SELECT * FROM dept UNION ALL SELECT 1, content FROM read_text('{secret}')",
    "SELECT * FROM dept, LATERAL (SELECT content FROM read_text('{secret}'))",
    "WITH RECURSIVE r AS (SELECT content FROM read_text('{secret}') UNION ALL SELECT content FROM r WHERE false) FROM r",
    "SELECT * FROM query('SELECT * FROM read_text(''{secret}'')')",
    "SELECT * FROM query_table('{secret}')",
    "SELECT * FROM query_table(['{secret}'])",
    "SELECT * FROM sqlite_scan('{sqlite}', 't')",
    "SELECT * FROM sqlite_query('{sqlite}', 'SELECT * FROM t')",
    "SELECT * FROM sqlite_attach('{sqlite}')",
    "SELECT * FROM postgres_scan('host=127.0.0.1', 'public', 't')",
    "SELECT * FROM mysql_query('db', 'SELECT 1')",
    "SELECT * FROM read_xlsx('{secret}')",
    "SELECT * FROM st_read('{secret}')",
    "SELECT * FROM delta_scan('{folder}')",
    "SELECT * FROM iceberg_scan('{folder}')",
    "SELECT * FROM read_text('http://127.0.0.1:9/{marker}')",
    "SELECT * FROM 'http://127.0.0.1:9/x.csv'",
    "SELECT * FROM read_duckdb('{own}')",
    "SELECT getenv('WINNOW_TEST_SECRET')",
    "SELECT getvariable('secret')",
    "SELECT current_setting('secret_directory')",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM which_secret('{secret}', 'http')",
    "SELECT * FROM pragma_storage_info('{secret}')",
    "SELECT * FROM secrets_of_the_test",
    "SELECT * FROM secret_frame",
    "SELECT json_execute_serialized_sql(json_serialize_sql('SELECT * FROM read_text(''{secret}'')'))",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT * FROM read_text(''{secret}'')'))",
    "PRAGMA json_execute_serialized_sql(json_serialize_sql('SELECT * FROM read_text(''{secret}'')'))",
    IN_SCOPE,
    "SELECT * FROM (WITH \"{secret}\" AS (SELECT 1) SELECT 1) a, '{secret}' b",
    'WITH a AS (SELECT * FROM "{secret}"), "{secret}" AS (SELECT 1) SELECT * FROM a',
    "SELECT * FROM (VALUES (1)) v, read_text('{secret}')",
    "SELECT content FROM dept POSITIONAL JOIN read_text('{secret}')",
    "SELECT * FROM dept SEMI JOIN read_text('{secret}') ON true",
    "SELECT list(content) FROM read_text('{secret}')",
    "SELECT [c FOR c IN (SELECT list(content) FROM read_text('{secret}'))]",
    "DESCRIBE SELECT * FROM read_csv('{secret}')",
    "SUMMARIZE SELECT * FROM read_text('{secret}')",
    "SUMMARIZE '{secret}'",
    "DESCRIBE '{secret}'",
    "EXPLAIN ANALYZE SELECT * FROM read_text('{secret}')",
    "PIVOT (SELECT * FROM read_text('{secret}')) ON filename USING any_value(content)",
    "SELECT * FROM (DESCRIBE '{secret}')",
    "SELECT * FROM dept WHERE EXISTS (FROM read_text('{secret}') WHERE content LIKE 'm4%') AND error('{marker}')",
    "SELECT * FROM dept ORDER BY (SELECT content FROM read_text('{secret}'))",
    "SELECT * FROM dept LIMIT (SELECT length(content) FROM read_text('{secret}'))",
    "SELECT max(content) OVER () FROM read_text('{secret}')",
    "SELECT * FROM dept QUALIFY (SELECT content FROM read_text('{secret}')) IS NOT NULL",
    "/* SELECT */ SELECT/**/ * FROM/**/read_text('{secret}')",
    "SELECT * FROM \"read_text\"('{secret}')",
    "SELECT * FROM main.read_text('{secret}')",
    "SELECT * FROM system.main.read_text('{secret}')",
    "SELECT * FROM READ_TEXT ('{secret}')",
    "SELECT '{secret}'.read_text()",
    "SELECT * FROM arrow_scan(1, 2, 3)",
    "SELECT * FROM pandas_scan(140000000)",
    "SELECT * FROM python_map_function()",
    "SELECT * FROM test_all_types() UNION ALL SELECT * FROM read_text('{secret}')",
]

WRITE = [
    "COPY dept TO '{new}'",
    "COPY (SELECT 1) TO '{new}' (FORMAT csv)",
    "COPY (SELECT 1) TO '{new}' (FORMAT parquet)",
    "COPY (SELECT 1) TO '{new}' (FORMAT json)",
    "COPY (SELECT 1) TO '{victim}' (FORMAT csv, USE_TMP_FILE false)",
    "COPY (SELECT 1) TO '{own}' (FORMAT csv, USE_TMP_FILE false)",
    "COPY dept TO '{folder}' (FORMAT csv, PARTITION_BY (dept_id))",
    "WITH x AS (COPY (SELECT 1) TO '{victim}' (FORMAT csv, USE_TMP_FILE false)) SELECT * FROM x",
    "WITH x AS (COPY (SELECT 1) TO '{new}' (FORMAT csv, RETURN_FILES true)) SELECT * FROM x",
    "SELECT * FROM (WITH x AS (COPY (SELECT 1) TO '{new}') SELECT * FROM x)",
    "SELECT * FROM query('WITH x AS (COPY (SELECT 1) TO ''{victim}'' (USE_TMP_FILE false)) SELECT * FROM x')",
    "FROM json_execute_serialized_sql(json_serialize_sql('WITH x AS (COPY (SELECT 1) TO ''{victim}'' (USE_TMP_FILE false)) SELECT * FROM x'))",
    "COPY dept FROM '{secret}'",
    "COPY FROM DATABASE memory TO f0",
    "EXPORT DATABASE '{folder}/out'",
    "IMPORT DATABASE '{folder}'",
    "ATTACH '{new}' AS n",
    "ATTACH '{new}' AS n; CREATE TABLE n.t AS SELECT 1",
    "ATTACH '{own}' AS n",
    "ATTACH '{sqlite}' AS n (TYPE sqlite)",
    "ATTACH DATABASE '{new}' AS n (READ_WRITE)",
    "ATTACH ':memory:' AS m",
    "DETACH f0",
    "USE f0",
    "CREATE TABLE t AS SELECT 1",
    "CREATE TABLE f0.t AS SELECT 1",
    "CREATE TEMP TABLE dept AS SELECT 99 AS dept_id, 'poison' AS name",
    "CREATE OR REPLACE VIEW dept AS SELECT 99 AS dept_id, 'poison' AS name",
    "CREATE OR REPLACE TEMP VIEW dept AS SELECT 99 AS dept_id, 'poison' AS name",
    "CREATE MACRO count(x) AS 99",
    "CREATE OR REPLACE TEMP MACRO lower(x) AS 'poison'",
    "CREATE MACRO range(x) AS TABLE SELECT 99",
    "CREATE TYPE mood AS ENUM ('x')",
    "CREATE SEQUENCE s",
    "CREATE SCHEMA s",
    "CREATE INDEX i ON dept (name)",
    "CREATE SECRET s (TYPE s3, KEY_ID 'x', SECRET 'y')",
    "CREATE PERSISTENT SECRET s (TYPE http, BEARER_TOKEN 'x')",
    "INSERT INTO dept VALUES (9, 'poison')",
    "INSERT INTO f0.main.data VALUES (9, 'poison')",
    "UPDATE dept SET name = 'poison'",
    "UPDATE f0.main.data SET name = 'poison'",
    "DELETE FROM f0.main.data",
    "DELETE FROM dept",
    "TRUNCATE f0.main.data",
    "MERGE INTO f0.main.data d USING (SELECT 1 AS dept_id) s ON d.dept_id = s.dept_id WHEN MATCHED THEN DELETE",
    "WITH x AS (INSERT INTO f0.main.data VALUES (9, 'poison') RETURNING *) SELECT * FROM x",
    "WITH x AS (DELETE FROM f0.main.data RETURNING *) SELECT * FROM x",
    "WITH x AS (UPDATE f0.main.data SET name = 'poison' RETURNING *) SELECT * FROM x",
    "DROP VIEW dept",
    "DROP VIEW IF EXISTS main.dept",
    "DROP TABLE f0.main.data",
    "DROP SCHEMA main CASCADE",
    "ALTER VIEW dept RENAME TO gone",
    "ALTER TABLE f0.main.data RENAME TO gone",
    "COMMENT ON VIEW dept IS 'poison'",
    "CHECKPOINT",
    "FORCE CHECKPOINT f0",
    "SELECT * FROM force_checkpoint('f0')",
    "VACUUM",
    "ANALYZE",
    "LOAD sqlite",
    "LOAD '{secret}'",
    "INSTALL httpfs",
    "FORCE INSTALL sqlite FROM '{folder}'",
    "UPDATE EXTENSIONS",
    "SET VARIABLE secret = (SELECT content FROM read_text('{secret}'))",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET allowed_paths = ['{secret}']",
    "SET allowed_directories = ['{folder}']",
    "SET temp_directory = '{folder}/tmp'",
    "SET home_directory = '{folder}'",
    "SET extension_directory = '{folder}'",
    "SET threads = 8",
    "SET memory_limit = '64GB'",
    "SET TimeZone = 'Asia/Tokyo'",
    "SET default_null_order = 'nulls_first'",
    "SET default_order = 'DESC'",
    "SET search_path = 'f0'",
    "SET schema = 'f0.main'",
    "SET log_query_path = '{new}'",
    "SET profiling_output = '{new}'",
    "PRAGMA enable_profiling",
    "PRAGMA profiling_output = '{new}'",
    "PRAGMA enable_logging",
    "CALL enable_logging('QueryLog', storage = 'file', storage_path = '{folder}')",
    "PRAGMA memory_limit = '64GB'",
    "PRAGMA database_list",
    "RESET memory_limit",
    "CALL pragma_version()",
    "CALL write_log('{marker}')",
    "SELECT write_log('x', log_type := 'y')",
    "SELECT setseed(0.5)",
    "BEGIN; DROP VIEW dept; COMMIT",
    "COMMIT; DROP VIEW dept",
    "SELECT 1; DROP VIEW dept",
    "SELECT 1; COPY (SELECT 1) TO '{new}'",
    "SELECT 1;\n-- x\n; DELETE FROM f0.main.data",
    "/* x */ COPY (SELECT 1) TO '{new}'",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{new}'",
    "EXPLAIN ANALYZE DELETE FROM f0.main.data",
    "PREPARE p AS COPY (SELECT 1) TO '{new}'",
    "EXECUTE p",
    "SELECT 1 INTO OUTFILE '{new}'",
    "SELECT * INTO poison FROM dept",
    "SELECT nextval('s')",
    "SELECT * FROM dept FOR UPDATE",
    "SELECT * FROM dept FOR SHARE",
    "FROM enable_profiling()",
    "FROM truncate_duckdb_logs()",
    "FROM register_external_resource('x', '{secret}')",
    "FROM add_grammar_extension('x')",
    "DO $$ BEGIN EXECUTE 'x'; END $$",
    "SHOW SECRETS",
]
ATTACKS = READ + WRITE


class Field:
    """A folder with things that must not be read or changed, and a cache of loaded tables."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "data"
        write_root(self.folder)
        self.cache = folder / "cache"
        self.paths = {
            "secret": self.folder / "secret.txt",
            "json": self.folder / "secret.json",
            "parquet": self.folder / "secret.parquet",
            "sqlite": self.folder / "secret.db",
            "victim": self.folder / "dept.csv",
            "new": self.folder / "new.csv",
        }
        self.paths["secret"].write_text(MARKER)
        self.paths["json"].write_text(f'{{"a": "{MARKER}"}}\n')
        duckdb.execute(f"COPY (SELECT '{MARKER}' AS a) TO '{self.paths['parquet']}'")
        with sqlite3.connect(self.paths["sqlite"]) as con:
            con.execute("CREATE TABLE t (a)")
            con.execute("INSERT INTO t VALUES (?)", [MARKER])
        self.database = database(self.folder, self.cache, seconds=3)
        self.baseline = self.database.query("SELECT * FROM dept").rows
        self.database.query("SELECT * FROM employees")
        self.own = sorted(self.cache.glob("*.duckdb"))
        self.files = self._files()
        self.whole = folder
        self.before = self.state(folder)

    def state(self, folder: Path) -> dict[str, bytes | str]:
        return {str(p): p.read_bytes() if p.is_file() else "dir" for p in folder.rglob("*")}

    def sql(self, attack: str) -> str:
        words = {name: str(path) for name, path in self.paths.items()}
        words |= {"folder": str(self.folder), "own": str(self.own[0]), "marker": MARKER}
        for name, value in words.items():
            attack = attack.replace("{" + name + "}", value)
        return attack

    def _files(self) -> list[tuple[Path, str, list[str]]]:
        tables = {
            self.database.query(f"SELECT count(*) FROM {n}").rows: n for n in ("dept", "employees")
        }
        found = []
        for path in self.own:
            with duckdb.connect(str(path), read_only=True) as con:
                count = con.execute("SELECT count(*) FROM data").fetchall()
                found.append((path, tables[tuple(count)], []))
        return found

    def judge(self, answer: object, again: object) -> None:
        """The verdict: the effects."""
        assert MARKER not in str(answer), "the marker leaked"
        assert self.state(self.whole) == self.before, "a file changed"
        assert again == self.baseline, "a later answer was poisoned"


@pytest.fixture(scope="module")
def field(tmp_path_factory, module_environment):
    made = Field(tmp_path_factory.mktemp("attack"))
    yield made
    made.database.close()


@pytest.fixture(scope="module")
def module_environment():
    os.environ["WINNOW_TEST_SECRET"] = MARKER
    yield
    del os.environ["WINNOW_TEST_SECRET"]


@pytest.fixture(scope="module")
def child_only(field):
    """A child that gets statements without the gate; replaced when an attack ends it."""
    allowed = grammar.functions()
    holder = []

    def ask(sql):
        if not holder or not holder[0].alive:
            holder[:] = [
                Worker(field.files, Limits(seconds=3), (list(allowed.scalar), list(allowed.table)))
            ]
        names, types = holder[0].describe(sql)
        return names, holder[0].run(sql, types, 50, 3)[0]

    yield ask
    holder[0].close()


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_happens_through_the_sandbox(field, attack):
    secret_frame = [MARKER]  # noqa: F841 - found by name where the engine looks at Python's frames
    try:
        answer = field.database.query(field.sql(attack))
    except SqlError as error:
        answer = error
    field.judge(answer, field.database.query("SELECT * FROM dept").rows)


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_happens_in_the_child_without_the_gate(field, child_only, attack):
    try:
        answer = child_only(field.sql(attack))
    except SqlError as error:
        answer = _without_echo(str(error))
    _, rows = child_only("SELECT * FROM main.dept")
    field.judge(answer, tuple(map(tuple, rows)))


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_happens_on_the_locked_engine_alone(field, attack):
    con = child.connect([(str(path), name, hidden) for path, name, hidden in field.files], 256)
    with con:
        timer = threading.Timer(3, con.interrupt)
        timer.start()
        try:
            answer = con.execute(field.sql(attack)).fetchmany(50)
        except (duckdb.Error, ValueError, RuntimeError) as error:
            answer = _without_echo(str(error))
        finally:
            timer.cancel()
    field.judge(answer, field.database.query("SELECT * FROM dept").rows)


def _without_echo(message):
    """The engine repeats statements in its messages; what was put in is no leak."""
    return message.replace(f"/{MARKER}", "").replace(f"'{MARKER}'", "")


@pytest.mark.parametrize(
    "attack",
    [
        "SELECT * FROM read_text('{secret}')",
        "SELECT * FROM '{parquet}'",
        "WITH x AS (COPY (SELECT 1) TO '{victim}' (FORMAT csv, USE_TMP_FILE false)) SELECT * FROM x",
        "COPY (SELECT 1) TO '{new}' (FORMAT csv)",
        "CREATE OR REPLACE TEMP VIEW dept AS SELECT 99 AS dept_id, 'poison' AS name",
        "SELECT * FROM query('SELECT * FROM read_text(''{secret}'')')",
    ],
)
def test_the_judge_sees_the_same_attacks_succeed_on_an_open_engine(tmp_path, attack):
    field = Field(tmp_path)
    field.database.close()
    with duckdb.connect() as con:
        con.execute(f"CREATE VIEW dept AS SELECT * FROM read_csv('{field.paths['victim']}')")
        answer = con.execute(field.sql(attack)).fetchall()
        again = con.execute("SELECT * FROM dept").fetchall()
    with pytest.raises(AssertionError):
        field.judge(answer, tuple(again))


def test_there_are_more_than_a_hundred_attacks():
    assert len(set(ATTACKS)) == len(ATTACKS) > 100
