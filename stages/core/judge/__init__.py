"""The built-in judge: which tables and columns a question needs, without a model.

Lexical, value and key-graph evidence over an index of the table lines, fused by a small
learned model into calibrated probabilities, and cut adaptively (never at a fixed k).
Nothing heavy is imported here: numpy and the index come in with the first question.

Source: seed 002 (recall pipeline: routing, BM25, rules, co-occurrence, fusion).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stages.core.judge.channels import SWITCHES as CHANNELS
from stages.core.judge.judgment import (
    Edge,
    EvidencePiece,
    History,
    Judgment,
    RankedColumn,
    RankedTable,
    RuleEffect,
    Rules,
    ValueSearch,
)
from stages.core.judge.wording import reason

if TYPE_CHECKING:
    from stages.core.records import Table, Task

__all__ = [
    "CHANNELS",
    "Edge",
    "EvidencePiece",
    "History",
    "Judgment",
    "RankedColumn",
    "RankedTable",
    "RuleEffect",
    "Rules",
    "judge",
    "reason",
]


def judge(
    task: Task,
    tables: Sequence[Table],
    *,
    recall: float = 0.99,
    loss_tokens: float | None = None,
    without: Sequence[str] = (),
    history: History | None = None,
    rules: Rules | None = None,
    index_dir: Path | None = None,
    seek: ValueSearch | None = None,
    columns: bool = True,
    chosen: Collection[str] = (),
) -> Judgment:
    """Rank all tables and columns for one task, with evidence, and say which to keep.

    Args:
        task: Its ``question``, ``evidence``, ``knowledge``, ``video`` are read.
        tables: The catalog's table records; their order changes nothing.
        recall: Share of questions, 0 to 1, that are to keep all they need. 1 keeps everything.
        loss_tokens: What a needed table is worth (`select.by_cost`), instead of ``recall``.
        without: Channels to switch off, from `CHANNELS`.
        history: Co-occurrence of tables in past SQL.
        rules: User rules; what they add is kept, what they forbid ranks last.
        index_dir: Where indexes are kept between processes; None keeps none.
        seek: Looks up the question's words in the data; None leaves it at the values of the lines.
        columns: Whether columns and relations are wanted; tables alone take half the time.
        chosen: Tables that a model chose, to be kept.

    Raises:
        ValueError: ``recall`` is outside 0…1 or ``without`` names no channel.
    """
    _check(recall, without)
    if not tables:
        return Judgment((), (), ())
    from stages.core.judge.pipeline import decide

    return decide(
        task,
        sorted(tables, key=lambda table: table["name"]),
        recall=recall,
        loss_tokens=loss_tokens,
        without=frozenset(without),
        history=history,
        rules=rules,
        index_dir=index_dir,
        seek=seek,
        columns=columns,
        chosen=frozenset(chosen),
    )


def _check(recall: float, without: Sequence[str]) -> None:
    if not 0 <= recall <= 1:
        raise ValueError(f"recall is a share from 0 to 1, not {recall}")
    unknown = sorted(set(without) - set(CHANNELS))
    if unknown:
        raise ValueError(f"no such channel: {', '.join(unknown)}; there are {', '.join(CHANNELS)}")
