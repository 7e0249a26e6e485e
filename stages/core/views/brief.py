"""One short line for each section of a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Section = Mapping[str, Any]


def _link(section: Section) -> str:
    kept = sum(bool(table.get("keep")) for table in section.get("tables", ()))
    return f"kept {kept} of {section.get('n_tables', '?')} tables"


def _vote(section: Section) -> str:
    kept, all_tables = len(section.get("relevant_tables", ())), len(section.get("all_tables", ()))
    total = all_tables + len(section.get("always_keep", ()))
    return f"kept {kept} of {total} tables in {section.get('n_rounds_ok', '?')} rounds"


def _shown(section: Section) -> str:
    shown = section.get("shown", {})
    counts = ", ".join(f"{len(shown.get(key, ()))} {words}" for key, words in SHOWN)
    return f"{counts}, by {' and '.join(section.get('by', ())) or 'pins'}"


def _describe(section: Section) -> str:
    whole = section.get("tokens_all")
    return f"{section.get('tokens', '?')}{f' of {whole}' if whole is not None else ''} tokens"


def _prompt(section: Section) -> str:
    return f"{len(section.get('messages', ()))} messages, {section.get('tokens', '?')} tokens"


def _refine(section: Section) -> str:
    schema = section.get("refined_schema", {})
    columns = sum(len(table.get("relevant_columns", ())) for table in schema.values())
    return f"{len(schema)} tables, {columns} columns"


def _other(section: Section) -> str:
    return ", ".join(key for key in section if key not in ("meta", "error"))


SHOWN = (("full", "in full"), ("names", "by names"), ("line", "as a line"))
BRIEF: Mapping[str, Callable[[Section], str]] = {
    "link": _link,
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
            f"{meta['calls']} calls, {meta.get('tokens_in', 0)} + {meta.get('tokens_out', 0)} tokens"
        )
    if meta.get("usd") is not None:
        parts.append(f"${meta['usd']:.4f}")
    if meta.get("skipped"):
        parts.append(f"nothing asked: {meta['skipped']}")
    return parts
