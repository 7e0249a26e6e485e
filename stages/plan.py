"""Plan what a question needs, from the question alone: filters, groups, aggregates, output.

Two drafts are written at a higher temperature and merged into the master logical plan at a
lower one. No table or column is shown, so that later stages look for what the question needs
rather than for what the schema happens to offer.

With --model builtin (the default) the plan is made of the phrases that stand in the question.

  winnow scan examples/task_15 | winnow plan | jq -r 'select(.kind == "task").plan.logical_plan'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from stages.core import prompts
from stages.core.errors import ModelError
from stages.core.lang import Lang, choose
from stages.core.lines import schema
from stages.core.linking.plan import number_steps, steps
from stages.core.records import Meta, Plan, Table, Task
from stages.core.runtime.stage import ASKS, Capability, Stage
from stages.core.text import block, safe_lines

if TYPE_CHECKING:
    from stages.core.model import Model, Request

DRAFTS = 2
"""Independent drafts (seed 004, 3.1)."""
DRAFT_TEMPERATURE = 0.8
MERGE_TEMPERATURE = 0.2
"""Temperatures of drafts and merge (APEX-SQL, parameters)."""
CALL_SECONDS = 90.0


async def plan(
    task: Task,
    tables: Sequence[Table],
    *,
    model: Model | None = None,
    lang: str = "auto",
    drafts: int = DRAFTS,
    temperature: float | None = None,
    timeout: float | None = CALL_SECONDS,
) -> Plan:
    """The master logical plan of a task.

    Args:
        task: Only its question is looked at.
        tables: Not looked at.
        model: Whom to ask; None makes the plan of the question's own phrases.
        lang: Language of the instructions: ``zh``, ``en`` or ``auto``.
        drafts: Drafts to merge; one is taken as it is.
        temperature: Of the drafts; the merge never takes more than 0.2.
        timeout: Seconds for one call.
    """
    question = task.get("question", "")
    lang = choose(lang, question)
    if model is None:
        return _section(number_steps(steps(question, lang)), [], "", {"lang": lang})
    meta: Meta = {"lang": lang, "prompt": _hash(lang)}
    written, error = await _drafts(model, question, lang, drafts, temperature, timeout)
    if not written:
        return _section(number_steps(steps(question, lang)), [], error, meta)
    if len(written) == 1:
        return _section(written[0], written, "", meta)
    try:
        heat = MERGE_TEMPERATURE if temperature is None else min(temperature, MERGE_TEMPERATURE)
        merged = await model.ask(
            _request("merge", lang, _merge_input(question, written), heat), timeout=timeout
        )
    except ModelError as failed:
        # The longest draft leaves out least.
        return _section(
            max(written, key=len), written, f"the drafts could not be merged: {failed}", meta
        )
    return _section(number_steps(merged.data["steps"]), written, "", meta)


async def _drafts(
    model: Model,
    question: str,
    lang: Lang,
    number: int,
    temperature: float | None,
    timeout: float | None,
) -> tuple[list[str], str]:
    """The drafts that came, by sample number, and why none did where none did."""
    from dataclasses import replace

    from stages.core.model.request import ask_together

    heat = DRAFT_TEMPERATURE if temperature is None else temperature
    request = _request("draft", lang, block("question", safe_lines(question)), heat)
    asked = [replace(request, sample=sample) for sample in range(max(1, number))]
    written, errors = [], []
    for answer in await ask_together(model, asked, timeout):
        if isinstance(answer, ModelError):
            errors.append(str(answer))
        else:
            written.append(number_steps(answer.data["steps"]))
    return written, f"no draft came: {errors[0]}" if errors else ""


def _request(role: str, lang: Lang, said: str, temperature: float) -> Request:
    from stages.core.model import Request

    messages = (
        {"role": "system", "content": prompts.load("plan", role, lang).render()},
        {"role": "user", "content": said},
    )
    return Request(
        messages=messages, schema=schema.reply("plan"), name="logical_plan", temperature=temperature
    )


def _merge_input(question: str, written: Sequence[str]) -> str:
    parts = [block("question", safe_lines(question))]
    return "\n\n".join(parts + [block("draft", safe_lines(draft)) for draft in written])


def _hash(lang: Lang) -> str:
    return prompts.combined_hash(*(prompts.load("plan", role, lang) for role in ("draft", "merge")))


def _section(logical_plan: str, drafts: list[str], error: str, meta: Meta) -> Plan:
    return {"logical_plan": logical_plan, "drafts": drafts, "error": error, "meta": meta}


def _counts(made: Plan) -> tuple[int]:
    return (made["logical_plan"].count("\n") + 1,)


STAGE = Stage(
    plan,
    inputs=("question",),
    reads_tables=False,
    wants=(*ASKS, Capability.TEMPERATURE),
    options=(
        click.Option(
            ["--drafts"],
            type=click.IntRange(1, 9),
            default=DRAFTS,
            show_default=True,
            help="Independent drafts to merge.",
        ),
    ),
    counts=_counts,
    summary="{0:step}",
)
