"""How a delimited text file is written: delimiter, quotation marks, escapes, header.

Python's `csv` does the parsing; this module only decides what to tell it. A delimiter is
right where the first records have equally many cells, the first among them.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from typing import Any

from stages.core.jsontypes import JsonObject

NONE = "\x1f"
"""Stands for no delimiter: a file of one column."""
DELIMITERS = ",\t;|^~\x01"
NULL = "\\N"
"""What MySQL, PostgreSQL and Hive write for null; as a whole cell it is nothing else."""
FIRST, SECOND = 1 << 13, 1 << 18
"""Characters that a first look and a second one are at."""
_ROWS = 100
_SEP = re.compile(
    r"(?:\"sep=(\\t|[^\r\n])\"|sep=(\\t|[^\r\n]))[ \t]*(?:\r\n|\r|\n|\Z)", re.IGNORECASE
)
_LAST = "\0winnow: the end of the file\0"


@dataclass(frozen=True)
class CsvDialect:
    """What `csv.reader` has to be told.

    Args:
        delimiter: One character.
        quote: The quotation mark; empty where quotation marks are plain text.
        escape: Backslash where it escapes a quotation mark, else empty.
        skip_space: Whether blanks after a delimiter are no part of the cell.
    """

    delimiter: str = ","
    quote: str = '"'
    escape: str = ""
    skip_space: bool = False

    def reader(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Records of the text; lines keep their ends (``newline=""``)."""
        csv.field_size_limit(1 << 30)  # its own limit, 131,072, is smaller than real cells
        return csv.reader(
            self._escaped(lines) if self.escape else lines,
            delimiter=self.delimiter,
            quotechar=self.quote or None,
            quoting=csv.QUOTE_MINIMAL if self.quote else csv.QUOTE_NONE,
            escapechar=self.escape or None,
            skipinitialspace=self.skip_space,
        )

    def _escaped(self, lines: Iterable[str]) -> Iterator[str]:
        """Lines in which a backslash before any other character stands for itself, as `csv`
        would have it only where it is doubled; ``\\N`` by itself is null."""
        ends = re.escape(self.delimiter) + r"\r\n"
        kept = "\\" + self.delimiter + self.quote + "\r\n"
        pattern = re.compile(rf"(?:(?<=[{ends}])|^)\\N(?=[{ends}]|$)|\\(.)", re.DOTALL)

        def change(found: re.Match[str]) -> str:
            if found[1] is None:
                return ""
            return found[0] if found[1] in kept else "\\" + found[0]

        return (pattern.sub(change, line) if "\\" in line else line for line in lines)

    def sound(self, text: str) -> int:
        """Records up to the first whose quotation marks are not where they belong, or all."""
        reader = csv.reader(
            self._escaped(io.StringIO(text, newline=""))
            if self.escape
            else io.StringIO(text, newline=""),
            delimiter=self.delimiter,
            quotechar=self.quote or None,
            escapechar=self.escape or None,
            skipinitialspace=self.skip_space,
            strict=True,
        )
        count = 0
        try:
            for _ in reader:
                count += 1
        except csv.Error:
            pass
        return count

    def rows(self, text: str) -> list[list[str]]:
        """All records of a text that are not blank lines."""
        return [row for row in self.reader(io.StringIO(text, newline="")) if row]

    def closed(self, lines: Iterable[str], again: Iterable[str]) -> Iterator[list[str]]:
        """All records of a whole file. A quotation mark that is never closed would make one
        cell of all that follows it; from its record on, quotation marks are text.

        Args:
            lines: The file's lines.
            again: The same lines once more, read where there is such a mark.
        """
        at = 0  # lines before the record
        # Any: `reader` promises an iterator; where it is csv's own it counts lines
        reader: Any = self.reader(chain(lines, [_LAST]))
        for record in reader:
            if record == [_LAST]:
                return
            if record and record[-1].endswith(_LAST):
                break
            yield record
            at = reader.line_num
        yield from replace(self, quote="").reader(islice(again, at, None))

    def left_open(self, text: str) -> bool:
        """Whether the text, which is the whole file, ends inside quotation marks."""
        if not self.quote or text.count(self.quote) % 2 == 0:
            return False
        records = self.reader(chain(io.StringIO(text, newline=""), [_LAST]))
        return next(iter(deque(records, maxlen=1))) != [_LAST]

    def record(self) -> JsonObject:
        """The dialect as JSON values, for a table line's reader."""
        return asdict(self)


def with_nulls(rows: Sequence[list[str]]) -> list[list[str]]:
    """The records with empty cells where `NULL` stands."""
    return [["" if cell == NULL else cell for cell in row] for row in rows]


def sniff(text: str, *, prefer: str = ",", most: int = FIRST) -> CsvDialect:
    """Dialect of a text that starts with the file's first record.

    Args:
        prefer: Delimiter that the file's name promises; it wins ties.
        most: Characters that are looked at.

    >>> sniff("a^b\\n1^2,5\\n").delimiter, sniff("name;x\\nSmith, J;1,5\\n").delimiter
    ('^', ';')
    """
    named = sep_line(text)
    text = text[named[1] :]
    look = text[:most]
    if len(look) < len(text):
        look = look[: max(look.rfind("\n"), look.rfind("\r")) + 1] or look
    quote = _quote(look)
    if named[0]:
        return _refined(CsvDialect(named[0], quote), look)
    order = prefer + DELIMITERS.replace(prefer, "")
    found = [CsvDialect(mark, quote) for mark in order if mark in look]
    first = look.lstrip("\r\n").split("\n", 1)[0]
    if len(found) == 1 and found[0].delimiter in first:
        return _refined(found[0], look)
    weights = [_weight(dialect.rows(look)[:_ROWS]) for dialect in found]
    for at, dialect in enumerate(found):
        if dialect.delimiter not in first and _is_prose(dialect.delimiter, look):
            weights[at] = (0.0, 0)
    best = max(range(len(found)), key=weights.__getitem__, default=0)
    if not found or weights[best][0] == 0:
        return CsvDialect(NONE, quote)
    return _refined(found[best], look)


def sep_line(text: str) -> tuple[str, int]:
    """The delimiter that a first line ``sep=;`` names, as spreadsheets have it, and the length
    of the line; nothing where there is none.

    >>> sep_line("sep=;\\nid;name\\n"), sep_line("id;name\\n")
    ((';', 6), ('', 0))
    """
    found = _SEP.match(text)
    if not found:
        return "", 0
    mark = found[1] or found[2]
    return ("\t" if mark == "\\t" else mark), found.end()


def with_escape(best: CsvDialect, text: str) -> CsvDialect:
    """The same dialect with backslashes as escapes, where the whole text reads better so."""
    if best.escape or "\\" not in text or best.delimiter == NONE:
        return best
    other = replace(best, escape="\\")
    quoted = best.quote and "\\" + best.quote in text
    if quoted and other.sound(text) > best.sound(text):
        return other if _evenly(other, text) >= _evenly(best, text) else best
    if "\\" + best.delimiter in text or re.search(r"\\\r?\n", text):
        return other if _evenly(other, text) > _evenly(best, text) else best
    return best


def _evenly(dialect: CsvDialect, text: str) -> float:
    """Share of the records that have the commonest number of cells."""
    widths = Counter(map(len, dialect.rows(text)))
    return max(widths.values(), default=0) / max(1, widths.total())


def _is_prose(mark: str, text: str) -> bool:
    """Whether a blank follows the mark nearly everywhere, as after commas in sentences."""
    return text.count(mark + " ") * 10 >= text.count(mark) * 9


def _quote(text: str) -> str:
    """The apostrophe where cells stand in apostrophes and none in quotation marks."""
    if '"' in text or text.count("'") < 4:
        return '"'
    around = len(re.findall(r"(?:^|[,\t;|^~])'[^'\r\n]*'(?=[,\t;|^~\r\n]|$)", text, re.MULTILINE))
    return "'" if around * 2 * 10 >= text.count("'") * 9 else '"'


def _weight(rows: Sequence[Sequence[str]]) -> tuple[float, int]:
    """How well records agree on their number of cells; nothing where that is one.

    Records of one cell above all others may be titles, and do not count against it.
    """
    widths = Counter(map(len, rows))
    width, agree = max(widths.items(), key=lambda item: (item[1] * (item[0] > 1), item[0]))
    if width < 2:
        return 0.0, 0
    titles = next((at for at, row in enumerate(rows) if len(row) > 1), 0)
    share = agree / (len(rows) - titles)
    if share <= 0.5 and titles:
        return 0.0, 0
    share *= 0.9 if titles else 1.0
    ahead = len(rows[0]) in (1, width) or abs(len(rows[0]) - width) == 1
    return round(share * (1.0 if ahead else 0.5), 2), width


def _refined(best: CsvDialect, text: str) -> CsvDialect:
    """The same delimiter with other quoting where that makes records agree better."""
    escape = with_escape(best, text)
    if escape != best:
        return escape
    if best.quote and re.search(re.escape(best.delimiter) + " +" + best.quote, text):
        other = replace(best, skip_space=True)
        if _weight(other.rows(text)[:_ROWS]) >= _weight(best.rows(text)[:_ROWS]):
            return other
    if best.quote and text.count(best.quote) % 2 and _swallows(best, text):
        return replace(best, quote="")
    return best


def _swallows(quoted: CsvDialect, text: str) -> bool:
    """Whether a quotation mark that is never closed makes one cell of several records.

    Two records fewer can be a sample that ends inside a cell of several lines.
    """
    bare = replace(quoted, quote="").rows(text)
    return _weight(bare)[0] == 1.0 and len(quoted.rows(text)) + 2 < len(bare)
