"""The records that stand on lines, as types. Made by tools/make/records.py from schemas/.

At run time every record is a dict: the classes are for type checkers alone, since making
them would cost each command more than reading a line does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal, NotRequired, TypedDict

    from stages.core.jsontypes import JsonObject, JsonValue

__all__ = [
    "Catalog",
    "Collapse",
    "Column",
    "Describe",
    "DescribeTables",
    "Document",
    "Evidence",
    "Explore",
    "Field",
    "ForeignKey",
    "JudgedColumn",
    "Link",
    "LinkColumn",
    "LinkEdge",
    "LinkTable",
    "Message",
    "Meta",
    "Pin",
    "Plan",
    "Prepare",
    "PreparedDocument",
    "PreparedTable",
    "Prompt",
    "PromptParts",
    "Prune",
    "PruneLost",
    "PruneVote",
    "Question",
    "Refine",
    "RefinePath",
    "RefineRound",
    "RefinedColumn",
    "RefinedTable",
    "Rows",
    "SchemaColumn",
    "SchemaFile",
    "SchemaForeignKey",
    "SchemaTable",
    "Shown",
    "Skipped",
    "Source",
    "Statement",
    "Summarize",
    "Table",
    "TableJudgment",
    "Task",
    "TaskError",
    "Vote",
]

if TYPE_CHECKING:

    class Document(TypedDict):
        """Document"""

        path: str
        kind: str
        bytes: int
        headings: NotRequired[list[str]]
        first_lines: NotRequired[list[str]]

    class Skipped(TypedDict):
        """Skipped"""

        path: str
        reason: str

    class Catalog(TypedDict):
        """The first of the three kinds of line: one folder, server or schema file, and what lies in it beside tables."""

        kind: Literal["catalog"]
        v: Literal[1]
        id: str
        name: str
        root: NotRequired[str]
        dialect: NotRequired[str]
        documents: NotRequired[list[Document]]
        skipped: NotRequired[list[Skipped]]
        warnings: NotRequired[list[str]]

    class Shown(TypedDict):
        """Canonical names, each in exactly one list."""

        full: list[str]
        names: list[str]
        line: list[str]

    Meta = TypedDict(
        "Meta",
        {
            "of": NotRequired[str],
            "from": NotRequired[list[str]],
            "model": NotRequired[str],
            "lang": NotRequired[str],
            "prompt": NotRequired[str],
            "calls": NotRequired[int],
            "tokens_in": NotRequired[int],
            "tokens_out": NotRequired[int],
            "usd": NotRequired[float | None],
            "skipped": NotRequired[str],
            "options": NotRequired[JsonObject],
        },
    )

    class Collapse(TypedDict):
        """What of each table is shown in the prompt, and the describe keys to fold."""

        keys: list[str]
        shown: Shown
        by: list[str]
        pinned: NotRequired[list[str]]
        notes: NotRequired[list[str]]
        meta: NotRequired[Meta]

    class DescribeTables(TypedDict):
        """DescribeTables"""

        full: int
        names: int
        line: int

    class Describe(TypedDict):
        """The context description: full tables, folded tables and documents as text."""

        text: str
        format: Literal["context", "ddl", "json"]
        tokens: int
        tokens_all: NotRequired[int]
        tables: DescribeTables
        gave_up: NotRequired[list[str]]
        notes: NotRequired[list[str]]
        over_budget: NotRequired[int]
        meta: NotRequired[Meta]

    class JudgedColumn(TypedDict):
        """JudgedColumn"""

        column_name: str
        relevance_reason: str
        observations: str

    class Statement(TypedDict):
        """Statement"""

        sql: str
        res: str

    class TableJudgment(TypedDict):
        """TableJudgment"""

        table_full_name: str
        relevant: bool
        relevant_columns: list[JudgedColumn]
        table_summary: str
        exploration_log: list[Statement]
        error: NotRequired[str]

    class Explore(TypedDict):
        """A judgment for every candidate table, with the statements that were run to reach it."""

        table_judgments: dict[str, TableJudgment]
        notes: NotRequired[list[str]]
        error: str
        meta: NotRequired[Meta]

    class Evidence(TypedDict):
        """Evidence"""

        type: Literal[
            "name",
            "description",
            "glossary",
            "value",
            "key",
            "neighbour",
            "co-occurrence",
            "rule",
            "model",
            "routing",
            "form",
        ]
        words: list[str]
        weight: float
        note: NotRequired[str]

    class LinkTable(TypedDict):
        """LinkTable"""

        name: str
        score: float
        keep: bool
        evidence: list[Evidence]

    class LinkColumn(TypedDict):
        """LinkColumn"""

        table: str
        name: str
        score: float
        keep: bool
        evidence: list[Evidence]

    class LinkEdge(TypedDict):
        """LinkEdge"""

        left: str
        left_columns: list[str]
        right: str
        right_columns: list[str]
        how: Literal["declared", "name", "value"]

    class Link(TypedDict):
        """Ranked tables and columns with typed evidence; sparse: what has no evidence and is not kept is only counted."""

        tables: list[LinkTable]
        columns: list[LinkColumn]
        edges: list[LinkEdge]
        n_tables: int
        n_columns: NotRequired[int]
        notes: NotRequired[list[str]]
        error: NotRequired[str]
        meta: NotRequired[Meta]

    class Plan(TypedDict):
        """The master logical plan: what the question asks for, without naming tables or columns."""

        logical_plan: str
        drafts: list[str]
        error: str
        meta: NotRequired[Meta]

    class PreparedTable(TypedDict):
        """PreparedTable"""

        name: str
        rows: int
        columns: list[str]
        failed: int
        notes: NotRequired[list[str]]

    class PreparedDocument(TypedDict):
        """PreparedDocument"""

        path: str
        kind: str
        lines: int
        tables: list[PreparedTable]
        warnings: NotRequired[list[str]]
        error: NotRequired[str]

    class Prepare(TypedDict):
        """What the documents of a task came to: the tables that were made of them, and passages to read."""

        database: NotRequired[str]
        documents: NotRequired[list[PreparedDocument]]
        passages: NotRequired[list[JsonValue]]

    class Message(TypedDict):
        """Message"""

        role: Literal["system", "user", "assistant", "tool"]
        content: str

    class PromptParts(TypedDict):
        """The same tokens by layer."""

        rules: int
        knowledge: int
        evidence: int

    class Prompt(TypedDict):
        """The solver's messages."""

        messages: list[Message]
        tokens: int
        parts: PromptParts
        notes: NotRequired[list[str]]
        meta: NotRequired[Meta]

    class PruneLost(TypedDict):
        """PruneLost"""

        tables: list[str]
        columns: dict[str, list[str] | int]

    class PruneVote(TypedDict):
        """PruneVote"""

        table: str
        column: NotRequired[str]
        irrelevant: int
        relevant: int
        kept: Literal["relevant", "name", "key", "votes", "failed", "refused"]

    class Prune(TypedDict):
        """The safe superset: tables and columns that may be needed, and what went."""

        kept: dict[str, list[str]]
        deleted: PruneLost
        cut: NotRequired[PruneLost]
        groups: dict[str, list[str]]
        votes: list[PruneVote]
        n_tables: int
        n_columns: int
        n_kept_tables: int
        n_kept_columns: int
        batches: int
        notes: list[str]
        error: str
        meta: NotRequired[Meta]

    class Question(TypedDict):
        """One question of a file for scan --questions: a line, or an element of one array. The keys may be those of BIRD and Spider (question_id, instance_id; instruction, utterance; db). Other keys are passed over."""

        id: str | int
        question: str
        evidence: NotRequired[str | None]
        db_id: NotRequired[str | None]
        difficulty: NotRequired[str | None]

    class RefinedColumn(TypedDict):
        """RefinedColumn"""

        column_name: str
        relevance_reason: str
        observations: NotRequired[str]

    class RefinedTable(TypedDict):
        """RefinedTable"""

        relevant_columns: list[RefinedColumn]

    class RefineRound(TypedDict):
        """RefineRound"""

        added: dict[str, list[str]]
        queries: list[JsonObject]
        status: Literal["confirmed", "open", "converged", "failed", "skipped"]

    class RefinePath(TypedDict):
        """RefinePath"""

        tables: list[str]
        joins: list[JsonObject]
        declined: NotRequired[str]

    class Refine(TypedDict):
        """The focused set: the tables and columns that the answer is made of, connected by keys."""

        refined_schema: dict[str, RefinedTable]
        rounds: list[RefineRound]
        paths: list[RefinePath]
        unknown: list[str]
        unconnected: list[list[str]]
        notes: list[str]
        error: str
        meta: NotRequired[Meta]

    class SchemaColumn(TypedDict):
        """SchemaColumn"""

        name: str
        type: NotRequired[str | None]
        nl_name: NotRequired[str | None]
        description: NotRequired[str | None]
        samples: NotRequired[list[JsonValue] | None]
        nullable: NotRequired[bool | None]
        fields: NotRequired[list[JsonValue] | None]

    class SchemaForeignKey(TypedDict):
        """SchemaForeignKey"""

        columns: list[str]
        ref_table: str
        ref_columns: NotRequired[list[str] | None]

    class SchemaTable(TypedDict):
        """SchemaTable"""

        name: str
        nl_name: NotRequired[str | None]
        description: NotRequired[str | None]
        family: NotRequired[str | int | None]
        columns: list[SchemaColumn]
        primary_key: NotRequired[list[str] | None]
        foreign_keys: NotRequired[list[SchemaForeignKey] | None]

    class SchemaFile(TypedDict):
        """A schema without data, for scan --catalog: one database as one JSON object."""

        db_id: NotRequired[str]
        dialect: NotRequired[str]
        tables: list[SchemaTable]

    class Summarize(TypedDict):
        """What each surviving table does for the question, before any data is looked at."""

        query_specific_content_analysis: str
        table_functions: dict[str, str]
        roles: dict[str, list[Literal["target", "filter", "bridge", "calculation"]]]
        notes: NotRequired[list[str]]
        error: str
        meta: NotRequired[Meta]

    class Source(TypedDict):
        """Source"""

        kind: str
        path: NotRequired[str]
        url: NotRequired[str]
        table: NotRequired[str]
        bytes: NotRequired[int]
        view: NotRequired[bool]
        reader: NotRequired[JsonObject]

    class Rows(TypedDict):
        """Rows"""

        count: int | None
        how: Literal["exact", "estimate", "unknown"]

    class Field(TypedDict):
        """Field"""

        name: str
        type: str
        description: NotRequired[str]
        examples: NotRequired[list[str]]

    class Column(TypedDict):
        """Column"""

        name: str
        type: str
        declared: NotRequired[str]
        nullable: NotRequired[bool | None]
        key: NotRequired[Literal["primary", "unique", "foreign"]]
        nl_name: NotRequired[str]
        description: NotRequired[str]
        comment: NotRequired[str]
        generated: NotRequired[bool]
        hidden: NotRequired[bool]
        examples: NotRequired[list[str]]
        fields: NotRequired[list[Field]]

    class ForeignKey(TypedDict):
        """ForeignKey"""

        columns: list[str]
        ref_table: str
        ref_columns: list[str]

    class Table(TypedDict):
        """The second kind of line: one table of a catalog, on a line of its own."""

        kind: Literal["table"]
        catalog: str
        name: str
        aliases: NotRequired[list[str]]
        describe_key: str
        nl_name: NotRequired[str]
        description: NotRequired[str]
        comment: NotRequired[str]
        source: NotRequired[Source]
        rows: NotRequired[Rows]
        columns: list[Column]
        checked: NotRequired[Literal["full", "sample", "declared", "none"]]
        primary_key: NotRequired[list[str]]
        foreign_keys: NotRequired[list[ForeignKey]]
        sample: NotRequired[list[dict[str, str | None]]]
        family: NotRequired[str | int]
        always_keep: NotRequired[bool]
        warnings: NotRequired[list[str]]
        error: NotRequired[str]

    class Pin(TypedDict):
        """Pin"""

        keep: NotRequired[list[str]]
        fold: NotRequired[list[str]]

    class TaskError(TypedDict):
        """Only for a task without a question or without a usable table."""

        stage: str
        message: str

    class Task(TypedDict):
        """The third kind of line: one question, and the sections that the stages have added. Sections and unknown keys are checked by their own schemas or pass through."""

        kind: Literal["task"]
        catalog: NotRequired[str]
        task_id: str
        question: NotRequired[str]
        difficulty: NotRequired[str]
        evidence: NotRequired[str]
        knowledge: NotRequired[str]
        video: NotRequired[str]
        root: NotRequired[str]
        pin: NotRequired[Pin]
        error: NotRequired[TaskError]

    class Vote(TypedDict):
        """TableRelevanceResult: the aggregated verdict of all rounds."""

        task_id: str
        per_table: dict[str, bool]
        relevant_tables: list[str]
        skipped_tables: list[str]
        always_keep: list[str]
        skipped_describe_keys: list[str]
        reasons: dict[str, str]
        all_tables: list[str]
        vote_tally: dict[str, str]
        n_rounds_ok: int
        error: str
        meta: NotRequired[Meta]
else:

    def __getattr__(name: str) -> type:
        if name in __all__:
            return dict
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
