"""The second layer's own look at a statement, through the engine's own parser.

DuckDB gives the tree of a SELECT as JSON (``json_serialize_sql``) without running it. Here
every node of that tree has to be of a known kind: the kinds that write, copy or show are not
among them, and neither are functions off the list, nor tables other than the views of
``main`` and the names of WITH in whose scope they stand.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

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


class Refused(Exception):
    """The tree holds something that is not on a list; the message says what."""


@dataclass(frozen=True)
class Allowed:
    """The lists: views by name, functions in expressions, functions in FROM."""

    views: frozenset[str]
    scalar: frozenset[str]
    table: frozenset[str]

    @classmethod
    def of(cls, views: Iterable[str], scalar: Iterable[str], table: Iterable[str]) -> Allowed:
        """The lists from any collections of names."""
        return cls(frozenset(views), frozenset(scalar), frozenset(table))


def verify(serialized: str, allowed: Allowed) -> None:
    """Let pass one SELECT in which everything is on a list.

    Args:
        serialized: What ``json_serialize_sql`` said.
        allowed: The lists.

    Raises:
        Refused: What was found that is not.
    """
    tree = json.loads(serialized)
    if tree.get("error"):
        if tree.get("error_type") == "not implemented":
            raise Refused("not a query")
        raise Refused(f"syntax error: {tree.get('error_message', '')}")
    statements = tree.get("statements", [])
    if len(statements) != 1:
        raise Refused(f"{len(statements)} statements")
    if statements[0].get("named_param_map"):
        raise Refused("a parameter")
    _Walk(allowed).node(statements[0]["node"], frozenset())


class _Walk:
    """Goes down the tree; ``ctes`` are the names of WITH that count where it stands."""

    def __init__(self, allowed: Allowed) -> None:
        self.allowed = allowed

    def node(self, node: Mapping[str, Any], ctes: frozenset[str]) -> None:
        """A query node: its WITH in order, then all else."""
        if node.get("type") not in QUERY_NODES:
            raise Refused(f"{_words(node.get('type'))} inside a query")
        if node.get("sample") is not None:
            raise Refused("a sample")
        if node["type"] == "RECURSIVE_CTE_NODE":
            ctes |= {str(node["cte_name"]).casefold()}
        for entry in node.get("cte_map", {}).get("map", []):
            value = entry["value"]
            query = value.get("query_node") or value["query"]["node"]
            self.node(query, ctes)
            ctes |= {str(entry["key"]).casefold()}
        self.parts({key: value for key, value in node.items() if key != "cte_map"}, ctes)

    def parts(self, node: Mapping[str, Any], ctes: frozenset[str]) -> None:
        """Everything below a node, whatever it is called."""
        for value in node.values():
            self.value(value, ctes)

    def value(self, value: Any, ctes: frozenset[str]) -> None:
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

    def expression(self, node: Mapping[str, Any], ctes: frozenset[str]) -> None:
        """An expression; its function, if it is one, has to be on the list."""
        if node["class"] not in EXPRESSIONS:
            raise Refused(_words(node["class"]))
        if "function_name" in node:
            self.function(node, self.allowed.scalar)
        self.parts(node, ctes)

    def function(self, node: Mapping[str, Any], allowed: Collection[str]) -> None:
        """A call: by name, without a catalog or schema of its own."""
        name = str(node["function_name"]).casefold()
        arguments = node.get("arguments", node.get("children", []))
        if node.get("is_operator") and not name.isidentifier():
            return
        if name not in allowed or len(arguments) < FROZEN.get(name, 0):
            raise Refused(f"function {name}")

    def source(self, node: Mapping[str, Any], kind: str, ctes: frozenset[str]) -> None:
        """What stands in FROM."""
        if kind not in SOURCES:
            raise Refused(f"{_words(kind)} in FROM")
        if node.get("sample") is not None or node.get("at_clause") is not None:
            raise Refused("a sample or a version of a table")
        if kind == "BASE_TABLE":
            self.table(node, ctes)
        rest = dict(node)
        if kind == "TABLE_FUNCTION":
            call = rest.pop("function")
            self.function(call, self.allowed.table)
            self.parts(call, ctes)
        self.parts(rest, ctes)

    def table(self, node: Mapping[str, Any], ctes: frozenset[str]) -> None:
        """A name in FROM: a view of ``main``, or a name of WITH without a schema."""
        name, schema = str(node["table_name"]).casefold(), node.get("schema_name", "")
        known = name in ctes if not schema else schema == "main" and name in self.allowed.views
        if not known or node.get("catalog_name"):
            raise Refused(f"table {node['table_name']}")


def _words(kind: Any) -> str:
    return str(kind).removesuffix("_NODE").replace("_", " ").lower()
