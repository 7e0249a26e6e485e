"""The scores as text, JSON or Markdown; every report says by which rules it was made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from stages.core.evaluate.gold import RULE
from stages.core.evaluate.metrics import (
    COUNTS,
    TOKEN_RULE,
    Measure,
    MeasureTally,
    Summary,
    Value,
    groups,
    worst,
)

FORMATS = ("text", "json", "markdown")
INTERVALS = "intervals: 95 %, bootstrap over databases; none where there is one database"


def report(tally: MeasureTally, section: str, *, form: str = "text", n_worst: int = 0) -> str:
    """The report, with a newline at its end.

    Args:
        tally: All measures and what was left out.
        section: The section that was measured.
        form: One of `FORMATS`.
        n_worst: How many lost questions to list.
    """
    summaries = groups(tally.measures) if tally.measures else []
    lost = worst(tally.measures, n_worst)
    if form == "json":
        return _json(tally, section, summaries, lost)
    table = _markdown if form == "markdown" else _aligned
    heading, item = ("## ", "- ") if form == "markdown" else ("", "  ")
    inner = "  " + item
    lines = [f"{heading}linking, section {section}", ""]
    lines += [item + line for line in _rules(tally, section)]
    for summary in summaries:
        lines += ["", heading + _title(summary), ""]
        lines += table(_rows(summary))
    if lost:
        lines += ["", f"{heading}lost most", ""]
        lines += [(inner if below else item) + line for below, line in _lost(lost)]
    return "\n".join(lines) + "\n"


def _title(summary: Summary) -> str:
    databases = "database" if summary.databases == 1 else "databases"
    questions = "question" if summary.questions == 1 else "questions"
    size = f"{summary.questions} {questions}, {summary.databases} {databases}"
    return f"{_shown(summary.group)}: {size}"


def _rules(tally: MeasureTally, section: str) -> list[str]:
    lines = [f"gold rule: {RULE}", TOKEN_RULE, INTERVALS]
    lines += [f"left out: {n} {reason}" for reason, n in sorted(tally.left_out.items())]
    if tally.unasked:
        lines.append(f"not measured: {tally.unasked} gold questions that no task asks")
    if tally.stale:
        lines.append(
            f"stale: {tally.stale} of the sections were made from other inputs or tables and are "
            f"measured as they stand; rerun `winnow {section}`"
        )
    return lines


def _rows(summary: Summary) -> list[tuple[str, ...]]:
    """A header, then one row a metric."""
    head = ("metric", "value", "95 % interval", "questions")
    return [head, *(_row(name, value) for name, value in summary.values.items())]


def _row(name: str, value: Value) -> tuple[str, ...]:
    def show(number: float) -> str:
        return f"{number:.1f}" if name in COUNTS else f"{100 * number:.1f} %"

    ends = (
        ""
        if value.low is None or value.high is None
        else f"{show(value.low)} to {show(value.high)}"
    )
    return name, show(value.mean), ends, str(value.n)


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns side by side; the first one flush left, the others flush right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _markdown(rows: Sequence[tuple[str, ...]]) -> list[str]:
    head, *body = rows
    rule = "|---|" + "---:|" * (len(head) - 1)
    return ["| " + " | ".join(head) + " |", rule, *("| " + " | ".join(row) + " |" for row in body)]


def _lost(measures: Iterable[Measure]) -> Iterator[tuple[bool, str]]:
    """A line for each question, and below it what was lost and what had spoken for it."""
    for m in measures:
        yield (
            False,
            (
                f"{_shown(m.id)} ({_shown(m.database)}, {m.n_tables} tables): "
                f"{_shown(m.question, 200)}"
            ),
        )
        for name, why in zip(m.lost, m.evidence, strict=True):
            yield True, f"lost {_shown(name)}: {_shown(why, 300)}"
        if m.lost_columns:
            yield True, "lost columns: " + ", ".join(_shown(name) for name in m.lost_columns)


def _shown(text: str, limit: int | None = None) -> str:
    from stages.core.text import visible

    return visible(text, limit)


def _json(
    tally: MeasureTally, section: str, summaries: Sequence[Summary], lost: Sequence[Measure]
) -> str:
    import orjson

    document = {
        "section": section,
        "gold_rule": RULE,
        "token_rule": TOKEN_RULE,
        "left_out": dict(sorted(tally.left_out.items())),
        "unasked": tally.unasked,
        "stale": tally.stale,
        "groups": [asdict(summary) for summary in summaries],
        "worst": [asdict(m) for m in lost],
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
