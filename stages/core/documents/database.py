"""Tables of documents as one SQLite file, written whole or not at all."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from stages.core.catalog.documents import MARK_TABLE
from stages.core.documents.content import DocumentTable
from stages.core.documents.grids import cell_value
from stages.core.documents.headings import unique_name
from stages.core.errors import DataError, os_words
from stages.core.lines.io import replace_file

SOURCE_LINE = "__src_line"
"""Column of the line of its document that a row was read from, from 1."""
SOURCE_PAGE = "__src_page"
"""Column of the page, slide or sheet, where the kind of document has some."""
_TYPES = {"BIGINT": "INTEGER", "DOUBLE": "REAL", "VARCHAR": "TEXT"}


def failed_file(path: Path) -> Path:
    """Where the lines that are no rows lie, beside the tables: no file that scan reads."""
    return path.with_name(f"{path.stem}.failed.log")


def write_tables(
    path: Path, documents: Mapping[str, Sequence[DocumentTable]]
) -> dict[str, list[str]]:
    """Write the tables of documents, and beside them the lines that failed.

    The mark of `catalog.documents` is a table of comments: ``table_name``, ``column_name`` (null
    for the table itself), ``comment``, ``document``.

    Args:
        path: The SQLite file; one that is there is replaced at once.
        documents: The tables of each, by the document's name.

    Returns:
        For each document the names that its tables have in the file: one that another document
        has taken is numbered.

    Raises:
        DataError: The file cannot be written.
    """
    names = _names(documents)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(path) as stream:
            stream.write(_database(documents, names))
        failed = "".join(_failed(documents, names))
        if failed:
            with replace_file(failed_file(path)) as stream:
                stream.write(failed.encode("utf-8", "replace"))
        else:
            failed_file(path).unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"cannot be written: {os_words(error)}", place=str(path)) from None
    return names


def _names(documents: Mapping[str, Sequence[DocumentTable]]) -> dict[str, list[str]]:
    taken = {MARK_TABLE}
    return {
        document: [unique_name(table.name, taken) for table in tables]
        for document, tables in documents.items()
    }


def _database(
    documents: Mapping[str, Sequence[DocumentTable]], names: Mapping[str, Sequence[str]]
) -> bytes:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as con:
        con.execute("BEGIN")
        con.execute(f"CREATE TABLE {MARK_TABLE} (table_name, column_name, comment, document)")
        for document, tables in documents.items():
            for name, table in zip(names[document], tables, strict=True):
                _fill(con, name, table)
                rows = [(name, *comment, document) for comment in _comments(document, table)]
                con.executemany(f"INSERT INTO {MARK_TABLE} VALUES (?, ?, ?, ?)", rows)
        con.execute("COMMIT")
        return con.serialize()


def _fill(con: sqlite3.Connection, name: str, table: DocumentTable) -> None:
    """One table with its rows; its own columns first, then where each row comes from."""
    taken = {SOURCE_LINE, SOURCE_PAGE}
    declared = [
        f"{_quoted(unique_name(column.name, taken))} {_TYPES.get(column.type, column.type)}"
        for column in table.columns
    ]
    kinds = [column.type for column in table.columns]
    places = [SOURCE_LINE, *([SOURCE_PAGE] if table.pages else [])]
    con.execute(
        f"CREATE TABLE {_quoted(name)} "
        f"({', '.join([*declared, *(f'{place} INTEGER' for place in places)])})"
    )
    pages = [[page] for page in table.pages] or [[] for _ in table.rows]
    con.executemany(
        f"INSERT INTO {_quoted(name)} VALUES ({', '.join('?' * (len(kinds) + len(places)))})",
        (
            [*map(cell_value, kinds, row), line, *page]
            for row, line, page in zip(table.rows, table.lines, pages, strict=True)
        ),
    )


def _comments(document: str, table: DocumentTable) -> Iterator[tuple[str | None, str]]:
    """What is to be known of the table, and of its columns."""
    title = f"{document}: {table.title}" if table.title else document
    yield None, "; ".join([title, *table.notes])
    for column in table.columns:
        unit = f"unit {column.unit}" if column.unit else ""
        if text := "; ".join(filter(None, (column.description, unit))):
            yield column.name, text
    yield SOURCE_LINE, f"line of {document} that the row stands on"
    if table.pages:
        yield SOURCE_PAGE, f"page of {document} that the row stands on"


def _failed(
    documents: Mapping[str, Sequence[DocumentTable]], names: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """A JSON line for each line that is no row."""
    for document, tables in documents.items():
        for name, table in zip(names[document], tables, strict=True):
            for failed in table.failed:
                record = {
                    "document": document,
                    "table": name,
                    "line": failed.line,
                    "reason": failed.reason,
                    "text": failed.text,
                }
                yield json.dumps(record, ensure_ascii=False) + "\n"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""').replace("\0", "") + '"'
