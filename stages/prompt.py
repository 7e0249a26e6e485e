"""Write the solver's messages: fixed rules, the task's knowledge in full, its evidence.

The rules are the system message and the same for every task of a kind. The user message
holds the knowledge, uncut, and then video, context description, tables from documents,
question and hint. Every piece of data stands between boundaries that it cannot forge.

    winnow prompt described.jsonl --tasks task_15 --text > build/task_15.prompt.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

import click
import orjson

from stages.core.lang import Lang, choose
from stages.core.lines.sections import or_empty, section
from stages.core.records import Catalog, Describe, Meta, Prompt, PromptParts, Table, Task
from stages.core.runtime.stage import Capability, Stage
from stages.core.text import block, quoted, safe_lines, visible

if TYPE_CHECKING:
    from stages.core.tokens import Size

TOOL = "explore_data"
DIALECT = "duckdb"
ABOUT = "the tokens of {} are an estimate: a text that no model could read is not counted whole"


def prompt(
    task: Task,
    tables: Sequence[Table],
    *,
    catalog: Catalog,
    scaffolded: bool = False,
    scaffold: bool | None = None,
    tool: str | None = None,
    lang: str = "auto",
) -> Prompt:
    """The messages for the solver of one task.

    Args:
        task, tables, catalog: The task with its section describe, and what it is asked of.
        scaffolded: Whether the task folder has a ``workdir/solver.py``.
        scaffold: Whether to explain it; None where it is there.
        tool: The name of the tool that queries; None for the one that describe named.
        lang: ``zh``, ``en``, or ``auto`` for that of the description.

    Returns:
        A ``prompt`` section. No data is cut; knowledge stands in it once.
    """
    from stages.core.prompts import combined_hash, load

    described = or_empty(section(task, "describe"))
    meta = described.get("meta", {})
    lang = _language(lang, meta, task)
    tool = tool or str(meta.get("options", {}).get("tool", TOOL))
    files = "root" in catalog
    system, user = load("prompt", "system", lang), load("prompt", "user", lang)
    rules = system.render(
        files=files,
        tool=visible(tool, 80),
        dialect=visible(catalog.get("dialect", DIALECT), 40).lower(),
    )
    values = _values(task, tables, str(described.get("text", "")))
    evidence = user.render(**values, scaffold=scaffolded if scaffold is None else scaffold)
    sizes = _sizes(rules, str(values["knowledge"]), evidence)
    made = _section(rules, evidence, sizes)
    made["meta"] = {"lang": lang, "prompt": combined_hash(system, user)}
    return made


def _section(rules: str, evidence: str, sizes: Mapping[str, Size]) -> Prompt:
    """The section before its ``meta``: the messages, and their tokens by layer."""
    tokens = {name: found.tokens for name, found in sizes.items()}
    about = [name for name, found in sizes.items() if not found.exact]
    made: Prompt = {
        "messages": [
            {"role": "system", "content": rules},
            {"role": "user", "content": evidence},
        ],
        "tokens": sum(tokens.values()),
        "parts": cast(PromptParts, tokens),
    }
    if about:
        made["notes"] = [ABOUT.format(" and ".join(about))]
    return made


def _sizes(rules: str, knowledge: str, evidence: str) -> dict[str, Size]:
    """The tokens of the three layers; ``evidence`` holds the knowledge, which counts once.

    Texts of usual length are counted in one go, so that the vocabulary is loaded once.
    """
    from stages.core.tokens import PIECE, Size, beside, counts, size

    if len(rules) + len(evidence) <= PIECE:
        first, second, third = counts([rules, knowledge, evidence])
        sizes = (Size(first), Size(second), Size(third - second))
    else:
        sizes = (size(rules), size(knowledge), beside(evidence, knowledge))
    return dict(zip(("rules", "knowledge", "evidence"), sizes, strict=True))


def _language(lang: str, meta: Meta, task: Task) -> Lang:
    """The language asked for, else that of the description."""
    return choose(str(meta.get("lang", lang)) if lang == "auto" else lang, task.get("question", ""))


def _values(task: Task, tables: Sequence[Table], context: str) -> dict[str, str | bool]:
    """What the user message is filled with: neutralised, in blocks, empty where there is none.

    Knowledge that the description already holds is not repeated.
    """
    knowledge = safe_lines(task.get("knowledge", "")).strip()
    described = bool(knowledge) and _holds(context, knowledge, or_empty(section(task, "describe")))
    return {
        "knowledge": block("knowledge", knowledge) if knowledge and not described else "",
        "described": described,
        "video": _block("video", task.get("video", "")),
        "context": block("context", context.rstrip("\n")),
        "kept": block("kept", ", ".join(kept)) if (kept := _kept(task, tables)) else "",
        "question": _block("question", task.get("question", "")),
        "hint": _block("hint", task.get("evidence", "")),
    }


def _holds(context: str, knowledge: str, described: Describe) -> bool:
    """Whether the description was made with the knowledge and still holds it, in any format."""
    options = described.get("meta", {}).get("options", {})
    comments = "\n".join(f"-- {line}".rstrip() for line in knowledge.split("\n"))
    forms = (knowledge, comments, orjson.dumps(knowledge).decode()[1:-1])
    return options.get("skip_knowledge") is False and any(form in context for form in forms)


def _block(kind: str, body: str) -> str:
    """Raw text as a block; empty where there is no text."""
    text = safe_lines(body).strip()
    return block(kind, text) if text else ""


def _kept(task: Task, tables: Sequence[Table]) -> list[str]:
    """The tables that are always kept, unless a pin has folded them all the same."""
    shown = or_empty(section(task, "collapse")).get("shown", {})
    folded = {*shown.get("names", ()), *shown.get("line", ())}
    return [
        quoted(table["name"])
        for table in tables
        if table.get("always_keep", False) and table["name"] not in folded
    ]


def _text(found: Prompt) -> str:
    """The messages as Markdown, each under its role."""
    return "\n\n".join(f"# {m['role'].title()}\n\n{m['content']}" for m in found["messages"])


def _counts(found: Prompt) -> tuple[int, ...]:
    parts = found["parts"]
    return found["tokens"], parts["rules"], parts["knowledge"], parts["evidence"]


OPTIONS = (
    click.Option(
        ["--scaffold/--no-scaffold"],
        default=None,
        help="Explain workdir/solver.py. [default: where it is there]",
    ),
    click.Option(
        ["--tool"],
        default=None,
        help="Name of the solver's tool that queries any table. [default: as describe named it]",
    ),
    click.Option(
        ["--lang"],
        type=click.Choice(("auto", "zh", "en")),
        default="auto",
        show_default=True,
        help="Language of the rules; auto follows the context description.",
    ),
)

STAGE = Stage(
    prompt,
    needs=("describe",),
    uses=("collapse",),
    wants=(Capability.CATALOG, Capability.SCAFFOLDED),
    options=OPTIONS,
    text=_text,
    counts=_counts,
    summary="{0:token}: rules {1}, knowledge {2}, evidence {3}",
)
