"""The table of a text that is written by one pattern; none where it is not.

A pattern is blocks of ``key: value``, such pairs on one line, statements ("the X of Y is Z"), or
one sentence with gaps that all lines share, as generated reports have it. It counts where it
explains 90 % of the lines; a text that is less regular is evidence, and no table is made of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from stages.core.documents.content import CellGrid, DocumentContent, DocumentTable, FailedLine
from stages.core.documents.grids import is_value, tables_of
from stages.core.documents.headings import is_unit

SHARE = 0.9
"""Share of the lines that one pattern has to explain."""
_SAMPLE_SHARE = 0.7
"""That share of the lines of a long text that are looked at first."""
_STRETCH = 300
_FEWEST = 5
"""Lines below which nothing is a pattern."""
_MOST_CHARS = 2_000
"""Characters of a line that is looked at; longer ones follow no pattern."""
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_RULE = re.compile(r"[\s\-=_*~#]*")
_MARKUP = re.compile(r"\*\*|__|`")
_BULLET = re.compile(
    r"\A\s*(?:(?:[-*•·▪]|\(?\d{1,4}[.)]|[（(]?[\d一二三四五六七八九十]{1,4}[)）、])\s+|[•·▪]\s*|\d{1,4}、)"
)
_PAIR = re.compile(r"([^:：=|]{1,40}?)\s*[:：=]\s*(.*\S)?\s*")
_PARTS = re.compile(r"\s*[;；|]\s*|[,，、]\s*(?=[^:：=,，、]{1,30}[:：=])")
_STATEMENT = (
    re.compile(
        r"(?P<y>[^的]{1,40})的(?P<x>[^的为是]{1,20})(?:为|是|达到|达)\s*(?P<z>.{1,60}?)[。；.;]?"
    ),
    re.compile(
        r"(?:[Tt]he )?(?P<x>[A-Za-z][\w /()%-]{0,40}?) (?:of|for|at|in) (?P<y>.{1,80}?) "
        r"(?:is|was|are|were|equals|stands at|reached|amounts to) (?P<z>.{1,60}?)[.;]?"
    ),
    re.compile(
        r"(?P<y>.{1,80}?)['’]s? (?P<x>[\w /()%-]{1,40}?) (?:is|was|equals) (?P<z>.{1,60}?)[.;]?"
    ),
)
_SENTENCE = re.compile(
    r"(?<=[。！？；])|(?<!\b[A-Z]\.)(?<!\b[A-Z][a-z]\.)(?<=[.!?;])\s+(?=[A-Z0-9])"
)


@dataclass(frozen=True)
class _ProseUnit:
    """A line, or a sentence of one, without its bullet."""

    line: int
    text: str
    block: int
    heading: str


@dataclass
class _ProseRows:
    """Rows that a pattern reads, and what it does not explain."""

    names: list[str]
    rows: list[list[str]]
    lines: list[int]
    failed: list[_ProseUnit] = field(default_factory=list)
    pattern: str = ""


def tables_of_prose(content: DocumentContent) -> list[DocumentTable]:
    """Tables that one pattern of sentences explains; none where it explains too little.

    Args:
        content: A document as it was read; lines of its tables do not count.
    """
    if content.kind == "subtitles":
        return []
    units = list(_units(content))
    for reader in (_blocks, _line_pairs, _measures, _sentences, _statements, _list):
        for parts_of in (list[_ProseUnit], _sentences_of):
            if len(units) > 3 * _STRETCH:
                looked_at = parts_of(_stretches(units))
                if not reader(looked_at, _SAMPLE_SHARE):
                    continue
            found = reader(parts_of(units), SHARE)
            if found:
                return _tables(content, found)
    return []


def _stretches(units: Sequence[_ProseUnit]) -> list[_ProseUnit]:
    """The head, the middle and the tail of a long text."""
    middle = len(units) // 2
    return [*units[:_STRETCH], *units[middle : middle + _STRETCH], *units[-_STRETCH:]]


def _sentences_of(units: Sequence[_ProseUnit]) -> list[_ProseUnit]:
    """The sentences of lines, each with the number of its line."""
    return [
        _ProseUnit(unit.line, part.strip(), unit.block, unit.heading)
        for unit in units
        for part in _SENTENCE.split(unit.text)
        if part.strip()
    ]


def _units(content: DocumentContent) -> Iterator[_ProseUnit]:
    """Lines of text, with the block between blank lines or headings that they stand in."""
    taken = {line for table in content.tables for line in table.lines}
    block, heading = 0, ""
    for number, line in enumerate(content.lines, start=1):
        found = _HEADING.match(line)
        if found:
            block, heading = block + 1, _MARKUP.sub("", found[1])
        elif _RULE.fullmatch(line[:_MOST_CHARS]):
            block += 1
        elif number not in taken and not line.lstrip().startswith("|"):
            text = _BULLET.sub("", _MARKUP.sub("", line[:_MOST_CHARS]), count=1)
            yield _ProseUnit(number, " ".join(text.split()), block, heading)


def _tables(content: DocumentContent, found: _ProseRows) -> list[DocumentTable]:
    pages = [content.pages[line - 1] for line in found.lines] if content.pages else []
    grid = CellGrid(
        [found.names, *found.rows],
        [0, *found.lines],
        1,
        [pages[0], *pages] if pages else [],
        _title(content),
    )
    tables = tables_of([grid], content.name.rsplit(".", 1)[0])
    for table in tables:
        table.failed = [
            FailedLine(unit.line, unit.text, "does not follow the pattern of the others")
            for unit in found.failed
        ]
        if found.pattern:
            table.notes.append(f"read by the pattern: {found.pattern}")
        first = [row[0] for row in table.rows]
        if None not in first and len(set(first)) == len(first):
            table.key = [table.columns[0].name]
    return tables


def _title(content: DocumentContent) -> str:
    headings = (found[1] for line in content.lines if (found := _HEADING.match(line)))
    return _MARKUP.sub("", next(headings, ""))


def _enough(explained: int, units: Sequence[_ProseUnit], share: float) -> bool:
    return explained >= max(share * len(units), _FEWEST)


# Pairs.


def _pairs(units: Sequence[_ProseUnit]) -> list[tuple[_ProseUnit, str, str]]:
    found = [(unit, _PAIR.fullmatch(unit.text)) for unit in units]
    return [(unit, pair[1].strip(), pair[2] or "") for unit, pair in found if pair]


def _blocks(units: Sequence[_ProseUnit], share: float) -> _ProseRows | None:
    """Blocks of ``key: value``, one record each; the heading above is a column where it tells."""
    pairs = _pairs(units)
    if not _enough(len(pairs), units, share):
        return None
    records: dict[int, dict[str, str]] = {}
    lines: dict[int, int] = {}
    headings: dict[int, str] = {}
    for unit, key, value in pairs:
        record = records.setdefault(unit.block, {})
        if key in record:
            return None
        record[key] = value
        lines.setdefault(unit.block, unit.line)
        headings[unit.block] = unit.heading
    keys = list(dict.fromkeys(key for record in records.values() for key in record))
    if len(records) < 2 or len(keys) < 2 or len(pairs) * 2 < len(records) * len(keys):
        return None
    named = len(set(headings.values())) == len(headings) and all(headings.values())
    rows = [
        [*([headings[block]] if named else []), *(record.get(key, "") for key in keys)]
        for block, record in records.items()
    ]
    names = [*([_word_for_name(headings.values())] if named else []), *keys]
    explained = {unit for unit, _, _ in pairs}
    return _ProseRows(names, rows, [*lines.values()], [u for u in units if u not in explained])


def _line_pairs(units: Sequence[_ProseUnit], share: float) -> _ProseRows | None:
    """Several ``key: value`` on each line, the same keys on all."""
    records: list[tuple[_ProseUnit, dict[str, str]]] = []
    for unit in units:
        pairs = [_PAIR.fullmatch(part.strip(" .。")) for part in _PARTS.split(unit.text) if part]
        record = {pair[1].strip(): pair[2] or "" for pair in pairs if pair}
        if len(pairs) >= 2 and len(record) == len(pairs):
            records.append((unit, record))
    keys = list(dict.fromkeys(key for _, record in records for key in record))
    cells = sum(len(record) for _, record in records)
    if not _enough(len(records), units, share) or cells * 2 < len(records) * len(keys):
        return None
    explained = {unit for unit, _ in records}
    return _ProseRows(
        keys,
        [[record.get(key, "") for key in keys] for _, record in records],
        [unit.line for unit, _ in records],
        [unit for unit in units if unit not in explained],
    )


def _list(units: Sequence[_ProseUnit], share: float) -> _ProseRows | None:
    """A list of names with one value each: ``apples: 3 kg``."""
    pairs = [pair for pair in _pairs(units) if pair[2]]
    names = {name for _, name, _ in pairs}
    values = sum(is_value(value) for _, _, value in pairs)
    if (
        not _enough(len(pairs), units, share)
        or len(names) < len(pairs)
        or values < 0.8 * len(pairs)
    ):
        return None
    explained = {unit for unit, _, _ in pairs}
    chinese = _word_for_name(names) == "名称"
    return _ProseRows(
        ["名称", "数值"] if chinese else ["name", "value"],
        [[name, value] for _, name, value in pairs],
        [unit.line for unit, _, _ in pairs],
        [unit for unit in units if unit not in explained],
    )


def _word_for_name(texts: Iterable[str]) -> str:
    """What a column of names is called: in Chinese where most of the names are."""
    joined = "".join(texts)
    return "名称" if len(_CHINESE.findall(joined)) * 2 > len(joined) else "name"


_CHINESE = re.compile("[\u3400-\u9fff]")


# Statements.


def _measures(units: Sequence[_ProseUnit], share: float) -> _ProseRows | None:
    """Statements of more than one X, which a template would make a value."""
    found = _statements(units, share)
    return found if found and len(found.names) > 2 else None


def _statements(units: Sequence[_ProseUnit], share: float) -> _ProseRows | None:
    """``The X of Y is Z``: a row for each Y, a column for each X."""
    for pattern in _STATEMENT:
        found = [
            (unit, pattern.fullmatch(unit.text) if len(unit.text) <= 250 else None)
            for unit in units
        ]
        cells = [(unit, m["x"].strip(), m["y"].strip(), m["z"].strip()) for unit, m in found if m]
        wanted = list(dict.fromkeys(x for _, x, _, _ in cells))
        if not _enough(len(cells), units, share) or len(wanted) * 2 > len(cells):
            continue
        records: dict[str, dict[str, str]] = {}
        lines: dict[str, int] = {}
        for unit, x, y, z in cells:
            if records.setdefault(y, {}).setdefault(x, z) != z:
                return None
            lines.setdefault(y, unit.line)
        if len(cells) * 2 < len(records) * len(wanted):
            continue
        rows = [[y, *(record.get(x, "") for x in wanted)] for y, record in records.items()]
        failed = [unit for unit, match in found if not match]
        return _ProseRows([_word_for_name(set(records)), *wanted], rows, [*lines.values()], failed)
    return None


# One sentence with gaps.

_TOKEN = re.compile(
    r"\d{4}年\d{1,2}月\d{1,2}日|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|"
    r"(?:\d{1,2} )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* (?:\d{1,2}, )?\d{4}|"
    r"[-−]?\d+(?:[,.]\d+)*|[A-Za-z]+(?:['’-][A-Za-z]+)*|[\u3400-\u9fff]|\S"
)
_PLAIN = frozenset(
    re.findall(
        r"\S+",
        "the a an of in at on to for by with and or from is was are were be been has had have "
        "it its this that there which as than about over under per "
        "的 为 是 在 于 了 有 和 与 达 共 由 其 该 约 计",
    )
)
_NUMERIC = re.compile(r"[-−]?[\d,.]+")
_TAKEN_FROM = 24
_SEEDS = 6
_MOST_TOKENS = 250
"""Words of a line that can be one template; the time to learn it grows with their square."""


@dataclass(frozen=True)
class _GapSentence:
    """Fixed texts around gaps: one more of them than there are gaps; ends may be empty."""

    fixed: tuple[str, ...]

    def gaps(self, text: str) -> list[str] | None:
        """What stands in the gaps of a text; None where it is written otherwise.

        Each fixed text is looked for from the left, so that the time is linear.
        """
        if not text.startswith(self.fixed[0]) or not text.endswith(self.fixed[-1]):
            return None
        at, end = len(self.fixed[0]), len(text) - len(self.fixed[-1])
        found = []
        for part in self.fixed[1:-1]:
            place = text.find(part, at + 1, end)
            if place < 0:
                return None
            found.append(text[at:place].strip())
            at = place + len(part)
        found.append(text[at:end].strip())
        return found if at < end and all(found) else None


def _sentences(units: Sequence[_ProseUnit], share: float) -> _ProseRows | None:
    """One template that the lines share, learnt from some of them and tried on all."""
    step = max(1, len(units) // _TAKEN_FROM)
    sample = [unit.text for unit in units[::step]][: _TAKEN_FROM * 2]
    if sum(len(_TOKEN.findall(text)) > _MOST_TOKENS for text in sample) * 2 > len(sample):
        return None
    sample = [text for text in sample if len(_TOKEN.findall(text)) <= _MOST_TOKENS]
    best: list[tuple[_ProseUnit, list[str]]] = []
    chosen: _GapSentence | None = None
    for seed in range(0, len(sample), max(1, len(sample) // _SEEDS)):
        template = _template(sample[seed], [*sample[seed + 1 :], *sample[:seed]])
        if template is None:
            continue
        rows = [(unit, row) for unit in units if (row := template.gaps(unit.text))]
        if len(rows) > len(best):
            best, chosen = rows, template
    if chosen is None or not _enough(len(best), units, share) or not _is_regular(chosen, best):
        return None
    names = [_name(chosen, at, [row[at] for _, row in best]) for at in range(len(best[0][1]))]
    explained = {unit for unit, _ in best}
    return _ProseRows(
        names,
        [row for _, row in best],
        [unit.line for unit, _ in best],
        [unit for unit in units if unit not in explained],
        "…".join(chosen.fixed),
    )


def _template(text: str, others: Sequence[str]) -> _GapSentence | None:
    """What a text shares with the others, without those that share much less."""
    tokens = [(found[0], found.start()) for found in _TOKEN.finditer(text)]
    kept = [not token[0][0].isdigit() for token in tokens]
    for other in others:
        words = [found[0] for found in _TOKEN.finditer(other)]
        own = [at for at, keep in enumerate(kept) if keep]
        matcher = SequenceMatcher(None, [tokens[at][0] for at in own], words, autojunk=False)
        shared = {
            own[at]
            for start, _, size in matcher.get_matching_blocks()
            for at in range(start, start + size)
        }
        if len(shared) * 2 > len(own):
            kept = [at in shared for at in range(len(tokens))]
    return _from_tokens(text, tokens, kept)


def _from_tokens(
    text: str, tokens: Sequence[tuple[str, int]], kept: Sequence[bool]
) -> _GapSentence | None:
    """The template whose fixed texts are the tokens that are kept, with the blanks between."""
    fixed, gap = [""], False
    for at, (token, start) in enumerate(tokens):
        if not kept[at]:
            gap = True
            continue
        end_before = tokens[at - 1][1] + len(tokens[at - 1][0]) if at else 0
        blank = text[end_before:start]
        if gap:
            fixed.append(blank + token)
        else:
            fixed[-1] += blank + token
        gap = False
        if at + 1 < len(tokens) and not kept[at + 1]:
            fixed[-1] += text[start + len(token) : tokens[at + 1][1]]
    if gap:
        fixed.append("")
    return _GapSentence(tuple(fixed)) if len(fixed) >= 3 else None


def _is_regular(template: _GapSentence, rows: Sequence[tuple[_ProseUnit, list[str]]]) -> bool:
    """Whether the fixed texts say something, the gaps are short, and a value stands in one."""
    words = [
        token
        for at, part in enumerate(template.fixed)
        for token in _TOKEN.findall(part[len(_unit_of(part)) if at else 0 :])
        if token.casefold() not in _PLAIN and token[0].isalpha()
    ]
    chars = sum(len(unit.text) for unit, _ in rows)
    fixed = sum(map(len, template.fixed)) * len(rows)
    columns = list(zip(*(row for _, row in rows), strict=True))
    if len(words) < 2 or fixed * 5 < chars or len(set(zip(*columns, strict=True))) * 2 < len(rows):
        return False
    if any(sum(map(len, column)) > 40 * len(column) for column in columns):
        return False
    return any(sum(map(is_value, column)) * 10 >= 8 * len(column) for column in columns)


def _name(template: _GapSentence, at: int, values: Sequence[str]) -> str:
    """The name of a gap: the words before it, with the unit that follows in brackets."""
    before, after = template.fixed[at], template.fixed[at + 1]
    words = _words_before(before.strip().removeprefix(_unit_of(before)) if at else before)
    if not words and at == 0:
        words = _word_for_name(values)
    words = words or f"column_{at + 1}"
    unit = _unit_of(after) if all(map(_NUMERIC.fullmatch, values)) else ""
    return f"{words} ({unit})" if unit else words


def _words_before(text: str) -> str:
    part = re.split(r"[,，.。;；:：、()（）]", text.rstrip(" :：,，"))[-1].strip()
    chinese = "".join(_CHINESE.findall(part))
    if chinese:
        if part.endswith("位于"):
            return "所在地"
        name = re.sub(r"(?:(?:约?为|是|达到?|共计?|于|在|有|约|的|了|由|至|计)\s*)+$", "", part)
        name = re.sub(r"^(?:其|该|的|和|与|且|并)+", "", name)
        return name[-8:] if len(name) >= 2 else ""
    words = [word for word in re.findall(r"[A-Za-z][\w'-]*", part) if word.casefold() not in _PLAIN]
    return " ".join(words[-2:])


def _unit_of(after: str) -> str:
    """The longest unit that a text begins with."""
    text = after.strip()
    ends = [found.end() for found in re.finditer(r"\S+", text)][:2]
    for end in sorted({*ends, *range(1, min(len(text), 6) + 1)}, reverse=True):
        whole = text[:end].rstrip(" .。,，;；")
        ended = end >= len(text) or not (text[end - 1].isascii() and text[end].isalnum())
        if whole and ended and is_unit(whole):
            return whole
    return ""
