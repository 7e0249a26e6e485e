"""Summarize what each surviving table does for the question, before any data is looked at.

One analysis of the question against the schema, and for every table that `prune` left its
function and its roles: target, filter, bridge, calculation. Later stages explore the tables
under this expectation. One call sees all tables where they fit; else batches are merged.

With --model builtin (the default) roles come from the keys and the words that match.

  winnow scan examples/task_15 | winnow plan | winnow prune | winnow summarize | winnow show
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from stages.core.excerpts import KNOWLEDGE_CHARS, VIDEO_CHARS, Excerpts
from stages.core.excerpts import OPTIONS as EXCERPTS
from stages.core.lang import choose
from stages.core.lines.sections import or_empty, section
from stages.core.linking.column_refs import group_tables, narrow
from stages.core.linking.render import sheet
from stages.core.linking.summarize import Semantics, ask, prompt_hash, semantics
from stages.core.params import count_option
from stages.core.records import Meta, Summarize, Table, Task
from stages.core.runtime.stage import JUDGES, TASK_INPUTS, Stage

if TYPE_CHECKING:
    from stages.core.judge.judgment import ValueSearch
    from stages.core.model import Model

MAX_TOKENS = 32_000
"""Tokens of one prompt: a superset of 2,000 columns takes about as many."""

CALL_SECONDS = 180.0
"""Time limit of one call; a reply speaks of every table."""


async def summarize(
    task: Task,
    tables: Sequence[Table],
    *,
    model: Model | None = None,
    lang: str = "auto",
    timeout: float | None = CALL_SECONDS,
    max_tokens: int = MAX_TOKENS,
    knowledge_chars: int = KNOWLEDGE_CHARS,
    video_chars: int = VIDEO_CHARS,
    values: ValueSearch | None = None,
) -> Summarize:
    """What the surviving tables do for the question.

    Args:
        task: Its ``prune`` section says which tables and columns are shown.
        tables: All tables of the catalog; their order changes nothing.
        model: Whom to ask; None is the built-in judge.
        lang: Language of instructions and texts: ``zh``, ``en`` or ``auto``.
        timeout: Seconds for one call.
        max_tokens: Tokens of one whole prompt.
        knowledge_chars, video_chars: Characters shown of these to a model; 0 shows all.
        values: Looks words up in the data for the built-in judge.
    """
    lang = choose(lang, task.get("question", ""))
    ordered = sorted(tables, key=lambda table: table["name"])
    kept: Mapping[str, Sequence[str]] = or_empty(section(task, "prune")).get("kept", {})
    candidates = [narrow(t, kept[t["name"]]) for t in ordered if t["name"] in kept]
    used = [*TASK_INPUTS, "tables", "plan", "prune"]
    used += ["link"] if section(task, "link") is not None else []
    meta: Meta = {"from": used, "lang": lang}
    if not candidates:
        return _section(Semantics("", {}, {}), [], "", {**meta, "skipped": "no table survives"})
    if model is None:
        return _section(semantics(task, ordered, candidates, lang, values), candidates, "", meta)
    sheets = [sheet(group, lang) for group in group_tables(candidates)]
    excerpts = Excerpts(knowledge_chars, video_chars)
    read = await ask(model, task, sheets, lang, most=max_tokens, timeout=timeout, excerpts=excerpts)
    meta |= {"from": [*used, "prepare"], "prompt": prompt_hash(lang)}
    options = {"max_tokens": max_tokens} if max_tokens != MAX_TOKENS else {}
    meta |= {"options": given} if (given := {**options, **excerpts.differing}) else {}
    said, notes = read.said, list(read.notes)
    silent = [table["name"] for table in candidates if not said.functions.get(table["name"])]
    if silent or not said.analysis:
        said = _filled(said, semantics(task, ordered, candidates, lang, values))
    if silent and not read.error:
        notes.append(f"the model says nothing of {len(silent)} of {len(candidates)} tables")
    return _section(said, candidates, read.error, meta, notes)


def _filled(said: Semantics, safe: Semantics) -> Semantics:
    """What the model says, and the built-in judge's word where it says nothing."""
    functions, roles = {**safe.functions}, {**safe.roles}
    for name, function in said.functions.items():
        if function:
            functions[name], roles[name] = function, said.roles[name]
    return Semantics(said.analysis or safe.analysis, functions, roles)


def _section(
    said: Semantics,
    candidates: Sequence[Table],
    error: str,
    meta: Meta,
    notes: Sequence[str] = (),
) -> Summarize:
    """The section, its tables by name."""
    names = [table["name"] for table in candidates]
    made = {
        "query_specific_content_analysis": said.analysis,
        "table_functions": {name: said.functions[name] for name in names},
        "roles": {name: list(said.roles[name]) for name in names},
        **({"notes": list(notes)} if notes else {}),
        "error": error,
        "meta": meta,
    }
    return cast("Summarize", made)


def _counts(made: Summarize) -> tuple[int, ...]:
    return len(made["table_functions"]), sum(bool(roles) for roles in made["roles"].values())


STAGE = Stage(
    summarize,
    needs=("plan", "prune"),
    uses=("link", "prepare"),
    wants=JUDGES,
    options=(
        count_option(
            "--max-tokens",
            MAX_TOKENS,
            "Tokens of one prompt; more tables are asked about in batches.",
            unit="TOKENS",
        ),
        *EXCERPTS,
    ),
    counts=_counts,
    summary="{0:table}, {1} of them with a role",
)
