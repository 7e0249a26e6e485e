"""Trajectories in ATIF v1.8: one a task, a step for each stage; winnow's own stands in ``extra``.

Source: Harbor's RFC 0001, "Agent Trajectory Interchange Format". A step holds no time of its
own: the same task gives the same bytes, and times stand in ``timing.json``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stages import __version__
from stages.core.jsontypes import JsonMapping, JsonObject

VERSION = "ATIF-v1.8"
OWN = "winnow"
"""The key of ``extra`` that holds what ATIF has no place for."""


def trajectory(
    run_id: str, task: JsonMapping, stages: Iterable[tuple[str, str]], outcome: JsonMapping
) -> JsonObject:
    """The trajectory of one task.

    Args:
        run_id: Of the run; the session.
        task: The task line after the last stage.
        stages: Names of the stages that ran, with what failed, empty where nothing did.
        outcome: The record of the task; ``status``, ``usage`` and ``error`` are looked at.
    """
    steps = [_question(task)]
    models = []
    for name, error in stages:
        section = task.get(name)
        meta = section.get("meta", {}) if isinstance(section, Mapping) else {}
        model = meta.get("model")
        models += [model] if model else []
        steps.append(_step(len(steps) + 1, name, section, meta, error))
        steps += _inner(section, len(steps), model)
    agent: JsonObject = {"name": OWN, "version": __version__}
    if models:
        agent["model_name"] = next((name for name in models if name != "builtin"), models[0])
    return {
        "schema_version": VERSION,
        "session_id": run_id,
        "trajectory_id": task["task_id"],
        "agent": agent,
        "steps": steps,
        "final_metrics": _final(outcome.get("usage", {}), len(steps)),
        "extra": {
            OWN: {key: outcome[key] for key in ("status", "stage", "error") if key in outcome}
        },
    }


def _question(task: JsonMapping) -> JsonObject:
    """The first step: what the user asks."""
    own = {key: task[key] for key in ("evidence", "difficulty", "pin") if task.get(key)}
    step = {"step_id": 1, "source": "user", "message": task.get("question", "")}
    return {**step, "extra": {OWN: own}} if own else step


def _step(
    number: int, name: str, section: object, meta: Mapping[str, object], error: str
) -> JsonObject:
    """A stage as a call of a tool of its name."""
    content = error or _short(name, section)
    own: JsonObject = {"stage": name}
    if isinstance(section, Mapping):
        own["section"] = section
    if error:
        own["error"] = error
    found: JsonObject = {"step_id": number, "source": "agent", "message": ""}
    if meta.get("model"):
        found["model_name"] = meta["model"]
    found["tool_calls"] = [{"tool_call_id": name, "function_name": name, "arguments": {}}]
    found["observation"] = {"results": [{"source_call_id": name, "content": content}]}
    if meta.get("calls"):
        found["metrics"] = {
            "prompt_tokens": meta["tokens_in"],
            "completion_tokens": meta["tokens_out"],
            **({"cost_usd": meta["usd"]} if meta.get("usd") is not None else {}),
            "extra": {"calls": meta["calls"]},
        }
    return {**found, "extra": {OWN: own}}


def _short(name: str, section: object) -> str:
    """What a section says, in a few words."""
    from stages.core.readers import reader_of

    return reader_of(name).summary(section) if isinstance(section, Mapping) else ""


def _inner(section: object, before: int, model: object) -> list[JsonObject]:
    """The steps that a section brings itself: those of an agent's own turns."""
    return []


def _final(usage: Mapping[str, object], steps: int) -> JsonObject:
    found = {
        "total_prompt_tokens": usage.get("tokens_in", 0),
        "total_completion_tokens": usage.get("tokens_out", 0),
        "total_steps": steps,
    }
    return found if usage.get("usd") is None else {**found, "total_cost_usd": usage["usd"]}
