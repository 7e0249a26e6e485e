"""Keeping keys out of messages: what a provider says may repeat the key that it refuses."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from stages.core.model.options import secret
from stages.core.text import visible

HIDDEN = "[key]"
LONGEST_MESSAGE = 300
SHORTEST_KEY = 8
"""Characters; a shorter value is no key, and may be part of a common word."""
KEY_SHAPED = re.compile(r"\b(?:sk|pk|rk|gsk|xai|key|hf|AIza)[-_][\w*-]{8,}|\bBearer\s+\S+")


def scrubbed(text: str, options: Mapping[str, Any]) -> str:
    """One short line without keys: those in the environment, in the options, and what looks like one.

    >>> scrubbed("Incorrect API key: sk-abc123def456ghi", {})
    'Incorrect API key: [key]'
    """
    for key in sorted(_keys(options), key=len, reverse=True):
        text = text.replace(key, HIDDEN)
    return visible(KEY_SHAPED.sub(HIDDEN, " ".join(text.split())), LONGEST_MESSAGE)


def _keys(options: Mapping[str, Any]) -> Iterator[str]:
    values = [*_values(dict(os.environ)), *_values(options)]
    return (value for value in values if isinstance(value, str) and len(value) >= SHORTEST_KEY)


def _values(part: Any, *, hidden: bool = False) -> Iterator[Any]:
    """What stands under the name of a secret, at any depth."""
    if isinstance(part, Mapping):
        for name, inner in part.items():
            yield from _values(inner, hidden=hidden or secret(name))
    elif isinstance(part, list):
        for inner in part:
            yield from _values(inner, hidden=hidden)
    elif hidden:
        yield part
