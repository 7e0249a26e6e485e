"""``--dump-prompt``: what would be sent, as readable text."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from stages.core.model.dry import Dry
from stages.core.model.log import Caller
from stages.core.model.options import ModelOptions
from stages.core.model.request import Request, whole
from stages.core.model.usage import many


class DumpPrompt(Dry):
    """Prints each request as it is asked.

    Args:
        options: How the model would be reached.
        write: Takes the text, piece by piece.
    """

    def __init__(self, options: ModelOptions, write: Callable[[str], object]) -> None:
        super().__init__(options)
        self._write = write
        self._calls = 0
        self._shown: dict[bytes, int] = {}

    def asked(self, request: Request, caller: Caller, *, cached: bool) -> None:
        """Print a request; rounds say the same, so what was printed is not printed again."""
        self._calls += 1
        who = [
            f"task {caller.task}" if caller.task else "",
            caller.stage,
            f"sample {request.sample}",
        ]
        head = f"=== call {self._calls}: {', '.join(part for part in who if part)}"
        head += " (its reply is kept)" if cached else ""
        kept = {**whole(request, self.options), "sample": 0}
        first = self._shown.setdefault(orjson.dumps(kept, option=orjson.OPT_SORT_KEYS), self._calls)
        again = first != self._calls
        self._write(f"{head}: as call {first}\n\n" if again else f"{head}\n{self._body(request)}\n")

    def _body(self, request: Request) -> str:
        """The messages, the settings and the schema."""
        kept = whole(request, self.options)
        parts = [f"--- {message['role']}\n{message['content']}\n" for message in request.messages]
        sent = {
            "temperature": kept["temperature"],
            "max_tokens": kept["max_tokens"],
            **kept["options"],
        }
        settings = [f"{key}={_json(value)}" for key, value in sent.items() if value is not None]
        parts.append(f"--- settings\n{' '.join([f'model={self.name}', *settings])}\n")
        if request.schema is not None:
            parts.append(f"--- the reply has to fit: {request.name}\n{_json(request.schema)}\n")
        return "".join(parts)

    def report(self) -> str:
        """One line: how many calls were shown."""
        stand_ins = self.usage.cached < self._calls
        note = "; replies that later calls repeat are stand-ins" if stand_ins else ""
        return f"{many(self._calls, 'call')} shown, none sent{note}"


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
