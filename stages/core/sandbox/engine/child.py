"""The process that runs statements: locked, limited, and free to be killed.

The second layer's own look at a statement, through the engine's own parser.

DuckDB gives the tree of a SELECT as JSON (``json_serialize_sql``) without running it. Here
every node of that tree has to be of a known kind: the kinds that write, copy or show are not
among them, and neither are functions off the list, nor tables other than the views of
``main`` and the names of WITH in whose scope they stand.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from stages.core.jsontypes import JsonMapping

if TYPE_CHECKING:
    import duckdb

QUERY_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
SOURCES = {
    "BASE_TABLE",
    "SUBQUERY",
    "JOIN",
    "TABLE_FUNCTION",
    "EXPRESSION_LIST",
    "EMPTY",
    "PIVOT",
    "COLUMN_DATA",
}
EXPRESSIONS = {
    "COLUMN_REF",
    "CONSTANT",
    "FUNCTION",
    "CAST",
    "COMPARISON",
    "CONJUNCTION",
    "OPERATOR",
    "CASE",
    "BETWEEN",
    "SUBQUERY",
    "STAR",
    "WINDOW",
    "LAMBDA",
    "LAMBDA_REF",
    "COLLATE",
    "POSITIONAL_REFERENCE",
    "TYPE",
    "DEFAULT",
}
FROZEN = {"age": 2}
"""Functions that ask the clock when they get fewer arguments than this."""


class Refusal(Exception):
    """The tree holds something that is not on a list; the message says what."""


@dataclass(frozen=True)
class AllowList:
    """The lists: views by name, functions in expressions, functions in FROM."""

    views: frozenset[str]
    scalar: frozenset[str]
    table: frozenset[str]

    @classmethod
    def of(cls, views: Iterable[str], scalar: Iterable[str], table: Iterable[str]) -> AllowList:
        """The lists from any collections of names."""
        return cls(frozenset(views), frozenset(scalar), frozenset(table))


def verify(serialized: str, allowed: AllowList) -> None:
    """Let pass one SELECT in which everything is on a list.

    Args:
        serialized: What ``json_serialize_sql`` said.
        allowed: The lists.

    Raises:
        Refusal: What was found that is not.
    """
    tree = json.loads(serialized)
    if tree.get("error"):
        if tree.get("error_type") == "not implemented":
            raise Refusal("not a query")
        raise Refusal(f"syntax error: {tree.get('error_message', '')}")
    statements = tree.get("statements", [])
    if len(statements) != 1:
        raise Refusal(f"{len(statements)} statements")
    if statements[0].get("named_param_map"):
        raise Refusal("a parameter")
    _Walk(allowed).node(statements[0]["node"], frozenset())


class _Walk:
    """Goes down the tree; ``ctes`` are the names of WITH that count where it stands."""

    def __init__(self, allowed: AllowList) -> None:
        self.allowed = allowed

    def node(self, node: JsonMapping, ctes: frozenset[str]) -> None:
        """A query node: its WITH in order, then all else."""
        if node.get("type") not in QUERY_NODES:
            raise Refusal(f"{_words(node.get('type'))} inside a query")
        if node.get("sample") is not None:
            raise Refusal("a sample")
        if node["type"] == "RECURSIVE_CTE_NODE":
            ctes |= {str(node["cte_name"]).casefold()}
        for entry in node.get("cte_map", {}).get("map", []):
            value = entry["value"]
            query = value.get("query_node") or value["query"]["node"]
            self.node(query, ctes)
            ctes |= {str(entry["key"]).casefold()}
        self.parts({key: value for key, value in node.items() if key != "cte_map"}, ctes)

    def parts(self, node: Mapping[str, object], ctes: frozenset[str]) -> None:
        """Everything below a node, whatever it is called."""
        for value in node.values():
            self.value(value, ctes)

    def value(self, value: object, ctes: frozenset[str]) -> None:
        """A JSON value: a query, a source, an expression, or what holds them."""
        if isinstance(value, list):
            for item in value:
                self.value(item, ctes)
        elif isinstance(value, dict):
            kind = str(value.get("type", ""))
            if kind.endswith("_NODE"):
                self.node(value, ctes)
            elif "class" in value:
                self.expression(value, ctes)
            elif "sample" in value and "query_location" in value:
                self.source(value, kind, ctes)
            else:
                self.parts(value, ctes)

    def expression(self, node: Mapping[str, object], ctes: frozenset[str]) -> None:
        """An expression; its function, if it is one, has to be on the list."""
        if node["class"] not in EXPRESSIONS:
            raise Refusal(_words(node["class"]))
        if "function_name" in node:
            self.function(node, self.allowed.scalar)
        self.parts(node, ctes)

    def function(self, node: JsonMapping, allowed: Collection[str]) -> None:
        """A call: by name, without a catalog or schema of its own."""
        name = str(node["function_name"]).casefold()
        arguments = node.get("arguments", node.get("children", []))
        if node.get("is_operator") and not name.isidentifier():
            return
        if name not in allowed or len(arguments) < FROZEN.get(name, 0):
            raise Refusal(f"function {name}")

    def source(self, node: JsonMapping, kind: str, ctes: frozenset[str]) -> None:
        """What stands in FROM."""
        if kind not in SOURCES:
            raise Refusal(f"{_words(kind)} in FROM")
        if node.get("sample") is not None or node.get("at_clause") is not None:
            raise Refusal("a sample or a version of a table")
        if kind == "BASE_TABLE":
            self.table(node, ctes)
        rest = dict(node)
        if kind == "TABLE_FUNCTION":
            call = rest.pop("function")
            self.function(call, self.allowed.table)
            self.parts(call, ctes)
        self.parts(rest, ctes)

    def table(self, node: Mapping[str, object], ctes: frozenset[str]) -> None:
        """A name in FROM: a view of ``main``, or a name of WITH without a schema."""
        name, schema = str(node["table_name"]).casefold(), node.get("schema_name", "")
        known = name in ctes if not schema else schema == "main" and name in self.allowed.views
        if not known or node.get("catalog_name"):
            raise Refusal(f"table {node['table_name']}")


def _words(kind: object) -> str:
    return str(kind).removesuffix("_NODE").replace("_", " ").lower()


# The process that runs statements: locked, limited, and free to be killed.

ROOM = 96 * 1024**2
"""Bytes of address space beside the engine's own limit: the parser, one batch of rows."""

NATIVE = frozenset(
    {
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "HUGEINT",
        "UTINYINT",
        "USMALLINT",
        "UINTEGER",
        "UBIGINT",
        "UHUGEINT",
        "FLOAT",
        "DOUBLE",
    }
)
"""Types whose cells go out as JSON values; all others go out as text, as DuckDB casts them."""

BATCH = 256
LOCKS = (
    ("autoload_known_extensions", "false"),
    ("autoinstall_known_extensions", "false"),
    ("python_enable_replacements", "false"),
    ("temp_directory", "''"),
    ("allow_community_extensions", "false"),
    ("allow_persistent_secrets", "false"),
    ("TimeZone", "'UTC'"),
    ("enable_external_access", "false"),
    ("lock_configuration", "true"),
)


def main() -> None:
    """Serve until the input ends."""
    answers = _take_stdout()
    threading.stack_size(512 * 1024)
    server: Server | None = None
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if request["op"] == "open":
            server = Server(request, answers)
        else:
            assert server is not None
            server.serve(request)


def _take_stdout() -> IO[bytes]:
    """The stream for answers; whatever else prints, prints to nowhere."""
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    return answers


class Server:
    """One locked connection."""

    def __init__(self, request: JsonMapping, answers: IO[bytes]) -> None:
        self.answers = answers
        self.allowed = AllowList.of(
            (name.casefold() for _, name, _ in request["files"]),
            request["scalar"],
            request["table"],
        )
        self.con = connect(request["files"], int(request["memory"]))
        _give_up_the_system(int(request["memory"]) * 1024**2 + ROOM)
        self._say({"ready": True})

    def serve(self, request: JsonMapping) -> None:
        """Do one request; an error is an answer too, and lack of memory ends the process."""
        seconds = float(request["seconds"])
        _allow_cpu(seconds)
        done, late = threading.Event(), threading.Event()
        watch = threading.Thread(target=self._watch, args=(seconds, done, late), daemon=True)
        watch.start()
        try:
            self._do(request)
        except Exception as error:
            self._fail(error, late.is_set())
        finally:
            done.set()
            watch.join()

    def _do(self, request: Mapping[str, object]) -> None:
        sql = str(request["sql"])
        serialized = self.con.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchone()
        verify(str(serialized[0]) if serialized else "{}", self.allowed)
        work: Callable[..., None] = self._describe if request["op"] == "describe" else self._run
        work(sql, request)

    def _describe(self, sql: str, request: Mapping[str, object]) -> None:
        found = self.con.execute(f"DESCRIBE {sql}").fetchall()
        self._say({"columns": [row[0] for row in found], "types": [row[1] for row in found]})

    def _run(self, sql: str, request: JsonMapping) -> None:
        cursor = self.con.execute(cut(sql, request["types"], int(request["cell"])))
        left, budget = int(request["rows"]), int(request["bytes"])
        while rows := cursor.fetchmany(min(BATCH, left + 1)):
            batch = json.dumps({"rows": rows[:left]}, ensure_ascii=False).encode()
            budget -= len(batch)
            if budget < 0:
                break
            self._write(batch)
            left -= len(rows)
            if left < 0:
                break
        self._say({"more": left < 0 or budget < 0, "bytes": budget < 0})

    def _watch(self, seconds: float, done: threading.Event, late: threading.Event) -> None:
        """Interrupt the engine from the time limit on, until it has noticed."""
        if done.wait(seconds):
            return
        late.set()
        while not done.wait(0.05):
            self.con.interrupt()

    def _fail(self, error: Exception, late: bool) -> None:
        kind = "time" if late else _kind(error)
        self._say({"error": kind, "message": str(error)[:4000], "class": type(error).__name__})
        if kind in ("time", "memory", "broken", "unavailable"):
            os._exit(3)

    def _say(self, answer: Mapping[str, object]) -> None:
        self._write(json.dumps(answer, ensure_ascii=False).encode())

    def _write(self, line: bytes) -> None:
        self.answers.write(line + b"\n")
        self.answers.flush()


ALL_HIDDEN = "(values hidden)"
"""The one column of a table all of whose values are hidden."""


def connect(
    files: Sequence[tuple[str, str, Sequence[str]]], memory: int
) -> duckdb.DuckDBPyConnection:
    """A connection that sees the files as views of ``main`` and nothing else, locked.

    Args:
        files: DuckDB file, which holds its table as ``data``, the view's name, and the columns
            that the view leaves out.
        memory: The engine's limit in MiB.
    """
    import duckdb

    con = duckdb.connect(":memory:", config={"threads": 1, "memory_limit": f"{memory}MiB"})
    for number, (path, name, hidden) in enumerate(files):
        con.execute(f"ATTACH {_literal(path)} AS f{number} (READ_ONLY)")
        held = con.execute(f"SELECT * FROM f{number}.main.data LIMIT 0").description
        con.execute(
            f"CREATE VIEW main.{_identifier(name)} AS "
            f"SELECT {select_columns(len(held), hidden)} FROM f{number}.main.data"
        )
    con.execute("SELECT json_serialize_sql('SELECT 1'), strftime(now(), '%Y')").fetchall()
    for setting, value in LOCKS:
        con.execute(f"SET {setting} = {value}")
    return con


def select_columns(number: int, hidden: Sequence[str]) -> str:
    """What a view of a table selects, so that hidden columns are not there at all.

    A view has a column at least: of a table that is hidden whole, its rows can be counted.

    Args:
        number: Columns of the table.
        hidden: Those whose values are hidden.
    """
    if not hidden:
        return "*"
    if len(hidden) >= number:
        return f"NULL AS {_identifier(ALL_HIDDEN)}"
    return f"* EXCLUDE ({', '.join(map(_identifier, hidden))})"


def cut(sql: str, types: list[str], cell: int) -> str:
    """The statement with its cells cast to text where they have to be, and cut.

    Args:
        sql: A query; its order has to be settled in itself.
        types: The types of its columns.
        cell: Most characters of a cell; the number of those left out follows as ``…(+N)``.
    """
    names = ", ".join(f"c{n}" for n in range(len(types)))
    cells = ", ".join(_cell(f"c{n}", type_, cell) for n, type_ in enumerate(types))
    return f"SELECT {cells} FROM ({sql}) AS answer({names})"


def _cell(name: str, type_: str, cell: int) -> str:
    if type_ in NATIVE:
        return name
    text = f"CAST({name} AS VARCHAR)"
    return (
        f"CASE WHEN length({text}) > {cell} THEN left({text}, {cell}) || '…(+' || "
        f"(length({text}) - {cell}) || ')' ELSE {text} END"
    )


def _kind(error: Exception) -> str:
    """What the parent has to make of an error of the engine."""
    import duckdb

    if isinstance(error, Refusal):
        return "refused"
    if isinstance(error, MemoryError | duckdb.OutOfMemoryException) or "bad_alloc" in str(error):
        return "memory"
    if isinstance(error, duckdb.FatalException | duckdb.InternalException):
        return "broken"
    if isinstance(error, duckdb.IOException):
        return "unavailable"
    return "failed"


def _give_up_the_system(room: int) -> None:
    """Set the limits of the process; `room` is what may be added to its address space."""
    used = _address_space()
    if used:
        resource.setrlimit(resource.RLIMIT_AS, (used + room, used + room))
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE):
        resource.setrlimit(limit, (0, 0))


def _address_space() -> int:
    """Bytes of address space in use; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _allow_cpu(seconds: float) -> None:
    """End the process when this request has used its time, should the parent be gone."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(usage.ru_utime + usage.ru_stime + seconds) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
