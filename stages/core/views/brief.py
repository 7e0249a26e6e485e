"""One short line for each section of a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stages.core.counts import many

Section = Mapping[str, Any]


def _many(number: Any, one: str) -> str:
    """`many`, where a number stands."""
    return many(number, one) if isinstance(number, int) else f"? {one}s"


def _link(section: Section) -> str:
    kept = sum(bool(table.get("keep")) for table in section.get("tables", ()))
    return f"kept {kept} of {_many(section.get('n_tables'), 'table')}"


def _vote(section: Section) -> str:
    kept, all_tables = len(section.get("relevant_tables", ())), len(section.get("all_tables", ()))
    total = all_tables + len(section.get("always_keep", ()))
    return f"kept {kept} of {many(total, 'table')} in {_many(section.get('n_rounds_ok'), 'round')}"


def _shown(section: Section) -> str:
    shown = section.get("shown", {})
    counts = ", ".join(f"{len(shown.get(key, ()))} {words}" for key, words in SHOWN)
    return f"{counts}, by {' and '.join(section.get('by', ())) or 'pins'}"


def _describe(section: Section) -> str:
    whole = section.get("tokens_all")
    return f"{section.get('tokens', '?')}{f' of {whole}' if whole is not None else ''} tokens"


def _prompt(section: Section) -> str:
    messages = many(len(section.get("messages", ())), "message")
    return f"{messages}, {_many(section.get('tokens'), 'token')}"


def _refine(section: Section) -> str:
    schema = section.get("refined_schema", {})
    columns = sum(len(table.get("relevant_columns", ())) for table in schema.values())
    return f"{many(len(schema), 'table')}, {many(columns, 'column')}"


def _plan(section: Section) -> str:
    return many(str(section.get("logical_plan", "")).count("\n") + 1, "step")


def _prune(section: Section) -> str:
    columns = f"{section.get('n_kept_columns', '?')} of {_many(section.get('n_columns'), 'column')}"
    tables = f"{section.get('n_kept_tables', '?')} of {_many(section.get('n_tables'), 'table')}"
    return f"kept {columns} in {tables}"


def _explore(section: Section) -> str:
    judgments = section.get("table_judgments", {})
    relevant = sum(bool(one.get("relevant")) for one in judgments.values())
    return f"{relevant} of {many(len(judgments), 'table')} relevant"


def _other(section: Section) -> str:
    return ", ".join(key for key in section if key not in ("meta", "error"))


SHOWN = (("full", "in full"), ("names", "by names"), ("line", "as a line"))
BRIEF: Mapping[str, Callable[[Section], str]] = {
    "link": _link,
    "plan": _plan,
    "prune": _prune,
    "explore": _explore,
    "vote": _vote,
    "collapse": _shown,
    "describe": _describe,
    "prompt": _prompt,
    "refine": _refine,
}


def brief(name: str, section: Section) -> str:
    """What the section comes to, with its model, its cost and its error."""
    parts = [BRIEF.get(name, _other)(section), *_cost(section.get("meta", {}))]
    if section.get("error"):
        parts.append(f"ERROR {section['error']}")
    return "; ".join(part for part in parts if part)


def _cost(meta: Mapping[str, Any]) -> list[str]:
    parts = []
    if meta.get("model"):
        parts.append(str(meta["model"]))
    if meta.get("calls"):
        parts.append(
            f"{_many(meta['calls'], 'call')}, {meta.get('tokens_in', 0)} + {meta.get('tokens_out', 0)} tokens"
        )
    if meta.get("usd") is not None:
        parts.append(f"${meta['usd']:.4f}")
    if meta.get("skipped"):
        parts.append(f"nothing asked: {meta['skipped']}")
    return parts
