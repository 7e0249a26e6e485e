"""The built-in judge: which tables and columns a question needs, without a model.

Lexical, value and key-graph evidence over an index of the table lines, fused by a small
learned model into calibrated probabilities, and cut adaptively (never at a fixed k).
Nothing heavy is imported here: numpy and the index come in with the first question.

Source: seed 002 (recall pipeline: routing, BM25, rules, co-occurrence, fusion).
"""

from __future__ import annotations

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
)
from stages.core.judge.run import judge
from stages.core.judge.wording import reason

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
