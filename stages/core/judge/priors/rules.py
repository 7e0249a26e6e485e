"""The user's rules: read strictly, and given the last word.

When the question says this, add or forbid those tables and columns. The format is
``schemas/inputs/rules.json``, in YAML. What one rule adds no other rule forbids, since unsure
keeps; adding a column adds its table.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from stages.core.errors import DataError
from stages.core.jsontypes import JsonMapping, JsonObject, JsonValue
from stages.core.judge.judgment import EvidencePiece, Judgment, RankedColumn, RankedTable
from stages.core.lines import schema
from stages.core.names import Names, fold
from stages.core.text import composed
from stages.core.yamltext import (
    EMPTY_TEXT,
    NO_TEXT,
    QUOTE_IT,
    Place,
    YamlText,
    compose,
    near,
    read_yaml,
)

if TYPE_CHECKING:
    from jsonschema import ValidationError

Pair = tuple[str, str]


@dataclass(frozen=True)
class RuleChanges:
    """What the rules say to one question, in the names that the rule file uses.

    Attributes:
        add_tables: Tables to keep.
        forbid_tables: Tables not to keep.
        add_columns: Pairs of table and column to keep.
        forbid_columns: Pairs of table and column not to keep.
        notes: By table, the words that matched and the rule's name.
        unknown: One message for each name that is not in the catalog; see `within`.
    """

    add_tables: tuple[str, ...] = ()
    forbid_tables: tuple[str, ...] = ()
    add_columns: tuple[Pair, ...] = ()
    forbid_columns: tuple[Pair, ...] = ()
    notes: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()

    def within(self, names: Names) -> RuleChanges:
        """The same in the catalog's own names; a note for each name that it does not have.

        Args:
            names: The names of the catalog.
        """
        unknown: dict[str, str] = {}

        def tables(given: Sequence[str]) -> tuple[str, ...]:
            found = {name: names.table(name) for name in given}
            unknown.update(
                {name: f"rules: no table {name}" for name, own in found.items() if own is None}
            )
            return _once([own for own in found.values() if own is not None])

        def columns(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
            found = []
            for table, name in pairs:
                own = names.table(table)
                column = names.column(own, name) if own else None
                if own and column:
                    found.append((own, column))
                else:
                    unknown[f"{table}.{name}"] = f"rules: no column {table}.{name}"
            return _once(found)

        notes = {names.table(name) or name: note for name, note in self.notes.items()}
        added, wanted = tables(self.add_tables), columns(self.add_columns)
        # Rules may name one table by different spellings, so what is added is known only here.
        return RuleChanges(
            added,
            tuple(name for name in tables(self.forbid_tables) if name not in added),
            wanted,
            tuple(pair for pair in columns(self.forbid_columns) if pair not in wanted),
            notes,
            tuple(unknown.values()),
        )

    @property
    def add(self) -> tuple[str, ...]:
        """What to keep: names of tables, and columns as ``table.column``."""
        return self.add_tables + tuple(f"{table}.{column}" for table, column in self.add_columns)

    @property
    def forbid(self) -> tuple[str, ...]:
        """What not to keep: names of tables, and columns as ``table.column``."""
        return self.forbid_tables + tuple(
            f"{table}.{column}" for table, column in self.forbid_columns
        )


@dataclass(frozen=True)
class Effect:
    """The ``add`` or the ``forbid`` of one rule."""

    tables: tuple[str, ...] = ()
    columns: tuple[Pair, ...] = ()


@dataclass(frozen=True)
class Rule:
    """One rule; it matches where any of its words or its pattern is found."""

    name: str
    patterns: tuple[re.Pattern[str], ...]
    add: Effect = Effect()
    forbid: Effect = Effect()

    def match(self, question: str) -> str:
        """The words of the question that matched; empty where none did."""
        for pattern in self.patterns:
            found = pattern.search(question)
            if found:
                return found.group(0) or self.name or "the question"
        return ""


@dataclass(frozen=True)
class RuleFile:
    """All rules of a file; ``digest`` is the hash of its bytes."""

    rules: tuple[Rule, ...]
    digest: str = ""

    def __str__(self) -> str:
        return self.digest

    def apply(self, question: str) -> RuleChanges:
        """What the rules that match the question say together."""
        asked = composed(question)
        matched = [(rule, words) for rule in self.rules if (words := rule.match(asked))]
        add = [
            name
            for rule, _ in matched
            for name in (*rule.add.tables, *(t for t, _ in rule.add.columns))
        ]
        columns = [pair for rule, _ in matched for pair in rule.add.columns]
        forbid = [name for rule, _ in matched for name in rule.forbid.tables if not _in(name, add)]
        gone = [
            pair
            for rule, _ in matched
            for pair in rule.forbid.columns
            if not _pair_in(pair, columns)
        ]
        notes = {
            name: (words, rule.name) for rule, words in reversed(matched) for name in _touched(rule)
        }
        return RuleChanges(_once(add), _once(forbid), _once(columns), _once(gone), notes)


def _touched(rule: Rule) -> list[str]:
    effects = (rule.add, rule.forbid)
    return [name for e in effects for name in (*e.tables, *(table for table, _ in e.columns))]


Part = TypeVar("Part")


def _once(items: Iterable[Part]) -> tuple[Part, ...]:
    return tuple(dict.fromkeys(items))


def _in(name: str, names: Sequence[str]) -> bool:
    return fold(name) in map(fold, names)


def _pair_in(pair: Pair, pairs: Sequence[Pair]) -> bool:
    return _in("\0".join(pair), ["\0".join(other) for other in pairs])


@dataclass(frozen=True)
class BoundRules:
    """Rules over one catalog: what they say comes in the catalog's own names."""

    rules: RuleFile
    names: Names

    def apply(self, question: str) -> RuleChanges:
        """What the rules that match the question say, of tables and columns that exist."""
        return self.rules.apply(question).within(self.names)


# Reading the user's rules, strictly: what is wrong is an error with its line and column.

_HAN = re.compile(r"[\u3400-\u9fff]")


def read_rules(path: Path) -> RuleFile:
    """The rules of a file.

    Raises:
        DataError: The file cannot be read, or breaks the format; the place is
            ``file:line:column``.
    """
    return parse_rules(read_yaml(path, "rules are short"), str(path))


def parse_rules(raw: bytes, place: str) -> RuleFile:
    """The rules in the bytes of a file; see `read_rules`."""
    node = compose(raw, place)
    digest = "sha256:" + hashlib.sha256(raw).hexdigest()
    if node is None:
        return RuleFile((), digest)
    return RuleFile(tuple(_RuleText(node, place).rules()), digest)


class _RuleText(YamlText):
    """The document, checked against ``schemas/inputs/rules.json``."""

    def rules(self) -> Iterator[Rule]:
        """The rules.

        Raises:
            DataError: The first place at which the file breaks the format.
        """
        from jsonschema import Draft202012Validator

        found = list(Draft202012Validator(schema.input_file("rules")).iter_errors(self.value))
        if found:
            raise self._complaint(min(found, key=self._precedence))
        for at, rule in enumerate(self.value):
            effects = (_effect(rule.get(key, {})) for key in ("add", "forbid"))
            yield Rule(rule.get("name", ""), self._when(rule["when"], (at, "when")), *effects)

    def _precedence(self, error: ValidationError) -> tuple[bool, int, bool, int]:
        """The first rule, in it a key that nobody knows, which may be a missing one, and the
        first place; a file that is no list comes before all."""
        path = tuple(error.absolute_path)
        known = error.validator != "additionalProperties"
        return bool(path), int(path[0]) if path else 0, known, self.nodes[path].start_mark.index

    def _complaint(self, error: ValidationError) -> DataError:
        path = tuple(error.absolute_path)
        node, kind, shape = (
            self.nodes[path],
            str(error.validator),
            cast("JsonObject", error.schema),
        )
        if kind == "additionalProperties":
            known = shape["properties"]
            odd = min(key for key in cast("JsonObject", error.instance) if key not in known)
            return self.fail(self.keys[(*path, odd)], f"unknown key {odd!r}", near(odd, known))
        if kind == "type":
            what = {"array": "stands no list", "object": "stand no keys"}.get(shape["type"])
            if what is None:
                return self.fail(node, NO_TEXT, QUOTE_IT)
            return self.fail(node, f"here {what}; wanted {_wanted(error)}")
        if kind == "minProperties" and path[-1] == "when":
            return self.fail(node, "'when' says nothing", "give it words or regex")
        what, hint = {
            "required": ("a rule without 'when'", "say for which questions it holds"),
            "anyOf": ("a rule without 'add' and 'forbid'", "say what it does"),
            "minItems": (f"an empty list; wanted {_wanted(error)}", ""),
            "minProperties": ("names no tables and no columns", ""),
            "pattern": (EMPTY_TEXT, ""),
        }[kind]
        return self.fail(node, what, hint)

    def _when(self, said: JsonMapping, path: Place) -> tuple[re.Pattern[str], ...]:
        patterns = [_word(word) for word in said.get("words", ())]
        if "regex" in said:
            try:
                patterns.append(re.compile(composed(said["regex"]), re.IGNORECASE))
            except re.error as error:
                node = self.nodes[(*path, "regex")]
                raise self.fail(node, f"no regular expression: {error}") from None
        return tuple(patterns)


def _wanted(error: ValidationError) -> str:
    """What should stand there, by the title that leads to the place: one beside a reference says
    more than that of what is referred to."""
    document = schema.input_file("rules")
    node: JsonValue = document
    title = ""
    for part in error.absolute_schema_path:
        title = ""
        while "$ref" in node:
            title = title or (node.get("title", "") if node is not document else "")
            node = document["$defs"][node["$ref"].rpartition("/")[2]]
        title = title or node.get("title", title)
        node = node[part]
    return str(title)


def _effect(said: JsonMapping) -> Effect:
    columns = [(table, name) for table, names in said.get("columns", {}).items() for name in names]
    return Effect(tuple(said.get("tables", ())), tuple(columns))


def _word(word: str) -> re.Pattern[str]:
    """A pattern for a word or phrase; Chinese is written without spaces between words."""
    body = r"\s+".join(re.escape(part) for part in composed(word).split())
    return re.compile(body if _HAN.search(word) else rf"(?<!\w){body}(?!\w)", re.IGNORECASE)


# The last word of the user's rules over a judgment: tables, columns, and what says so.

SURE = 0.99
"""Score of what a rule adds, at least."""

Item = TypeVar("Item", RankedTable, RankedColumn)


def apply_rules(found: Judgment, applied: RuleChanges) -> Judgment:
    """The judgment in which what the rules add is kept, and what they forbid is not.

    A column that had no evidence of its own is listed where a rule adds it. Applying the
    same rules twice changes nothing.

    Args:
        found: The judgment of the catalog.
        applied: What the rules say to the question, in the catalog's names.
    """
    if not applied.add and not applied.forbid:
        return found
    tables = [_table(table, applied) for table in found.tables]
    scores = {table.name: table.score for table in tables}
    columns = [_column(column, applied) for column in found.columns]
    listed = {(column.table, column.name) for column in columns}
    for pair in applied.add_columns:
        if pair not in listed:
            bare = RankedColumn(*pair, scores.get(pair[0], SURE), True)
            columns.append(_column(bare, applied))
    kept = {table.name for table in tables if table.keep}
    return replace(
        found,
        tables=tuple(sorted(tables, key=lambda t: (not t.keep, -t.score))),
        columns=tuple(sorted(columns, key=lambda c: -c.score)),
        edges=tuple(edge for edge in found.edges if {edge.left, edge.right} <= kept),
    )


def _table(table: RankedTable, applied: RuleChanges) -> RankedTable:
    return _moved(table, table.name, table.name, applied.add_tables, applied.forbid_tables, applied)


def _column(column: RankedColumn, applied: RuleChanges) -> RankedColumn:
    pair = (column.table, column.name)
    if column.table in applied.forbid_tables:
        return replace(column, keep=False)
    return _moved(column, pair, column.table, applied.add_columns, applied.forbid_columns, applied)


def _moved(
    item: Item,
    key: object,
    table: str,
    add: Collection[object],
    forbid: Collection[object],
    applied: RuleChanges,
) -> Item:
    """The item with the rule's evidence in front, where a rule names it."""
    if key not in add and key not in forbid:
        return item
    words, name = applied.notes.get(table, ("", ""))
    wanted = key in add
    piece = EvidencePiece("rule", (words,) if words else (), 1.0 if wanted else -1.0, name)
    evidence = (piece, *(old for old in item.evidence if old.type != "rule"))
    score = max(item.score, SURE) if wanted else 0.0
    return replace(item, keep=wanted, score=score, evidence=evidence)
