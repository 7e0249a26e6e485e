"""What train and crossval print: strict recall at k, questions lost, what the cut keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from sets import Rows, last_place, recall_at

Array = np.ndarray[Any, Any]
KS = (1, 3, 5, 10, 20)


def report(rows: Sequence[Rows], tables: list[Array]) -> None:
    """Strict table recall at k by set."""
    print(f"{'set':16s}{'questions':>10s}  strict table recall @ {'/'.join(map(str, KS))}")
    for kind in sorted({row.kind for row in rows}):
        found = [(row, score) for row, score in zip(rows, tables, strict=True) if row.kind == kind]
        shares = recall_at(found, KS)
        print(
            f"{kind:16s}{len(found):10d}  "
            + " / ".join(f"{share:.1f}" for share in shares.values())
        )


def worst(rows: Sequence[Rows], tables: list[Array], kind: str, k: int, n: int) -> None:
    """Questions of a set that lost a needed table at ``k``, and what stood before it."""
    lost = [
        (row, score)
        for row, score in zip(rows, tables, strict=True)
        if row.kind == kind and last_place(row, score) >= k
    ]
    print(
        f"{len(lost)} lost at {k} in {kind}", Counter(row.case.db for row, _ in lost).most_common(9)
    )
    for row, score in lost[:: max(1, len(lost) // n)][:n]:
        order = np.argsort(-score, kind="stable")
        ranked = [
            (row.table_names[at], round(float(score[at]), 1), "*" if row.gold[at] else "")
            for at in order
        ]
        print("-", row.case.db, row.case.task["question"], "|", row.case.task.get("evidence", ""))
        print("   first:", ranked[:k])
        print(
            "   lost:",
            [(at, *item) for at, item in enumerate(ranked) if item[2] and at >= k],
            row.lost,
        )


def report_cuts(rows: Sequence[Rows], chances: list[Array], cuts: Array) -> None:
    """What the adaptive cut keeps: strict recall, tables and columns that go."""
    for target in (0.95, 0.99):
        limits = [float(np.interp(target, cuts[0, 1:], row[1:])) for row in cuts[1:]]
        print(f"--recall {target}: cut at {', '.join(f'{limit:.4f}' for limit in limits)}")
        for kind in sorted({row.kind for row in rows}):
            found = [(row, c) for row, c in zip(rows, chances, strict=True) if row.kind == kind]
            print(f"  {kind:16s}" + cut_line(found, target, cuts))


def limit_of(target: float, n_tables: int, cuts: Array) -> float:
    """As `trees.Trees.cut_at`."""
    logs = [np.interp(target, cuts[0, 1:], np.log(row[1:])) for row in cuts[1:]]
    return float(np.exp(np.interp(np.log(n_tables), np.log(cuts[1:, 0]), logs)))


def cut_line(found: list[tuple[Rows, Array]], target: float, cuts: Array) -> str:
    """One set under one cut: strict recall, tables gone in all, and tokens gone in all and as the
    mean over questions; kept tables count whole."""
    hit, tables, tokens, shares = 0, 0, 0.0, []
    for row, chance in found:
        kept = chance >= min(limit_of(target, row.n_tables, cuts), chance.max())
        hit += not row.lost and not (row.gold & ~kept).any()
        tables, tokens = tables + int(kept.sum()), tokens + float(row.tokens[kept].sum())
        shares.append(float(row.tokens[kept].sum()) / row.all_tokens)
    n = len(found)
    all_tables = sum(row.n_tables for row, _ in found)
    all_tokens = sum(row.all_tokens for row, _ in found)
    return (
        f"recall {100 * hit / n:5.1f}  tables gone {100 * (1 - tables / all_tables):5.1f} %"
        f"  tokens gone {100 * (1 - tokens / all_tokens):5.1f} %"
        f", mean of questions {100 * (1 - float(np.mean(shares))):5.1f} %"
    )
