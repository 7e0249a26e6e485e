"""What kinds of thing a table's columns hold, told from names and types: people's names, titles,
dates, places, amounts. The question's form asks for kinds; this says who has them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from stages.core.judge.index.postings import Floats, Ints, counted
from stages.core.judge.language import tokenize

if TYPE_CHECKING:
    from stages.core.records import Column, Table

KINDS = ("person", "name", "date", "place", "amount", "text", "keys")
_PERSON = frozenset(
    (first, second)
    for names, others in (
        ("first last full given sur family middle", "name"),
        ("name", "first last"),
        ("person player customer employee actor author student patient driver staff", "name"),
    )
    for first in names.split()
    for second in others.split()
)
_PERSON_WHOLE = frozenset(
    [
        "firstname",
        "lastname",
        "fullname",
        "fname",
        "lname",
        "surname",
        "forename",
        "givenname",
        "姓名",
        "username",
        "playername",
    ]
)
_SETS = {
    "name": frozenset(["name", "title", "label", "名称", "姓名", "简称"]),
    "date": frozenset(
        [
            "date",
            "time",
            "year",
            "month",
            "day",
            "timestamp",
            "datetime",
            "日期",
            "时间",
            "年",
            "dob",
        ]
    ),
    "place": frozenset(
        [
            "city",
            "country",
            "state",
            "address",
            "province",
            "region",
            "location",
            "zip",
            "county",
            "地址",
            "城市",
            "国家",
        ]
    ),
    "amount": frozenset(
        [
            "amount",
            "price",
            "cost",
            "total",
            "salary",
            "value",
            "quantity",
            "qty",
            "amt",
            "revenue",
            "sale",
            "balance",
            "pay",
            "rate",
            "score",
            "金额",
            "价格",
            "数量",
        ]
    ),
    "keys": frozenset(["id", "key", "code", "fk", "uuid", "guid"]),
}
_STEMS = {kind: frozenset(tokenize.stem(word) for word in found) for kind, found in _SETS.items()}


def kinds_of(bits: Ints, owner: Ints, n_tables: int) -> Floats:
    """Share of each table's columns of each kind (``person`` 0 or 1), float32 [T, kinds].

    Args:
        bits: Kinds of every column, see `kind_bits`; ``owner`` its table.
    """
    counts = [counted(owner[(bits >> at) & 1 > 0], n_tables) for at in range(len(KINDS))]
    made: Floats = np.stack(counts, axis=1)
    made[:, 1:] /= np.maximum(counted(owner, n_tables), 1.0)[:, None]
    made[:, 0] = np.minimum(made[:, 0], 1.0)
    return made


def kind_bits(tables: Sequence[Table]) -> Ints:
    """Kinds of all columns, as bits in the order of `KINDS`; uint8 [columns]."""
    found = (
        _bits(column["name"], column["type"]) for table in tables for column in table["columns"]
    )
    return np.fromiter(found, dtype=np.uint8)


@lru_cache(maxsize=100_000)
def _bits(name: str, type_: str) -> int:
    """The kinds of one column as bits."""
    return sum(1 << KINDS.index(kind) for kind in column_kinds(name, type_))


def column_kinds(name: str, type_: str) -> tuple[str, ...]:
    """The kinds one column is of."""
    parts = tokenize.split(name)
    found = ["person"] if is_person(parts) else []
    if parts:
        last = tokenize.stem(parts[-1])
        found += [kind for kind, stems in _STEMS.items() if last in stems]
    if "char" in type_.lower() or "text" in type_.lower():
        found.append("text")
    return tuple(found)


#: Terms under which columns of a kind stand in the index, for questions that want the kind.
PERSON, NAME, DATE = "<person>", "<name>", "<date>"
_BEARERS = frozenset(
    tokenize.stem(word)
    for word in [
        "person",
        "people",
        "human",
        "individual",
        "member",
        "user",
        "customer",
        "client",
        "employee",
        "staff",
        "worker",
        "player",
        "athlete",
        "coach",
        "manager",
        "author",
        "writer",
        "artist",
        "actor",
        "actress",
        "singer",
        "musician",
        "director",
        "crew",
        "student",
        "teacher",
        "professor",
        "instructor",
        "faculty",
        "alumni",
        "patient",
        "physician",
        "doctor",
        "nurse",
        "driver",
        "owner",
        "passenger",
        "guest",
        "host",
        "candidate",
        "applicant",
        "politician",
        "president",
        "senator",
        "legislator",
        "representative",
        "contact",
        "agent",
        "supplier",
        "researcher",
        "scientist",
        "inventor",
        "editor",
        "reviewer",
        "reader",
        "borrower",
        "voter",
        "soldier",
        "officer",
        "victim",
        "suspect",
        "judge",
        "lawyer",
        "friend",
        "parent",
        "child",
    ]
)


def terms_of(table: str, column: Column) -> tuple[str, ...]:
    """The terms a column stands under by what kind of thing it holds."""
    name, type_ = column["name"], column["type"].lower()
    found = column_kinds(name, type_)
    made = []
    if "person" in found or ("name" in found and _bears(table)):
        made.append(PERSON)
    if "name" in found:
        made.append(NAME)
    if "date" in found or type_.startswith(("date", "timestamp")) or _years(column):
        made.append(DATE)
    return tuple(made)


@lru_cache(maxsize=10_000)
def _bears(table: str) -> bool:
    """Whether a table's name says that its rows are persons."""
    return any(tokenize.stem(part) in _BEARERS for part in tokenize.split(table))


def _years(column: Column) -> bool:
    """Whether all seen values are years."""
    seen = column.get("examples", ())[:3]
    return bool(seen) and all(
        len(v) == 4 and v.isdigit() and v[:2] in ("18", "19", "20") for v in seen
    )


def is_person(parts: Sequence[str]) -> bool:
    """Whether a column's words say that it holds a part of a person's name.

    >>> is_person(("first", "name")), is_person(("city",))
    (True, False)
    """
    if any(part in _PERSON_WHOLE for part in parts) or tuple(parts) in {("first",), ("last",)}:
        return True
    return any(pair in _PERSON for pair in itertools.pairwise(parts))
