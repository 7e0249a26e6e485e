"""Whether a value fits the schema of the reply, and what is wrong where it does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import orjson

LONGEST_PROBLEM = 400
"""Characters of a problem that go back to the model; a value in it may be long."""


def checker(schema: Mapping[str, Any]) -> Callable[[Any], str]:
    """A function that says what is wrong with a value, in one line; empty where it fits.

    >>> wrong = checker({"type": "object", "required": ["a"]})
    >>> wrong({"a": 1}), wrong({})
    ('', "the value: 'a' is a required property")
    """
    return _checker(orjson.dumps(schema, option=orjson.OPT_SORT_KEYS))


@lru_cache(maxsize=256)
def _checker(canonical: bytes) -> Callable[[Any], str]:
    import jsonschema_rs

    schema = orjson.loads(canonical)
    fits = jsonschema_rs.Draft202012Validator(schema).is_valid
    return lambda value: "" if fits(value) else _explain(schema, value)


def _explain(schema: Mapping[str, Any], value: Any) -> str:
    """The error that says most; jsonschema is only imported where there is one."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(schema).iter_errors(value))
    if error is None:  # the two libraries differ: keep the verdict of the one that refused
        return "the value does not fit the schema"
    path = error.json_path.removeprefix("$").lstrip(".") or "the value"
    return f"{path}: {error.message}"[:LONGEST_PROBLEM]
