"""The user's rules: read strictly, and given the last word.

The user's rules: when the question says this, add or forbid those tables and columns.

The format is described below. What one rule adds no other
rule forbids, since unsure keeps; adding a column adds its table.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from stages.core.errors import DataError, os_words
from stages.core.judge.judgment import EvidencePiece, Judgment, RankedColumn, RankedTable
from stages.core.names import Names, fold
from stages.core.text import composed

if TYPE_CHECKING:
    import yaml

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

LARGEST = 1 << 20
"""Bytes of a rule file that are read at most; rules are written by hand."""

_HAN = re.compile(r"[\u3400-\u9fff]")
_TEXT = "tag:yaml.org,2002:str"


def read_rules(path: Path) -> RuleFile:
    """The rules of a file.

    Raises:
        DataError: The file cannot be read, or breaks the format; the place is
            ``file:line:column``.
    """
    try:
        with path.open("rb") as stream:
            raw = stream.read(LARGEST + 1)
    except OSError as error:
        raise DataError(os_words(error), place=str(path)) from None
    if len(raw) > LARGEST:
        raise DataError(f"larger than {LARGEST} bytes", place=str(path), hint="rules are short")
    return parse_rules(raw, str(path))


def parse_rules(raw: bytes, place: str) -> RuleFile:
    """The rules in the bytes of a file; see `read_rules`."""
    import yaml

    try:
        text = raw.decode("utf-8-sig")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8-sig")
        raise DataError("not UTF-8", place=f"{place}:{_end(before)}") from None
    except RecursionError:
        raise DataError("nested too deeply", place=place) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        at = f"{place}:{mark.line + 1}:{mark.column + 1}" if mark else place
        raise DataError(f"not YAML: {error.problem or error.context}", place=at) from None
    except yaml.reader.ReaderError as error:
        what = f"not YAML: character U+{error.character:04X} may not stand here"
        raise DataError(what, place=f"{place}:{_end(text[: error.position])}") from None
    digest = "sha256:" + hashlib.sha256(raw).hexdigest()
    if node is None:
        return RuleFile((), digest)
    reader = _Reader(place)
    return RuleFile(
        tuple(reader.rule(item) for item in reader.items(node, "a list of rules")), digest
    )


def _end(before: str) -> str:
    """Line and column of what follows this text."""
    return f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


class _Reader:
    """Reads composed YAML nodes strictly; every complaint names line and column."""

    def __init__(self, place: str) -> None:
        self.place = place

    def fail(self, node: yaml.Node, what: str, hint: str = "") -> DataError:
        mark = node.start_mark
        return DataError(what, place=f"{self.place}:{mark.line + 1}:{mark.column + 1}", hint=hint)

    def items(self, node: yaml.Node, what: str) -> list[yaml.Node]:
        import yaml

        if not isinstance(node, yaml.SequenceNode):
            raise self.fail(node, f"here stands no list; wanted {what}")
        return list(node.value)

    def mapping(
        self, node: yaml.Node, what: str, known: Sequence[str] | None
    ) -> dict[str, yaml.Node]:
        import yaml

        if not isinstance(node, yaml.MappingNode):
            raise self.fail(node, f"here stand no keys; wanted {what}")
        found: dict[str, yaml.Node] = {}
        for key_node, value in node.value:
            key = self.text(key_node)
            if known is not None and key not in known:
                raise self.fail(key_node, f"unknown key {key!r}", f"known here: {', '.join(known)}")
            if key in found:
                raise self.fail(key_node, f"key {key!r} stands twice")
            found[key] = value
        return found

    def text(self, node: yaml.Node) -> str:
        import yaml

        if not isinstance(node, yaml.ScalarNode) or node.tag != _TEXT:
            raise self.fail(node, "here stands no text", "put a number or a yes/no in quotes")
        value = str(node.value).strip()
        if not value:
            raise self.fail(node, "here stands an empty text")
        return value

    def texts(self, node: yaml.Node, what: str) -> tuple[str, ...]:
        found = tuple(self.text(item) for item in self.items(node, what))
        if not found:
            raise self.fail(node, f"an empty list; wanted {what}")
        return found

    def rule(self, node: yaml.Node) -> Rule:
        keys = self.mapping(node, "a rule", ("name", "when", "add", "forbid"))
        if "when" not in keys:
            raise self.fail(node, "a rule without 'when'", "say for which questions it holds")
        if "add" not in keys and "forbid" not in keys:
            raise self.fail(node, "a rule without 'add' and 'forbid'", "say what it does")
        name = self.text(keys["name"]) if "name" in keys else ""
        add, forbid = (
            self.effect(keys[key]) if key in keys else Effect() for key in ("add", "forbid")
        )
        return Rule(name, self.when(keys["when"]), add, forbid)

    def when(self, node: yaml.Node) -> tuple[re.Pattern[str], ...]:
        keys = self.mapping(node, "words or regex", ("words", "regex"))
        patterns = []
        if "words" in keys:
            patterns += [_word(word) for word in self.texts(keys["words"], "a list of words")]
        if "regex" in keys:
            try:
                patterns.append(re.compile(composed(self.text(keys["regex"])), re.IGNORECASE))
            except re.error as error:
                raise self.fail(keys["regex"], f"no regular expression: {error}") from None
        if not patterns:
            raise self.fail(node, "'when' says nothing", "give it words or regex")
        return tuple(patterns)

    def effect(self, node: yaml.Node) -> Effect:
        keys = self.mapping(node, "tables or columns", ("tables", "columns"))
        if not keys:
            raise self.fail(node, "names no tables and no columns")
        tables = self.texts(keys["tables"], "a list of tables") if "tables" in keys else ()
        columns: list[Pair] = []
        if "columns" in keys:
            by_table = self.mapping(keys["columns"], "a list of columns for each table", None)
            for table, names in by_table.items():
                columns += [(table, name) for name in self.texts(names, "a list of columns")]
        return Effect(tables, tuple(columns))


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
