"""Task folders and question files: what is asked, and what else the task says.

A task root is the folder that holds ``task.json``, looked for in the given folder and in
its ``input/``; the task's id is the one in ``task.json``, else the given folder's name
(DESIGN 5).
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

import orjson

from stages.core.catalog import video
from stages.core.catalog.discover import inside
from stages.core.catalog.documents import decode, read_text
from stages.core.errors import DataError, LineError, os_words
from stages.core.jsontypes import JsonObject, JsonValue
from stages.core.lines import schema
from stages.core.lines.lines import split
from stages.core.records import Task

TASK_FILE = "task.json"
KNOWLEDGE = "knowledge.md"
KEYS = {
    "id": ("id", "question_id", "instance_id"),
    "question": ("question", "instruction", "utterance"),
    "db_id": ("db_id", "db"),
}
"""Names of a question's keys, ours first, then those of BIRD, Spider and Spider 2."""
COPIED = ("question", "difficulty", "evidence")
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
TEXTS = (".txt", ".text")


@dataclass(frozen=True)
class TaskRoot:
    """A root folder and what its ``task.json`` says.

    Attributes:
        root: Folder that paths are relative to.
        top: Folder that is walked for data: ``context/`` where there is one, else the root.
        name: Name of the catalog: the task's id, else the given folder's name.
        record: What ``task.json`` holds; empty where there is none.
        has_task: Whether there is a ``task.json``.
        warnings: What was wrong with it.
    """

    root: Path
    top: Path
    name: str
    record: dict[str, object] = field(default_factory=dict)
    has_task: bool = False
    warnings: tuple[str, ...] = ()


def locate(folder: Path) -> TaskRoot:
    """Find the task root in a folder that the user named.

    A ``task.json`` that cannot be read is a warning: the data is still there.
    """
    for root in (folder, folder / "input"):
        path = root / TASK_FILE
        if path.is_file() and inside(folder, path):
            record, warnings = _task_record(path)
            name = _text(record.get("task_id")) or _folder_name(folder)
            return TaskRoot(root, _top(root), name, record, True, warnings)
    return TaskRoot(folder, _top(folder), _folder_name(folder))


def _folder_name(folder: Path) -> str:
    """The last part of the real path, so that ``.`` has a name too; ``root`` for ``/``."""
    name = Path(os.path.abspath(folder)).name or "root"
    return name.encode("utf-8", "replace").decode()


def _top(root: Path) -> Path:
    context = root / "context"
    return context if context.is_dir() else root


def _task_record(path: Path) -> tuple[dict[str, object], tuple[str, ...]]:
    try:
        record = orjson.loads(read_text(path))
    except (OSError, ValueError) as error:
        return {}, (f"{TASK_FILE} cannot be read: {str(error).splitlines()[0]}",)
    if not isinstance(record, dict):
        return {}, (f"{TASK_FILE} holds no object",)
    return record, ()


def _text(value: object) -> str:
    """A task id may be written as a number."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value).strip()


def surroundings(place: TaskRoot, folder: Path) -> tuple[dict[str, str], list[str]]:
    """``knowledge`` and ``video`` of a root, whole, where there are any; and warnings.

    Args:
        place: The root.
        folder: The folder that the user named; ``workdir/`` may lie beside ``input/``.
    """
    texts: dict[str, str] = {}
    warnings: list[str] = []
    for path in (place.top / KNOWLEDGE, place.root / KNOWLEDGE):
        if "knowledge" not in texts and inside(place.root, path):
            try:
                texts["knowledge"] = read_text(path)
            except OSError as error:
                warnings.append(f"{KNOWLEDGE} cannot be read: {os_words(error)}")
    text, more = video.find([place.root] + ([folder] if folder != place.root else []))
    if text:
        texts["video"] = text
    return texts, warnings + more


def task_of(place: TaskRoot, texts: dict[str, str]) -> Task | None:
    """The task line that ``task.json`` asks for, without its catalog; None where there is none."""
    if not place.has_task:
        return None
    return _task(place.name, place.record, texts)


def questions(stream: IO[bytes], name: str) -> Iterator[JsonObject | LineError]:
    """Each question of a file, or the error that stands in its place.

    The file is JSON lines, or one array of questions (schemas/question.schema.json), also in
    an object of its own; the keys may be those of BIRD and Spider. By the ending of its name it
    may be a table too (``.csv``, ``.tsv``), whose heading has the same keys in any case, or a
    text (``.txt``) with a question on each line. An id stands once: of two questions under one
    id, only one could be told from the other later. A question without an id has its number in
    the file, from 0, as Spider counts them.
    """
    seen: dict[str, str] = {}
    for number, (found, place) in enumerate(_values(stream, name)):
        if isinstance(found, LineError):
            yield found
            continue
        record = _question(found, number)
        try:
            schema.check(record, "question", place=place)
        except LineError as error:
            yield error
            continue
        first = seen.setdefault(str(record["id"]), place)
        if first == place:
            yield record
            continue
        yield LineError(
            f"the id {record['id']} stands at {first} already", place=place, hint="give it its own"
        )


def _values(stream: IO[bytes], name: str) -> Iterator[tuple[object, str]]:
    """The values of a file, one a line or all in one array, each with its place."""
    suffix = os.path.splitext(name)[1].lower()
    if suffix in DELIMITERS:
        yield from _rows(stream, name, DELIMITERS[suffix])
        return
    if suffix in TEXTS:
        for number, line in enumerate(decode(stream.read()).splitlines(), 1):
            if line.strip():
                yield {"question": line.strip()}, f"{name}:{number}"
        return
    lines = split(stream, name)
    for raw, place, _cut in lines:
        try:
            value = orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            whole = place == f"{name}:1" and raw.lstrip()[:1] in (b"[", b"{")
            yield from _over_lines(raw, lines, name) if whole else [(_no_json(error, place), place)]
        else:
            yield from _elements(value, place, name)


def _rows(stream: IO[bytes], name: str, delimiter: str) -> Iterator[tuple[object, str]]:
    """The rows of a table as objects under the keys of its heading; an empty cell is no value."""
    text = decode(stream.read())
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text, delimiter))
    heading = [cell.strip().casefold() for cell in next(rows, [])]
    if not set(heading).intersection(KEYS["question"]):
        what = "no column is called question"
        hint = f"name one of them {', '.join(KEYS['question'])} in the first line"
        yield LineError(what, place=f"{name}:1", hint=hint), f"{name}:1"
        return
    for row in rows:
        if any(cell.strip() for cell in row):
            named = zip(heading, row, strict=False)
            yield {key: cell for key, cell in named if cell.strip()}, f"{name}:{rows.line_num}"


def _delimiter(text: str, usual: str) -> str:
    """What stands between cells: the semicolon of many a spreadsheet, where the heading has no
    comma."""
    first = text.partition("\n")[0]
    return ";" if ";" in first and usual not in first else usual


def _over_lines(
    first: bytes, lines: Iterator[tuple[bytes, str, bool]], name: str
) -> Iterator[tuple[object, str]]:
    """The values of a file that is one value written over many lines; where it is none, each
    line is judged by itself."""
    rest = list(lines)
    try:
        value = orjson.loads(b"\n".join([first, *(raw for raw, _, _ in rest)]))
    except orjson.JSONDecodeError as error:
        yield _no_json(error, f"{name}:1"), f"{name}:1"
        if first.lstrip()[:1] == b"[":
            return
        for raw, place, _ in rest:
            try:
                yield orjson.loads(raw), place
            except orjson.JSONDecodeError as broken:
                yield _no_json(broken, place), place
    else:
        yield from _elements(value, f"{name}:1", name)


def _no_json(error: orjson.JSONDecodeError, place: str) -> LineError:
    return LineError(
        f"not JSON: {error.msg}",
        place=place,
        hint="one question as JSON on each line, or an array of them",
    )


def _elements(value: object, place: str, name: str) -> Iterator[tuple[object, str]]:
    """The elements of an array, or of the only array in an object that asks nothing itself."""
    if isinstance(value, dict) and not any(key in value for key in KEYS["question"]):
        arrays = [item for item in value.values() if isinstance(item, list)]
        value = arrays[0] if len(arrays) == 1 and arrays[0] else value
    if isinstance(value, list) and value:
        yield from ((item, f"{name}: question {at}") for at, item in enumerate(value, 1))
    else:
        yield value, place


def _question(value: object, number: int) -> JsonValue:
    """The question under the keys of the schema."""
    if not isinstance(value, dict):
        return value
    record = dict(value)
    for key, others in KEYS.items():
        given = next((other for other in others if value.get(other) is not None), None)
        if given is not None:
            record[key] = value[given]
    record.setdefault("id", number)
    return record


def task_from(question: Mapping[str, object], texts: Mapping[str, str]) -> Task:
    """The task line of one question, without its catalog."""
    return _task(str(question["id"]), question, texts)


def _task(task_id: str, record: Mapping[str, object], texts: Mapping[str, str]) -> Task:
    fields = {key: value for key in COPIED if isinstance(value := record.get(key), str) and value}
    return cast("Task", {"kind": "task", "task_id": task_id, **fields, **texts})


def without_question(task: Task) -> Task:
    """The task with the error that later stages leave it alone for, where it asks nothing."""
    if task.get("question", "").strip():
        return task
    message = f"{TASK_FILE} holds no question; give one with --question"
    return {**task, "error": {"stage": "scan", "message": message}}


def open_questions(path: str) -> IO[bytes]:
    """Open a question file.

    Raises:
        DataError: It cannot be opened.
    """
    try:
        return open(path, "rb")
    except OSError as error:
        from stages.core.diagnostics import os_message

        raise DataError(os_message(error), place=path) from None
