"""Write the solver's messages: fixed rules, the task's knowledge in full, its evidence.

The rules are the system message and the same for every task of a kind. The user message
holds the knowledge, uncut, and then video, context description, tables from documents,
question and hint. Every piece of data stands between boundaries that it cannot forge.

A folder with a task.json gets the rules of a task, whose solver works in that folder; any
other gets those of a model that is asked for one SQL statement. With --style chat they stand
with the evidence in one message, to be pasted.

\b
    winnow prompt described.jsonl --tasks task_15 --text > build/task_15.prompt.md
    winnow prompt described.jsonl --messages | jq '{model: "gpt-4o", messages: .}' > request.json
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import click
import orjson

from stages.core.lang import Lang, choose
from stages.core.lines.sections import or_empty, section
from stages.core.params import FileContent
from stages.core.records import Catalog, Describe, Message, Meta, Prompt, PromptParts, Table, Task
from stages.core.runtime.stage import (
    TASK_INPUTS,
    BareText,
    Capability,
    Stage,
    TaskFolder,
    text_option,
    works_in_task,
)
from stages.core.text import block, quoted, safe_lines, visible

if TYPE_CHECKING:
    from stages.core.prompts import Template
    from stages.core.tokens import Size

Style = Literal["task", "sql", "chat"]

TOOL = "explore_data"
DIALECT = "duckdb"
ROLES: tuple[Literal["system", "user"], ...] = ("system", "user")
STYLES: tuple[Style, ...] = ("task", "sql", "chat")
ABOUT = "the tokens of {} are an estimate: a text that no model could read is not counted whole"
OVER = (
    "over the budget of {} tokens, {} too many, as knowledge, question and names are never left "
    "out; fold more tables, or raise --budget"
)


def prompt(
    task: Task,
    tables: Sequence[Table],
    *,
    catalog: Catalog,
    folder: TaskFolder | None = None,
    style: Style | Literal["auto"] = "auto",
    template: Template | None = None,
    own_rules: Template | None = None,
    budget: int = 0,
    scaffold: bool | None = None,
    tool: str | None = None,
    lang: str = "auto",
) -> Prompt:
    """The messages for the solver of one task.

    Args:
        task, tables, catalog: The task with its section describe, and what it is asked of.
        folder: What lies in the catalog's folder.
        style: One of `STYLES`; ``auto`` is ``task`` in a task's folder, else ``sql``.
        template, own_rules: The caller's instead of the messages, and after the rules.
        budget: Tokens for all messages; the description gives up what it can; 0 for no limit.
        scaffold: Whether to explain ``workdir/solver.py``; None where it is there.
        tool: The name of the tool that queries; None for the one that describe named.
        lang: ``zh``, ``en``, or ``auto`` for that of the description.

    Returns:
        A ``prompt`` section. No data is cut; knowledge stands in it once.

    Raises:
        DataError: The template names what there is not, or fails.
    """
    described = or_empty(section(task, "describe"))
    lang = _language(lang, described.get("meta", {}), task)
    if style == "auto":
        style = "task" if works_in_task(catalog, folder) else "sql"
    tool = tool or _tool(described) or TOOL
    rules = _rules(style, catalog, works_in_task(catalog, folder), tool, lang, own_rules)
    explained = bool(folder and folder.solver) if scaffold is None else scaffold
    values = {**_values(task, tables, style), "scaffold": explained}
    layout = Layout(style, lang, rules, template, values)
    made = layout.section(described.get("text", ""))
    if budget and made["tokens"] > budget:
        made = _within(task, tables, catalog, budget, made, layout)
    made["meta"] = _meta(layout, own_rules, budget)
    return made


def _rules(
    style: Style, catalog: Catalog, files: bool, tool: str, lang: Lang, own: Template | None
) -> str:
    """The shipped rules of a style, and the caller's after them."""
    from stages.core.prompts import load

    return load("prompt", "system", lang).render(
        style=style,
        files=files,
        tool=visible(tool, 80),
        dialect=visible(catalog.get("dialect", DIALECT), 40).lower(),
        own=own.source.strip() if own else "",
    )


@dataclass(frozen=True)
class Layout:
    """How the messages are put together around a context description.

    Args:
        style: Whose rules they are.
        lang: Their language.
        rules: The rules.
        own: The caller's template instead of both messages.
        values: What the templates are filled with, but for the description.
    """

    style: Style
    lang: Lang
    rules: str
    own: Template | None
    values: Mapping[str, str | bool]

    def section(self, context: str) -> Prompt:
        """The section before its ``meta``, with this description."""
        given = {**self.values, "context": block("context", context.rstrip("\n"))}
        return _section(self._messages(given), str(self.values["knowledge"]))

    def _messages(self, given: Mapping[str, object]) -> list[Message]:
        """The messages of the style, or of the caller's template: its blocks ``system`` and
        ``user``, else one message. What is pasted into a chat is one."""
        from stages.core.prompts import load

        if self.own is not None:
            found = self.own.messages(ROLES, rules=self.rules, **given)
            return [{"role": role, "content": found[role]} for role in ROLES if role in found]
        evidence = load("prompt", "user", self.lang).render(**given)
        if self.style == "chat":
            return [{"role": "user", "content": f"{self.rules}\n\n{evidence}"}]
        return [{"role": "system", "content": self.rules}, {"role": "user", "content": evidence}]


def _tool(described: Describe) -> str:
    """The tool that the description names, where it is not the usual one."""
    return str(described.get("meta", {}).get("options", {}).get("tool", ""))


def _meta(layout: Layout, own_rules: Template | None, budget: int) -> Meta:
    """What shaped the section; sections beyond describe count only where a budget cuts anew."""
    from stages.core.prompts import combined_hash, load

    shipped = [load("prompt", role, layout.lang) for role in ROLES]
    used = [*shipped, *(own for own in (layout.own, own_rules) if own is not None)]
    budgeted = ["refine", "prune", "vote", "link"] if budget else []
    meta: Meta = {
        "lang": layout.lang,
        "prompt": combined_hash(*used),
        "from": [*TASK_INPUTS, "tables", "catalog", "describe", "collapse", *budgeted],
    }
    options: dict[str, object] = {"budget": budget} if budget else {}
    if layout.style != "task":
        options["style"] = layout.style
    if options:
        meta["options"] = options
    return meta


def _within(
    task: Task,
    tables: Sequence[Table],
    catalog: Catalog,
    budget: int,
    whole: Prompt,
    layout: Layout,
) -> Prompt:
    """The messages with a description that leaves out enough, else the smallest, with a note."""
    from stages.core.context.budget import fit
    from stages.core.context.formats import writer
    from stages.core.context.view import page_of

    described = or_empty(section(task, "describe"))
    meta = described.get("meta", {})
    options = meta.get("options", {})
    page = page_of(
        task,
        tables,
        catalog,
        columns=str(options.get("columns", "refined")),
        budget=max(1, described.get("tokens", 0) - (whole["tokens"] - budget)),
        tool=str(options.get("tool", TOOL)),
        skip_knowledge=bool(options.get("skip_knowledge", True)),
        lang=_language("auto", meta, task),
    )
    made = layout.section(fit(page, writer(described.get("format", "context"))).text)
    if made["tokens"] > budget:
        over = made["tokens"] - budget
        made["notes"] = [*made.get("notes", []), OVER.format(budget, over)]
    return made


def _section(messages: list[Message], knowledge: str) -> Prompt:
    """The section before its ``meta``: the messages, and their tokens by layer."""
    sizes = _sizes(messages, knowledge)
    tokens = {name: found.tokens for name, found in sizes.items()}
    about = [name for name, found in sizes.items() if not found.exact]
    made: Prompt = {
        "messages": messages,
        "tokens": sum(tokens.values()),
        "parts": cast(PromptParts, tokens),
    }
    if about:
        made["notes"] = [ABOUT.format(" and ".join(about))]
    return made


def _sizes(messages: list[Message], knowledge: str) -> dict[str, Size]:
    """The tokens of the three layers; the last message holds the knowledge, which counts once.

    Texts of usual length are counted in one go, so that the vocabulary is loaded once.
    """
    from stages.core.tokens import PIECE, Size, beside, counts, size

    *before, evidence = (message["content"] for message in messages)
    rules = "".join(before)
    knowledge = knowledge if knowledge in evidence else ""
    if len(rules) + len(evidence) <= PIECE:
        first, second, third = counts([rules, knowledge, evidence])
        sizes = (Size(first), Size(second), Size(third - second))
    else:
        sizes = (size(rules), size(knowledge), beside(evidence, knowledge))
    return dict(zip(("rules", "knowledge", "evidence"), sizes, strict=True))


def _language(lang: str, meta: Meta, task: Task) -> Lang:
    """The language asked for, else that of the description."""
    return choose(str(meta.get("lang", lang)) if lang == "auto" else lang, task.get("question", ""))


def _values(task: Task, tables: Sequence[Table], style: Style) -> dict[str, str | bool]:
    """What the user message is filled with: neutralised, in blocks, empty where there is none.

    Knowledge that the description already holds is not repeated.
    """
    context = str(or_empty(section(task, "describe")).get("text", ""))
    knowledge = safe_lines(task.get("knowledge", "")).strip()
    described = bool(knowledge) and _holds(context, knowledge, or_empty(section(task, "describe")))
    return {
        "style": style,
        "knowledge": block("knowledge", knowledge) if knowledge and not described else "",
        "described": described,
        "video": _block("video", task.get("video", "")),
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


def _as_json(found: Prompt) -> str:
    """The messages as a program hands them to a model: OpenAI's list, as JSON."""
    return orjson.dumps(found["messages"], option=orjson.OPT_INDENT_2).decode()


def _markdown(found: Prompt) -> str:
    return ".md"


def _json(found: Prompt) -> str:
    return ".json"


def _template(path: Path) -> Template:
    from stages.core.prompts import read

    return read(path)


def _counts(found: Prompt) -> tuple[int, ...]:
    parts = found["parts"]
    return found["tokens"], parts["rules"], parts["knowledge"], parts["evidence"]


OPTIONS = (
    click.Option(
        ["--style"],
        type=click.Choice(("auto", *STYLES)),
        default="auto",
        show_default=True,
        help="task: a solver that works in the task's folder; sql: a model asked for one "
        "statement; chat: the same as one message; auto: task where there is a task.json.",
    ),
    click.Option(
        ["--template"],
        type=FileContent(_template),
        metavar="FILE",
        help="Jinja2 template of your own for the messages; docs/prompt-templates.md.",
    ),
    click.Option(
        ["--rules", "own_rules"],
        type=FileContent(_template),
        metavar="FILE",
        help="Text of your own that follows the rules.",
    ),
    click.Option(
        ["--budget"],
        type=click.IntRange(min=0),
        default=0,
        metavar="TOKENS",
        help="Leave out samples and examples to stay within TOKENS for all messages together.",
    ),
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
    uses=("collapse", "refine", "prune", "vote", "link"),
    wants=(Capability.CATALOG, Capability.FOLDER),
    options=OPTIONS,
    texts=(
        text_option(_text, _markdown),
        BareText(
            click.Option(
                ["--messages"],
                is_flag=True,
                help="Print the messages as JSON, for a program: one task, or many with -o FOLDER.",
            ),
            _as_json,
            _json,
        ),
    ),
    counts=_counts,
    summary="{0:token}: rules {1}, knowledge {2}, evidence {3}",
)
