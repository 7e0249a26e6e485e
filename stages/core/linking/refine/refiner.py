"""Refining with a model: two outer rounds, the key guard after each, and join paths.

Seed 004, 5. Round 0 puts the schema together, round 1 only adds, and the result is their
union. Failure keeps: where a call fails, everything that it could have chosen from stays, and
where an earlier stage failed, nothing is limited and no join path declined, so that faults
only ever enlarge the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stages.core.jsontypes import JsonMapping
from stages.core.lang import Lang
from stages.core.linking.brief import write_brief
from stages.core.linking.column_refs import ColumnRef
from stages.core.linking.join_graph import JoinPath, Relations
from stages.core.linking.refine.batches import RefineBatches, listed_columns
from stages.core.linking.refine.candidates import Candidate
from stages.core.linking.refine.choice import ColumnChoice, Selection, by_table
from stages.core.linking.refine.joining import Guard
from stages.core.linking.refine.rounds import (
    RefineOptions,
    RoundOptions,
    RoundPrompt,
    RoundReply,
    ask_round,
)
from stages.core.linking.resolve import ReplyNames
from stages.core.records import Statement, Task
from stages.core.text import visible

if TYPE_CHECKING:
    from stages.core.model import Model
    from stages.core.sandbox.session import Data

BRIEF_SHARE, CONFIRMED_SHARE = 3, 6
"""The parts of a prompt, one in so many, that the brief and the confirmed columns may take."""

REASON = 600
"""Characters kept of a reason."""

OFFERED = 10
"""Join paths offered to the model; more are added without being offered."""

_FAILED: Mapping[Lang, str] = {
    "en": "Kept because the call about it failed.",
    "zh": "相关调用失败，因此保留。",
}


@dataclass
class Progress:
    """What has come of it so far; what the section is made of.

    Attributes:
        selection: The chosen columns.
        declined: Reasons by the ends of join paths.
        unknown: Names in answers that mean nothing, in order.
        rounds: As the section lists them.
        notes, errors: What is worth knowing.
    """

    selection: Selection = field(default_factory=Selection)
    declined: dict[tuple[str, str], str] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    rounds: list[dict[str, object]] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def note(self, notes: Sequence[str]) -> None:
        """Add notes, each once."""
        self.notes |= dict.fromkeys(notes)


class Refiner:
    """The rounds of one task.

    Args:
        model: Whom to ask.
        data: What queries run on; None where there is nothing.
        task: The question, and the sections about it.
        candidates: The candidate tables by name.
        relations: Keys of the catalog.
        guard: The key guard.
        options: How it is done.
        safe: Whether an earlier stage failed, so that no path is offered to be declined.
    """

    def __init__(
        self,
        model: Model,
        data: Data | None,
        task: Task,
        candidates: Sequence[Candidate],
        relations: Relations,
        guard: Guard,
        options: RefineOptions,
        *,
        safe: bool,
    ) -> None:
        self._model, self._data, self._task = model, data, task
        self._candidates, self._relations, self._guard = candidates, relations, guard
        self._options, self._safe = options, safe
        tables = list(relations.tables.values())
        self._resolver = ReplyNames(tables, {item.name for item in candidates})
        self._brief = write_brief(
            task, options.lang, tokens=options.most // BRIEF_SHARE, excerpts=options.excerpts
        )
        self.found = Progress()
        self.found.note([f"the {name} is cut in the prompts" for name in self._brief.cut])

    async def run(self) -> Progress:
        """Both rounds.

        Raises:
            Exception: Whatever a call raises that is no `ModelError`.
        """
        for number in (0, 1):
            await self._round(number)
        return self.found

    async def _round(self, number: int) -> None:
        found = self.found
        shown = [
            (item, [name for name in item.columns if not found.selection.covers(item.name, name)])
            for item in self._candidates
        ]
        shown = [(item, columns) for item, columns in shown if columns]
        paths = self._offered() if number else []
        if not shown and not paths:
            found.rounds.append({"added": {}, "queries": [], "status": "skipped"})
            return
        sheet = RoundPrompt(
            self._brief, self._task, number, self._options, self._confirmed(number), paths
        )
        batches = sheet.batches(shown)
        found.note(batches.notes)
        asked = [
            (batch, sheet.request(batch, len(batches.batches) > 1)) for batch in batches.batches
        ]
        if sheet.too_long:
            outcomes = [RoundReply(batch, error=sheet.too_long) for batch, _ in asked]
        else:
            terms = RoundOptions(self._options.lang, self._options.timeout, bool(paths))
            outcomes = await ask_round(self._model, self._data, asked, terms)
        added = self._take(outcomes, batches)
        self._decline(outcomes, paths)
        guarded, notes = self._guard.add(found.selection)
        found.note(notes)
        self._log(number, [*added, *guarded], outcomes)

    def _confirmed(self, number: int) -> str:
        """The confirmed columns, for round 1."""
        if not number:
            return ""
        selection = self.found.selection
        chosen = {table: list(selection.columns(table)) for table in selection.tables}
        return listed_columns(chosen, self._options.most // CONFIRMED_SHARE)

    def _offered(self) -> list[JoinPath]:
        """The join paths that the model may decline."""
        if self._safe or self.found.errors:
            return []
        return self._relations.paths(self.found.selection.tables)[:OFFERED]

    def _take(self, outcomes: Sequence[RoundReply], batches: RefineBatches) -> list[ColumnRef]:
        """Choose what the answers name, and all that failed calls were about."""
        kept = ColumnChoice(_FAILED[self._options.lang])
        added = [unit for outcome in outcomes for unit in self._said(outcome)]
        lost = [unit for outcome in outcomes if outcome.error for unit in outcome.batch.units]
        reasons = {item.name: item.said for item in self._candidates}
        for table, column in [*lost, *batches.unshown]:
            said = reasons[table].get(column, {}).get("relevance_reason")
            if self.found.selection.add(table, column, ColumnChoice(said) if said else kept):
                added.append((table, column))
        return added

    def _said(self, outcome: RoundReply) -> list[ColumnRef]:
        """Choose what a conversation came to; what it changed its mind about is not chosen.

        The schema after the queries is the round's, narrower or corrected (seed 004, 5.2);
        one that names no table says nothing, and the one before stands.
        """
        last = next((reply for reply in outcome.replies[::-1] if any(self._tables(reply))), None)
        if last is None:
            return [unit for reply in outcome.replies for unit in self._read(reply)]
        return self._read(last)

    def _tables(self, reply: JsonMapping) -> Iterator[str]:
        """The tables of the catalog that an answer names."""
        named = (self._resolver.table(entry["table"]) for entry in reply["refined_schema"])
        return (table for table in named if table is not None)

    def _read(self, reply: JsonMapping) -> list[ColumnRef]:
        """Choose what one answer names; names that mean nothing are taken note of."""
        added = []
        for entry in reply["refined_schema"]:
            table = self._resolver.table(entry["table"])
            if table is None:
                self.found.unknown[_clean(entry["table"])] = None
                continue
            for said in entry["relevant_columns"]:
                column = self._resolver.column(table, said["column_name"])
                if column is None:
                    self.found.unknown[f"{table}.{_clean(said['column_name'])}"] = None
                elif self.found.selection.add(
                    table, column, ColumnChoice(_reason(said["relevance_reason"]))
                ):
                    added.append((table, column))
            if self.found.selection.add_table(table):
                self.found.note([f"{visible(table, 80)} was chosen without a column"])
        return added

    def _decline(self, outcomes: Sequence[RoundReply], paths: Sequence[JoinPath]) -> None:
        """Paths that every batch declined with a reason, where no call failed."""
        if any(outcome.error for outcome in outcomes):
            return
        said = [_declined(outcome.replies[-1]) for outcome in outcomes]
        for number, path in enumerate(paths, start=1):
            reasons = [one.get(f"p{number}", "") for one in said]
            if reasons and all(reasons):
                self.found.declined[path.ends] = reasons[0]

    def _log(self, number: int, added: Sequence[ColumnRef], outcomes: Sequence[RoundReply]) -> None:
        failed = [outcome for outcome in outcomes if outcome.error]
        if failed:
            self.found.errors.append(
                f"round {number}: {len(failed)} of {len(outcomes)} conversations failed, "
                f"so all that they were about stays: {failed[0].error}"
            )
        queries: list[Statement] = [entry for outcome in outcomes for entry in outcome.log]
        status = "confirmed" if all(outcome.confirmed for outcome in outcomes) else "open"
        if failed:
            status = "failed"
        elif number and not added:
            status = "converged"
        self.found.rounds.append({"added": by_table(added), "queries": queries, "status": status})


def _clean(said: str) -> str:
    return visible(said.encode("utf-8", "replace").decode(), 200)


def _reason(said: str) -> str:
    whole = said.strip().encode("utf-8", "replace").decode()
    return whole if len(whole) <= REASON else f"{whole[:REASON]}…(+{len(whole) - REASON})"


def _declined(reply: JsonMapping) -> dict[str, str]:
    """Reasons by the id of the path; a path declined without a reason is not."""
    found = {}
    for entry in reply.get("declined_paths", ()):
        reason = _reason(entry["reason"])
        if reason:
            found[entry["path"].strip().lower()] = reason
    return found
