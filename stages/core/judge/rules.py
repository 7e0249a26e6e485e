"""The user's rules: when the question says this, add or forbid those tables and columns.

`core.judge.rule_file` reads them and describes the format. What one rule adds no other
rule forbids, since unsure keeps; adding a column adds its table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stages.core.lookup import Names, fold
from stages.core.text import composed

Pair = tuple[str, str]


@dataclass(frozen=True)
class Applied:
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

    def within(self, names: Names) -> Applied:
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
        return Applied(
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
class Rules:
    """All rules of a file; ``digest`` is the hash of its bytes."""

    rules: tuple[Rule, ...]
    digest: str = ""

    def __str__(self) -> str:
        return self.digest

    def apply(self, question: str) -> Applied:
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
        return Applied(_once(add), _once(forbid), _once(columns), _once(gone), notes)


def _touched(rule: Rule) -> list[str]:
    effects = (rule.add, rule.forbid)
    return [name for e in effects for name in (*e.tables, *(table for table, _ in e.columns))]


def _once(items: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(items))


def _in(name: str, names: Sequence[str]) -> bool:
    return fold(name) in map(fold, names)


def _pair_in(pair: Pair, pairs: Sequence[Pair]) -> bool:
    return _in("\0".join(pair), ["\0".join(other) for other in pairs])


@dataclass(frozen=True)
class BoundRules:
    """Rules over one catalog: what they say comes in the catalog's own names."""

    rules: Rules
    names: Names

    def apply(self, question: str) -> Applied:
        """What the rules that match the question say, of tables and columns that exist."""
        return self.rules.apply(question).within(self.names)
