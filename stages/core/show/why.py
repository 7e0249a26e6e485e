"""``--why TABLE``: every vote, reason and piece of evidence about one table, and where it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, cast

from stages.core.errors import DataError
from stages.core.lines.lines import TaskInput
from stages.core.lines.readers import Level
from stages.core.lines.sections import section
from stages.core.names import fold
from stages.core.records import Table
from stages.core.show.book import LineFile, sections_of
from stages.core.show.overview import rows
from stages.core.text import visible

if TYPE_CHECKING:
    from stages.core.records import Collapse, Evidence, Link, Vote

WORDS: Mapping[Level, str] = {
    "full": "shown in full",
    "names": "shown by column names",
    "line": "folded to a line",
}
LONGEST = 400


def why(book: LineFile, wanted: str, task_id: str | None) -> Iterator[str]:
    """Lines of text, task by task.

    Args:
        book: The lines.
        wanted: A canonical name or an alias, in any case.
        task_id: One task, or None for all.

    Raises:
        DataError: No catalog has such a table.
    """
    met = False
    for asked in book.tasks:
        table = find(asked.tables, wanted)
        if table is None or task_id not in (None, asked.task["task_id"]):
            continue
        met = True
        yield f"{visible(table['name'])} for task {visible(asked.task['task_id'])}"
        yield from (f"  {visible(line, LONGEST)}" for line in _about(asked, table))
        yield ""
    if not met:
        raise DataError(
            f"no task has a table {wanted}", place=book.name, hint="`winnow show FILE` lists them"
        )


def find(tables: list[Table], wanted: str) -> Table | None:
    """The table by canonical name, else by alias, without regard to case."""
    key = fold(wanted)
    by_name = next((t for t in tables if fold(t["name"]) == key), None)
    return by_name or next((t for t in tables if key in map(fold, t.get("aliases", []))), None)


def _about(asked: TaskInput, table: Table) -> Iterator[str]:
    name = table["name"]
    yield f"table: {table['describe_key']}, {rows(table)} rows, {len(table['columns'])} columns"
    if table.get("always_keep"):
        yield f"always keep: {_mark(table)}"
    for key, names in asked.task.get("pin", {}).items():
        if isinstance(names, list) and name in names:
            yield f"pin: {key}"
    for section_name, made in sections_of(asked).items():
        yield from (f"{section_name}: {line}" for line in SAID.get(section_name, _said)(made, name))
        if section_name == "collapse":
            yield from (f"collapse: {line}" for line in _collapse(cast("Collapse", made), table))
    yield f"in the end: {ended(asked, name)}"


def _mark(table: Table) -> str:
    """Where the mark comes from; scan sets it for documents, and an edit of the line for others."""
    from stages.core.catalog.documents import STEM

    stem = PurePath(table["describe_key"].partition("::")[0]).name.partition(".")[0]
    if stem == STEM:
        return "it comes from a prepared document"
    return "its line says so, by hand or because its file is marked as prepared"


def ended(asked: TaskInput, name: str) -> str:
    """Where the table stands after `collapse`."""
    made = section(asked.task, "collapse")
    if made is None or "shown" not in made:
        return "not collapsed yet; run `winnow collapse`"
    shown = made["shown"]
    return next(
        (words for key, words in WORDS.items() if name in shown.get(key, ())),
        "shown in full (unjudged)",
    )


def _link(section: Link, name: str) -> Iterator[str]:
    for rank, table in enumerate(section.get("tables", ()), 1):
        if table["name"] == name:
            place = f"rank {rank} of {section.get('n_tables', '?')}"
            kept = "kept" if table["keep"] else "not kept"
            yield f"{place}, score {table['score']:.3f}, {kept}"
            yield from map(_evidence, table["evidence"])
    for column in section.get("columns", ()):
        if column["table"] == name:
            proof = "; ".join(map(_evidence, column["evidence"]))
            yield f"column {column['name']}, score {column['score']:.3f}: {proof or 'no evidence'}"
    for edge in section.get("edges", ()):
        if name in (edge["left"], edge["right"]):
            left, right = ", ".join(edge["left_columns"]), ", ".join(edge["right_columns"])
            yield f"joins {edge['left']} ({left}) = {edge['right']} ({right}), {edge['how']}"
    if not any(table["name"] == name for table in section.get("tables", ())):
        yield "no evidence"


def _evidence(item: Evidence) -> str:
    note = f" ({item['note']})" if item.get("note") else ""
    return f"{item['type']} {item['weight']:+.2f}: {', '.join(item['words'])}{note}"


def _vote(section: Vote, name: str) -> Iterator[str]:
    if name in section.get("always_keep", ()):
        yield "not voted on: always keep"
    if name in section.get("per_table", {}):
        verdict = "relevant" if section["per_table"][name] else "not relevant"
        yield f"{verdict}, {section.get('vote_tally', {}).get(name, '?')} votes"
    if name in section.get("reasons", {}):
        yield f"reason: {section['reasons'][name]}"


def _collapse(section: Collapse, table: Table) -> Iterator[str]:
    """The level, and what decided on it: a pin, the mark on the table, or the sections."""
    name = table["name"]
    for key, words in WORDS.items():
        if name not in section.get("shown", {}).get(key, ()):
            continue
        if name in section.get("pinned", ()):
            yield f"{words}, by a pin"
        elif key == "full" and table.get("always_keep"):
            yield f"{words}, as it is always kept"
        else:
            yield f"{words}, by {' and '.join(section.get('by', ())) or 'pins'}"


def _said(section: Mapping[str, object], name: str) -> Iterator[str]:
    """What any other section holds under the table's name, as JSON."""
    import orjson

    for key, value in section.items():
        if isinstance(value, Mapping) and name in value:
            yield f"{key}: {orjson.dumps(value[name]).decode()}"
        elif isinstance(value, list):
            for item in value:
                if item == name:
                    yield key
                elif isinstance(item, Mapping) and name in (item.get("table"), item.get("name")):
                    yield f"{key}: {orjson.dumps(item).decode()}"


SAID: Mapping[str, Callable[..., Iterator[str]]] = {
    "link": _link,
    "vote": _vote,
    "collapse": lambda *_: iter(()),
    "describe": lambda *_: iter(()),
    "prompt": lambda *_: iter(()),
}
