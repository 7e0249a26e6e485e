"""What a model costs by litellm's price list, read as a data file: litellm is not imported."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

PRICE_LIST = "model_prices_and_context_window_backup.json"


@dataclass(frozen=True)
class Price:
    """US dollars for one token in and for one token out."""

    one_in: float
    one_out: float

    def of(self, tokens_in: int, tokens_out: int) -> float:
        """The cost of a call.

        >>> Price(1e-06, 2e-06).of(1000, 500)
        0.002
        """
        return self.one_in * tokens_in + self.one_out * tokens_out


def price(model: str, base_url: str | None = None) -> Price | None:
    """The price of a model; None where the list does not know it.

    ``openai/…`` at a URL of the user's own is whatever that server calls so, and has none.
    """
    if base_url and model.startswith("openai/"):
        return None
    entry = _listed().get(model) or _listed().get(model.partition("/")[2])
    if not isinstance(entry, dict):
        return None
    one_in, one_out = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    if one_in is None or one_out is None or not _same_provider(model, entry):
        return None
    return Price(float(one_in), float(one_out))


def _same_provider(model: str, entry: dict[str, Any]) -> bool:
    """Whether an entry found under the bare name is the named provider's."""
    provider, slash, _ = model.partition("/")
    return not slash or model in _listed() or entry.get("litellm_provider") == provider


@lru_cache(maxsize=1)
def _listed() -> dict[str, Any]:
    """The list that the installed litellm ships; empty where there is none."""
    spec = importlib.util.find_spec("litellm")
    path = Path(spec.origin).parent / PRICE_LIST if spec and spec.origin else Path()
    if not path.is_file():
        return {}
    found: dict[str, Any] = orjson.loads(path.read_bytes())
    return found
