"""What a document comes to: its lines, and the tables that stand in it.

The readers of the kinds give a `Reading`, whose grids are cells as they stand;
`core.documents.grids` makes `DocumentTable`s of them, with columns, types and units.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class ReadLimits:
    """How much of one document is read; what is beyond is left out and told.

    Args:
        seconds: Time for one document.
        memory: MiB that the process which takes a foreign format apart may add.
        bytes: Most bytes of a text file.
        output: Most bytes of text that come out of a foreign format.
        line: Most characters of a line.
        pages: Most pages of a PDF, slides, or sheets.
        cells: Most cells of all tables together.
    """

    seconds: float = 60.0
    memory: int = 1024
    bytes: int = 32 * 1024**2
    output: int = 64 * 1024**2
    line: int = 100_000
    pages: int = 1_000
    cells: int = 2_000_000


@dataclass(frozen=True)
class DocumentColumn:
    """One column of a table in a document.

    Args:
        name: Without its unit; unique within the table without regard to case.
        type: DuckDB type that every cell can be read as: BIGINT, DOUBLE, DATE, TIMESTAMP, TIME,
            BOOLEAN, else VARCHAR.
        description: The heading as it stands where ``name`` is less; else empty.
        unit: As the heading or all its cells have it: ``万元``, ``kg``, ``%``; else empty.
    """

    name: str
    type: str = "VARCHAR"
    description: str = ""
    unit: str = ""


@dataclass(frozen=True)
class FailedLine:
    """A line that ought to be a row and is none.

    Args:
        line: Number in the document, from 1.
        text: As it stands.
        reason: Why, in few words.
    """

    line: int
    text: str
    reason: str


@dataclass
class DocumentTable:
    """One table of a document.

    Args:
        name: Of words and ``_``; unique within the document without regard to case.
        columns: At least one.
        rows: Cells as text that ``DocumentColumn.type`` can be read from; None where empty.
        lines: For each row the line of ``DocumentContent.lines`` it stands on, from 1.
        pages: For each row its page, slide or sheet, from 1; empty where the kind has none.
        title: The caption or the heading above; else empty.
        key: Names of columns whose values tell the rows apart; empty where none is known.
        notes: What a reader should know: a total row that was left out, for one.
        failed: Lines among the rows that are none.
    """

    name: str
    columns: list[DocumentColumn]
    rows: list[list[str | None]]
    lines: list[int]
    pages: list[int] = field(default_factory=list)
    title: str = ""
    key: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failed: list[FailedLine] = field(default_factory=list)


@dataclass
class DocumentContent:
    """One document as text, and its tables.

    Args:
        name: Of the file.
        kind: A value of `KINDS`.
        lines: The text; tables stand in it too, a row a line.
        tables: Those that stand in it, in its order.
        warnings: What was left out or doubtful, one sentence each.
        truncated: Whether something was left out.
        pages: For each line its page, slide or sheet, from 1; empty where the kind has none.
    """

    name: str
    kind: str
    lines: list[str]
    tables: list[DocumentTable] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    truncated: bool = False
    pages: list[int] = field(default_factory=list)


@dataclass
class CellGrid:
    """Cells of one table as they stand; what spans several is repeated in each.

    Args:
        cells: Rows of texts, all of one length.
        lines: For each row its line in the document, from 1.
        header: Rows of headings; None where the document does not say.
        pages: For each row its page; empty where the kind has none.
        title: The caption or the heading above; else empty.
    """

    cells: list[list[str]]
    lines: list[int]
    header: int | None = None
    pages: list[int] = field(default_factory=list)
    title: str = ""


@dataclass
class Reading:
    """What the reader of one kind gives; the fields are those of `DocumentContent`."""

    lines: list[str] = field(default_factory=list)
    grids: list[CellGrid] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    truncated: bool = False
    pages: list[int] = field(default_factory=list)
