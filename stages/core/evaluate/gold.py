"""The gold: which tables and columns each question needs, and whose names these are.

A gold file holds JSON lines with ``id``, ``gold_tables`` and, where known,
``gold_columns`` (pairs of table and column); other keys are ignored. Names in it are
the spellings of the database; `core.names` finds the tables and columns they mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from stages.core.errors import DataError, os_words
from stages.core.names import Names
from stages.core.text import visible

RULE = (
    "gold tables and columns are those named in the gold file (columns of join conditions "
    "included; COUNT(*) and SELECT * name none); a question counts as strict when every one "
    "of them was kept"
)

Pair = tuple[str, str]


@dataclass(frozen=True)
class Gold:
    """What one question needs, in the spellings of the gold file.

    Attributes:
        id: Matched on ``task_id``.
        set: Name of the gold file, without its suffix.
        db: The database that the question is asked of; empty where the file does not say.
        tables: Names of tables.
        columns: Pairs of table and column; None where the file lists no columns.
    """

    id: str
    set: str
    db: str
    tables: tuple[str, ...]
    columns: tuple[Pair, ...] | None


class GoldBook:
    """All the gold of one run; one id may stand in several files (the same questions
    asked of another catalog), and the catalog then tells which one is meant."""

    def __init__(self, golds: Sequence[Gold]) -> None:
        self.by_id: dict[str, list[Gold]] = {}
        for gold in golds:
            self.by_id.setdefault(gold.id, []).append(gold)

    def find(self, task_id: str, names: Names) -> Gold | None:
        """The gold for a task: the first one whose tables all stand in the catalog, else
        the first one, else None."""
        found = self.by_id.get(task_id, [])
        fits = (gold for gold in found if all(names.table(name) for name in gold.tables))
        return next(fits, found[0] if found else None)


def read_gold(path: Path) -> Iterator[Gold]:
    """The gold of one file.

    Raises:
        DataError: The file cannot be read, a line is not JSON or has not the keys, or says
            of a question something else than a line before it.
    """
    known: dict[tuple[str, str], tuple[Gold, int]] = {}
    try:
        with path.open("rb") as stream:
            for number, raw in enumerate(stream, 1):
                if raw.strip():
                    gold = _gold(raw, path.stem, f"{path}:{number}")
                    first, line = known.setdefault((gold.id, gold.db), (gold, number))
                    if gold != first:
                        what = f"id {visible(gold.id, 80)} has other gold in line {line}"
                        raise DataError(what, place=f"{path}:{number}")
                    yield gold
    except OSError as error:
        raise DataError(os_words(error), place=str(path)) from None


def _gold(raw: bytes, name: str, place: str) -> Gold:
    try:
        record = orjson.loads(raw.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise DataError(f"not JSON: {error}", place=place, hint="one JSON object a line") from None
    name_of = record.get("id") if isinstance(record, dict) else None
    if not isinstance(name_of, str | int) or isinstance(name_of, bool):
        raise DataError(
            "no gold: id is missing", place=place, hint="see `winnow evaluate linking --help`"
        )
    tables, columns = record.get("gold_tables"), record.get("gold_columns")
    if not isinstance(tables, list) or not _strings(tables):
        raise DataError("gold_tables is not a list of names", place=place)
    if columns is not None and not _pairs(columns):
        raise DataError("gold_columns is not a list of pairs of table and column", place=place)
    pairs = None if columns is None else tuple(dict.fromkeys((t, c) for t, c in columns))
    return Gold(
        str(name_of), name, str(record.get("db_id") or ""), tuple(dict.fromkeys(tables)), pairs
    )


def _strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _pairs(value: object) -> bool:
    return isinstance(value, list) and all(_strings(item) and len(item) == 2 for item in value)
