"""The index of one catalog: terms of names, descriptions and values to tables and columns.

Built from the table lines in one pass, kept on disk under the hash of their bytes, and in
memory for the last few catalogs asked of.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from stages.core.judge.index.copies import copies_of
from stages.core.judge.index.keys import KeyGraph, key_graph, last_name
from stages.core.judge.index.names import root, spelled
from stages.core.judge.index.parts import Parts, family, parts_of
from stages.core.judge.index.postings import Distances, Floats, Ints, Postings, postings, turned
from stages.core.judge.index.semantic_types import kind_bits, kinds_of, terms_of
from stages.core.judge.index.texts import Texts, costs_of, texts_of
from stages.core.judge.language import tokenize
from stages.core.judge.language.dates import MONTHS
from stages.core.judge.match.values import is_plain_number
from stages.core.text import composed, parted

if TYPE_CHECKING:
    from stages.core.records import Column, Table

#: What a term can stand in: the database part of a table's name, table and column names, their
#: descriptions, values seen, kinds of column; and those that belong to columns.
FIELDS = ("dname", "tname", "tdesc", "cname", "cdesc", "value", "kind")
COLUMN_FIELDS = ("cname", "cdesc", "value", "kind")
#: Values of one column that are read word by word, and letters of a value. Whole values are
#: looked up however many a column has: `--values` brings a thousand, and read by words those
#: would meet every question.
MOST_VALUES, MOST_LETTERS = 12, 60
#: Words of one description.
MOST_WORDS = 60
#: Sets of tables of which something is remembered: of 250 tables each takes a quarter of a
#: megabyte.
MOST_REMEMBERED = 32
Made = TypeVar("Made")


@dataclass(frozen=True)
class Index:
    """One catalog, ready to be asked.

    Args:
        canonical: Table names as the lines have them, in file order.
        names: The same as their sources spell them, with database and schema (`spelling`).
        columns: Column names, all tables one after another.
        column_table: int32 [columns], the table of each column.
        column_start: int32 [tables + 1], the first column of each table.
        vocabulary: Term to its number.
        by_table: Field to postings, term → tables that hold it in that field.
        by_column: Field to postings, term → columns (`COLUMN_FIELDS`).
        table_terms: Table → terms of its name; ``column_terms``: column → terms of its name.
        values: Whole value, lower case → columns in which it was seen.
        spelled: Name without separators → columns (see `words.compact`).
        lengths: int32 [tables], terms of all fields, for BM25.
        tokens: float32 [tables], what each takes in a prompt, about (`costs_of`).
        texts: Words of all texts with their BM25 weights, by kind (`texts.TEXTS`).
        keys: Relations between the tables.
        group: int32 [tables], the database (prefix of the name, or connected part) of each.
        near: Numbers of the neighbours of each table.
        distances: Numbers of joins between tables.
        family: int32 [tables], same for tables whose names differ in numbers only.
        kin: int32 [tables], same for tables of one cryptic root.
        copy_of: int32 [tables], the original of a copy (`copies`), else -1.
        kinds: float32 [tables, kinds], see `kinds`; ``column_kinds`` uint8 [columns], as bits.
        is_key: bool [columns], whether keys run over a column.
        memory: What was worked out for sets of tables (`remember`); copies of the index share it.
    """

    canonical: tuple[str, ...]
    names: tuple[str, ...]
    columns: tuple[str, ...]
    column_table: Ints
    column_start: Ints
    vocabulary: dict[str, int]
    by_table: dict[str, Postings]
    by_column: dict[str, Postings]
    table_terms: Postings
    column_terms: Postings
    values: dict[str, tuple[int, ...]]
    spelled: dict[str, tuple[int, ...]]
    lengths: Ints
    tokens: Floats
    texts: dict[str, Texts]
    keys: KeyGraph
    group: Ints
    near: tuple[Ints, ...]
    distances: Distances
    family: Ints
    kin: Ints
    copy_of: Ints
    kinds: Floats
    column_kinds: Ints
    is_key: NDArray[np.bool_]
    # Any: each name has values of its own type, which `remember` gives back
    memory: dict[tuple[str, bytes], Any] = field(default_factory=dict, repr=False, compare=False)

    def remember(self, name: str, tables: Ints, make: Callable[[], Made]) -> Made:
        """What ``make`` makes for a set of tables, made once while few sets are asked about."""
        key = (name, tables.tobytes())
        if key not in self.memory:
            if len(self.memory) >= MOST_REMEMBERED:
                self.memory.clear()
            self.memory[key] = make()
        made: Made = self.memory[key]
        return made

    @cached_property
    def spellings(self) -> tuple[list[str], Ints]:
        """All whole values, and how many letters each has."""
        held = list(self.values)
        return held, np.fromiter(map(len, held), dtype=np.int32, count=len(held))

    @cached_property
    def last_names(self) -> tuple[tuple[str, str], ...]:
        """The tables' own names, composed, and the same in lower case."""
        own = [composed(last_name(name)) for name in self.names]
        return tuple((name, name.lower()) for name in own)

    @cached_property
    def parts(self) -> Parts:
        """Tables with numbers or times in their names."""
        return parts_of(self.names, self.family)

    @cached_property
    def like(self) -> Ints:
        """Same for tables of one family with the same columns: parts of one thing; int32 [T]."""
        bounds = itertools.pairwise(self.column_start.tolist())
        held = (frozenset(map(str.lower, self.columns[at:to])) for at, to in bounds)
        return _numbered(zip(self.family.tolist(), held, strict=True))

    @cached_property
    def counts(self) -> Floats:
        """How much each table counts beside all: those that are alike count once; float32 [T]."""
        made: Floats = (1.0 / np.bincount(self.like))[self.like].astype(np.float32)
        return made

    @cached_property
    def pointed(self) -> tuple[tuple[Ints, ...], tuple[Ints, ...]]:
        """Numbers of the tables that point to each table, and of those that it points to."""
        number = {name: at for at, name in enumerate(self.names)}
        pairs = {(number[edge.left], number[edge.right]) for edge in self.keys.edges}
        into: list[list[int]] = [[] for _ in self.names]
        out: list[list[int]] = [[] for _ in self.names]
        for left, right in sorted(pairs):
            into[right].append(left)
            out[left].append(right)
        return _arrays(into), _arrays(out)

    @cached_property
    def timely(self) -> NDArray[np.bool_]:
        """Whether a term is a number, or a month's name; bool [V]."""
        return np.array([term.isdigit() or term in MONTHS for term in self.vocabulary], dtype=bool)

    def named(self) -> list[int]:
        """Numbers of the terms that stand in names of tables and columns."""
        held = self.by_table["tname"].sizes() + self.by_table["cname"].sizes()
        return [int(term) for term in np.flatnonzero(held)]


@dataclass
class _Draft:
    """Pairs of term and document as they come."""

    vocabulary: dict[str, int] = field(default_factory=dict)
    term: dict[str, list[int]] = field(default_factory=lambda: {f: [] for f in FIELDS})
    doc: dict[str, list[int]] = field(default_factory=lambda: {f: [] for f in FIELDS})
    known: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def add(self, where: str, doc: int, found: Sequence[str]) -> list[int]:
        """Note that a document holds these terms in a field; their numbers."""
        number = self.vocabulary
        ids = [number.setdefault(term, len(number)) for term in found]
        self.note(where, doc, ids)
        return ids

    def note(self, where: str, doc: int, ids: list[int]) -> None:
        """The same for terms by number."""
        if ids:
            self.term[where].extend(ids)
            self.doc[where].extend([doc] * len(ids))

    def once(self, where: str, doc: int, text: str, parts: Callable[[str], list[str]]) -> None:
        """The same for a text that is likely to come again."""
        ids = self.known.get((where, text))
        if ids is None:
            self.known[where, text] = self.add(where, doc, parts(text))
        else:
            self.note(where, doc, ids)


def build(tables: Sequence[Table]) -> Index:
    """Index the table lines; every step takes time in proportion to their bytes."""
    canonical = tuple(table["name"] for table in tables)
    tables = spelled(tables)
    draft = _Draft()
    columns: list[str] = []
    owner: list[int] = []
    values: dict[str, list[int]] = {}
    for at, table in enumerate(tables):
        draft.add("dname", at, tokenize.terms(table["name"][: -len(last_name(table["name"]))]))
        draft.add("tname", at, table_terms(table))
        draft.add("tdesc", at, text_terms(table.get("description"), table.get("comment")))
        for column in table["columns"]:
            _add_column(draft, table["name"], column, len(columns), values)
            columns.append(column["name"])
            owner.append(at)
    owners = np.array(owner, dtype=np.int32)
    return _index(canonical, tables, draft, columns, owners, values)


def _add_column(
    draft: _Draft, table: str, column: Column, at: int, values: dict[str, list[int]]
) -> None:
    """One column's name, kinds, description and values."""
    draft.add("kind", at, terms_of(last_name(table), column))
    draft.once("cname", at, column["name"], name_terms)
    if "nl_name" in column:
        draft.once("cname", at, column["nl_name"], name_terms)
    nested = " ".join(part["name"] for part in column["fields"]) if "fields" in column else None
    described, comment = column.get("description"), column.get("comment")
    if described or comment or nested:
        draft.add("cdesc", at, text_terms(described, comment, nested))
    for place, value in enumerate(column.get("examples", ())):
        low = composed(parted(value)[0][:MOST_LETTERS]).lower().strip()
        if low and not is_plain_number(low):
            values.setdefault(low, []).append(at)
        if place < MOST_VALUES and low and not low.replace(".", "").replace("-", "").isdigit():
            draft.once("value", at, low, value_terms)


def _index(
    canonical: tuple[str, ...],
    tables: Sequence[Table],
    draft: _Draft,
    columns: list[str],
    owner: Ints,
    values: dict[str, list[int]],
) -> Index:
    """Group what was drafted, and find the keys."""
    n_tables = len(tables)
    by_table, by_column = _lists(draft, owner)
    lengths = sum(
        (np.bincount(lists.doc, minlength=n_tables) for lists in by_table.values()),
        start=np.zeros(n_tables, dtype=np.int64),
    )
    keys, bits = key_graph(tables), kind_bits(tables)
    near = _near([table["name"] for table in tables], keys)
    names = tuple(table["name"] for table in tables)
    start = np.zeros(n_tables + 1, dtype=np.int32)
    np.cumsum(np.bincount(owner, minlength=n_tables), out=start[1:])
    return Index(
        canonical=canonical,
        names=names,
        columns=tuple(columns),
        column_table=owner,
        column_start=start,
        vocabulary=draft.vocabulary,
        by_table=by_table,
        by_column=by_column,
        table_terms=turned(by_table["tname"], n_tables),
        column_terms=turned(by_column["cname"], len(columns)),
        values={value: tuple(dict.fromkeys(found)) for value, found in values.items()},
        spelled=_spelled(columns),
        lengths=lengths.astype(np.int32),
        tokens=costs_of(tables),
        texts=texts_of(tables),
        keys=keys,
        group=_groups(names, keys),
        near=near,
        distances=Distances(near),
        family=_numbered(map(family, names)),
        kin=_numbered(map(root, names)),
        copy_of=copies_of(names, [columns[at:to] for at, to in itertools.pairwise(start)]),
        kinds=kinds_of(bits, owner, n_tables),
        column_kinds=bits,
        is_key=_are_keys(tables, keys),
    )


def _lists(draft: _Draft, owner: Ints) -> tuple[dict[str, Postings], dict[str, Postings]]:
    """Postings of all fields by table, and of columns' fields by column."""
    n_terms = len(draft.vocabulary)
    by_column = {
        name: postings(draft.term[name], draft.doc[name], n_terms) for name in COLUMN_FIELDS
    }
    by_table = {
        name: postings(draft.term[name], draft.doc[name], n_terms)
        for name in ("dname", "tname", "tdesc")
    } | {
        name: postings(draft.term[name], owner[np.array(draft.doc[name], dtype=np.int64)], n_terms)
        for name in by_column
    }
    return by_table, by_column


def _are_keys(tables: Sequence[Table], keys: KeyGraph) -> NDArray[np.bool_]:
    """Whether relations, or the primary key of its table, run over each column."""
    wanted: dict[str, set[str]] = {}
    for table in tables:
        wanted.setdefault(table["name"], set()).update(map(str.lower, table.get("primary_key", ())))
    for edge in keys.edges:
        for name, columns in ((edge.left, edge.left_columns), (edge.right, edge.right_columns)):
            wanted.setdefault(name, set()).update(map(str.lower, columns))
    found = (
        column["name"].lower() in wanted[table["name"]]
        for table in tables
        for column in table["columns"]
    )
    return np.fromiter(found, dtype=np.bool_)


def _spelled(columns: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Names without separators to the columns that have them."""
    places: dict[str, list[int]] = {}
    for at, name in enumerate(columns):
        places.setdefault(name, []).append(at)
    made: dict[str, list[int]] = {}
    for name, found in places.items():
        made.setdefault(tokenize.compact(name), []).extend(found)
    return {name: tuple(sorted(found)) for name, found in made.items()}


def _near(names: Sequence[str], keys: KeyGraph) -> tuple[Ints, ...]:
    """Numbers of the neighbours of each table."""
    number = {name: at for at, name in enumerate(names)}
    return tuple(
        np.array(sorted(number[other] for other in keys.neighbours.get(name, ())), dtype=np.int32)
        for name in names
    )


def _arrays(lists: Sequence[Sequence[int]]) -> tuple[Ints, ...]:
    """Lists of numbers as arrays."""
    return tuple(np.array(found, dtype=np.int32) for found in lists)


def _numbered(keys: Iterable[Hashable]) -> Ints:
    """Equal keys get equal numbers."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int32)


def _groups(names: Sequence[str], keys: KeyGraph) -> Ints:
    """Databases within the catalog: the name's prefix, else the part connected by declared keys."""
    number = {name: at for at, name in enumerate(names)}
    parent = list(range(len(names)))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    first: dict[str, int] = {}
    for at, name in enumerate(names):
        if "." in name or "__" in name:
            prefix = name.rsplit(".", 1)[0] if "." in name else name.split("__", 1)[0]
            parent[root(at)] = root(first.setdefault(prefix, at))
    for edge in keys.edges:
        if edge.how == "declared":
            parent[root(number[edge.left])] = root(number[edge.right])
    numbers: dict[int, int] = {}
    return np.array(
        [numbers.setdefault(root(at), len(numbers)) for at in range(len(names))], dtype=np.int32
    )


# The terms that one table's names, descriptions and values stand under.


def table_terms(table: Table) -> list[str]:
    """Terms of a table's own name, its natural name, and the root of a cryptic one."""
    own = last_name(table["name"])
    short = root(own).lower()
    more = [short] if short != own.lower() else []
    return name_terms(own, table.get("nl_name", "")) + more


def name_terms(*spellings: str) -> list[str]:
    """Terms of all spellings of one name."""
    return [term for spelling in spellings if spelling for term in tokenize.terms(spelling)]


def text_terms(*texts: str | None) -> list[str]:
    """Terms of descriptions, without words that say nothing."""
    found: list[str] = []
    for text in texts:
        if text:
            found.extend(_content(text))
    return found[:MOST_WORDS]


def _content(text: str) -> Iterator[str]:
    """Content terms of a text, each word once."""
    seen: set[str] = set()
    for spelling, _, _ in tokenize.sentence(text, 1000):
        low = spelling.lower()
        if low not in seen and low not in tokenize.STOP and low not in tokenize.STOP_ZH:
            seen.add(low)
            yield tokenize.stem(low)


def value_terms(value: str) -> list[str]:
    """Terms of a short value; long ones are prose and say less than they cost."""
    parts = value.split()
    if len(parts) > 6:
        return []
    return [tokenize.stem(word) for part in parts for word in tokenize.split(part) if len(word) > 1]
