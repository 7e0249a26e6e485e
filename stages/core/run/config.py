"""The configuration of a run, read strictly from YAML (seed 002: "strict YAML config").

The keys are those of ``schemas/inputs/run.json``. What is wrong is told with the file, the
line and the nearest right name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from stages.core.errors import DataError
from stages.core.jsontypes import JsonMapping, JsonObject, JsonValue
from stages.core.lines import schema
from stages.core.yamltext import QUOTE_IT, Place, YamlText, compose, near, read_yaml

if TYPE_CHECKING:
    import yaml
    from jsonschema import ValidationError

SCALARS = ("str", "int", "float", "bool", "null")
KINDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "keys",
    "null": "nothing",
}
FREE = ("max_workers", "task_timeout", "store", "name")
"""Keys that may differ when a run is taken up again: they change no result."""
FREE_MODEL = ("concurrency", "requests_per_minute", "retries", "timeout", "cache", "offline")
"""The same, of ``model``."""


@dataclass(frozen=True)
class StageChoice:
    """A stage of the chain, and the options that the file gives it.

    Attributes:
        name: Of the command.
        options: By name, with ``_`` or ``-``.
        place: ``file:line:column`` of the stage, for complaints.
        places: The same of each option.
    """

    name: str
    options: JsonMapping
    place: str = ""
    places: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RunConfig:
    """A configuration that fits its schema, with every default filled in.

    Attributes:
        path: The file.
        record: Its keys and values.
        stages: The chain after scan.
    """

    path: str
    record: JsonMapping
    stages: tuple[StageChoice, ...]

    @property
    def name(self) -> str:
        """The first part of run ids."""
        return str(self.record.get("name") or Path(self.path).stem)

    @property
    def kind(self) -> str:
        """``eval``, ``train`` or ``prod``."""
        return str(self.record["kind"])

    @property
    def schema_mode(self) -> str:
        """``none``, ``hybrid`` or ``oracle``."""
        return str(self.record["schema_mode"])

    @property
    def dataset(self) -> JsonMapping:
        """Where tasks come from."""
        return cast("JsonMapping", self.record["dataset"])

    @property
    def model(self) -> JsonMapping:
        """Who is asked; empty where the file does not say."""
        return cast("JsonMapping", self.record.get("model", {}))

    @property
    def gold(self) -> tuple[str, ...]:
        """Files of gold."""
        return texts(self.record.get("gold"))

    def dump(self) -> JsonObject:
        """The whole as JSON, for another process; `load` reads it."""
        chain = [[each.name, each.options, each.place] for each in self.stages]
        return {"path": self.path, "record": self.record, "stages": chain}

    @classmethod
    def load(cls, dumped: JsonMapping) -> RunConfig:
        """What `dump` wrote."""
        chain = tuple(StageChoice(*each) for each in dumped["stages"])
        return cls(dumped["path"], dumped["record"], chain)

    def identity(self) -> JsonObject:
        """What decides the results: a run that is taken up again has to have the same."""
        kept = {key: value for key, value in self.record.items() if key not in FREE}
        model = {key: value for key, value in self.model.items() if key not in FREE_MODEL}
        return {**kept, "model": model} if model else {**kept, "model": {}}


def texts(value: object) -> tuple[str, ...]:
    """A text, or a list of them, or nothing, as a tuple.

    >>> texts("a"), texts(["a", "b"]), texts(None)
    (('a',), ('a', 'b'), ())
    """
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(cast("Sequence[str]", value))


def read_config(path: Path, stages: Iterable[str]) -> RunConfig:
    """The configuration of a file.

    Args:
        path: The file.
        stages: Names of the stages that there are.

    Raises:
        DataError: It cannot be read, is no YAML, or breaks the format; the place is
            ``file:line:column``.
    """
    return parse_config(read_yaml(path, "a configuration is short"), str(path), stages)


def parse_config(raw: bytes, place: str, stages: Iterable[str]) -> RunConfig:
    """The configuration in the bytes of a file; see `read_config`."""
    node = compose(raw, place)
    if node is None:
        raise DataError("an empty file", place=place, hint="it needs at least a dataset")
    return _ConfigText(node, place).config(tuple(stages))


class _ConfigText(YamlText):
    """The document, checked against ``schemas/inputs/run.json``."""

    def scalar(self, node: yaml.ScalarNode) -> JsonValue:
        import yaml

        kind = node.tag.rpartition(":")[2]
        if kind not in SCALARS:
            raise self.fail(node, f"a {kind} may not stand here", "put it in quotes")
        value: JsonValue = yaml.SafeLoader("").construct_object(node)
        if isinstance(value, float) and not math.isfinite(value):
            raise self.fail(node, "no number that counts", "write a finite one")
        return value

    def config(self, known: tuple[str, ...]) -> RunConfig:
        """The configuration.

        Raises:
            DataError: The first place at which the file breaks the format.
        """
        from jsonschema import Draft202012Validator

        document = schema.input_file("run")
        found = list(Draft202012Validator(document).iter_errors(self.value))
        if found:
            raise self._complaint(min(found, key=self._precedence))
        record = with_defaults(document, self.value)
        chain = tuple(self._stages(record["stages"], known))
        self._agree(record)
        return RunConfig(self.place, record, chain)

    def _precedence(self, error: ValidationError) -> tuple[bool, int]:
        """A key that nobody knows, which may be a missing one, before all; then the first place."""
        unknown = error.validator == "additionalProperties"
        return not unknown, self.nodes[tuple(error.absolute_path)].start_mark.index

    def _complaint(self, error: ValidationError) -> DataError:
        path, kind = tuple(error.absolute_path), str(error.validator)
        node, shape = self.nodes[path], cast("JsonObject", error.schema)
        if kind == "additionalProperties":
            known = shape["properties"]
            odd = min(key for key in cast("JsonObject", error.instance) if key not in known)
            return self.fail(self.keys[(*path, odd)], f"unknown key {odd!r}", near(odd, known))
        here = str(path[-1]) if path else "the file"
        if kind == "enum":
            hint = near(str(error.instance), map(str, cast("Sequence[str]", error.validator_value)))
            return self.fail(node, f"{here}: {error.instance!r} is none of its values", hint)
        if kind == "type":
            wanted = error.validator_value
            names = [wanted] if isinstance(wanted, str) else cast("list[str]", wanted)
            what = f"{here}: wanted {' or '.join(KINDS[name] for name in names)}"
            return self.fail(node, what, QUOTE_IT if "string" in names else "")
        if kind == "required":
            return self.fail(node, "no dataset", "say which tasks to work on, under dataset")
        return self.fail(node, f"{here}: {error.message}")

    def _stages(self, chain: Sequence[JsonValue], known: tuple[str, ...]) -> Iterable[StageChoice]:
        seen: set[str] = set()
        for at, item in enumerate(chain):
            name, options = (item, {}) if isinstance(item, str) else next(iter(item.items()))
            where = ("stages", at) if isinstance(item, str) else ("stages", at, name)
            node = self.keys.get(where) or self.nodes.get(where)
            place = _place_of(self, node)
            if name not in known:
                hint = "scan runs by itself" if name == "scan" else near(name, known)
                raise DataError(f"no stage {name!r}", place=place, hint=hint)
            if name in seen:
                raise DataError(f"stage {name!r} stands twice", place=place)
            seen.add(name)
            options = options or {}
            places = {key: _place_of(self, self.keys.get((*where, key))) for key in options}
            yield StageChoice(name, options, place, places)

    def _agree(self, record: JsonMapping) -> None:
        """Refuse keys that contradict each other."""
        given = record["dataset"]
        ways = [key for key in ("tasks", "manifest", "questions") if key in given]
        if len(ways) != 1 or ("questions" in given) != ("source" in given or "schemas" in given):
            node = self.nodes[("dataset",)]
            what = "dataset wants tasks, or manifest, or questions with source or schemas"
            raise self.fail(node, what, f"here stand: {', '.join(given) or 'none'}")
        kind = record["kind"]
        if record["schema_mode"] == "oracle" and kind != "eval":
            what, hint = "schema_mode oracle shows the gold", "use kind: eval, or another mode"
            raise self.fail(self.nodes[("schema_mode",)], f"{what} to a {kind} run", hint)
        if record["schema_mode"] == "oracle" and not record.get("gold"):
            raise self.fail(self.nodes[("schema_mode",)], "schema_mode oracle needs gold")
        if record.get("gold") and kind != "eval":
            raise self.fail(self.keys[("gold",)], f"a {kind} run takes no gold", "use kind: eval")


def _place_of(text: YamlText, node: yaml.Node | None) -> str:
    return text.fail(node, "").place if node is not None else text.place


def with_defaults(document: JsonMapping, value: JsonMapping) -> JsonObject:
    """The object with the defaults of its schema, keys in the order of the schema.

    Args:
        document: The schema of an object.
        value: What fits it.
    """
    found = {}
    for key, shape in document["properties"].items():
        if key in value:
            found[key] = value[key]
        elif "default" in shape:
            found[key] = shape["default"]
    return found


def differences(before: object, now: object, path: Place = ()) -> list[str]:
    """What changed between two values of JSON, a line each: ``path: before -> now``.

    >>> differences({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3, "d": 4}})
    ['b.c: 2 -> 3', 'b.d: nothing -> 4']
    """
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        keys = [*before, *(key for key in now if key not in before)]
        pairs = ((key, before.get(key), now.get(key)) for key in keys)
        return [line for key, a, b in pairs for line in differences(a, b, (*path, key))]
    if before == now:
        return []
    at = ".".join(map(str, path))
    return [f"{at}: {_short(before)} -> {_short(now)}"]


def _short(value: object) -> str:
    import orjson

    text = "nothing" if value is None else orjson.dumps(value).decode()
    return text if len(text) <= 80 else f"{text[:77]}…"
