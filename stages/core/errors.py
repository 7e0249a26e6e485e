"""The errors that a user can meet, by what the user does next.

Every error carries ``what`` went wrong, the ``place`` it went wrong at (a file and
line, a table, a task) and a ``hint``: what to do next. `core.diagnostics` turns one
into one line on stderr and an exit status; nothing else prints errors.

    WinnowError               1  something about the data or the run
    ├── UsageError            2  change the command line
    ├── DataError             1  mend or leave out a file or a line
    │   ├── LineError         1  a line breaks its schema
    │   └── SourceError       1  a data source cannot be read
    ├── PartialResult         1  some tasks failed; the lines of all are at hand
    ├── SectionError          1  run another command first
    │   ├── MissingSection    1
    │   └── StaleSection      1
    ├── ModelError            1  ask again, ask otherwise, or another model
    │   ├── ReplyInvalid      1  the reply breaks its schema, after the repair
    │   ├── ReplyCut          1  the reply was cut by its length limit
    │   ├── CallFailed        1  the provider refused or dropped the call
    │   ├── CallTimeout       1  the call took too long
    │   ├── NotCached         1  offline, and the cache has no such reply
    │   ├── NotSent           1  a dry run, and no stand-in for the reply
    │   └── Unreachable       3  no call came through at all
    └── SqlError              1  write the statement differently
        ├── SqlRefused        1  not harmless, or not understood
        ├── SqlFailed         1  the engine says no
        ├── SqlUnavailable    1  mend the data, the cache folder or the server
        └── SqlLimit          1  too long, too large, too slow
"""

from __future__ import annotations

from typing import Self


class WinnowError(Exception):
    """Root of the tree; ``exit_code`` is the command's status when it ends the run."""

    exit_code = 1

    def __init__(self, what: str, *, place: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.place = place
        self.hint = hint

    def __str__(self) -> str:
        """``place: what; hint``, leaving out what is empty."""
        head = f"{self.place}: {self.what}" if self.place else self.what
        return f"{head}; {self.hint}" if self.hint else head


class UsageError(WinnowError):
    """The command line asks for something that cannot be."""

    exit_code = 2


class DataError(WinnowError):
    """A file or a line is not what it should be."""


class LineError(DataError):
    """A line is not valid JSON or breaks its schema.

    ``record`` is what the line decodes to, None where it is not a JSON object.
    """

    record: dict[str, object] | None = None


class SourceError(DataError):
    """A data source cannot be read."""


class PartialResult(WinnowError):
    """Something failed that was called from Python, and the rest did not.

    Attributes:
        lines: All lines as the command would have written them.
        errors: What failed, each in a sentence.
    """

    def __init__(self, errors: list[str], lines: list[dict[str, object]]) -> None:
        more = len(errors) - 1
        hint = f"and {more} more; `errors` has all, `lines` what was made" if more else ""
        super().__init__(errors[0], hint=hint or "`lines` has what was made")
        self.errors = errors
        self.lines = lines


class SectionError(WinnowError):
    """A section that the stage needs is not there, or not of this data."""


class MissingSection(SectionError):
    """No command has written the section yet."""


class StaleSection(SectionError):
    """The section was made from something else than what stands in the lines now."""


class ModelError(WinnowError):
    """A model gave no usable answer.

    Where ``certain`` is set, the same request would end in the same way in this run. Where
    ``in_vain`` is, the model did answer, and asking it the same again is likely to bring no
    more. Where ``sat_out`` is, the call was sent again before it was given up.
    """

    certain = False
    in_vain = False
    sat_out = False

    def same(self) -> Self:
        """Another of it, to be raised in another place."""
        made = type(self)(self.what, place=self.place, hint=self.hint)
        made.certain, made.in_vain, made.sat_out = self.certain, self.in_vain, self.sat_out
        return made


class ReplyInvalid(ModelError):
    """The reply breaks its schema, and so did the repaired one."""

    in_vain = True


class ReplyCut(ModelError):
    """The reply ended at the length limit."""

    in_vain = True


class ReplyFiltered(ModelError):
    """The provider's content filter stopped the reply."""

    in_vain = True


class CallFailed(ModelError):
    """The provider refused or dropped the call, after all retries."""


class CallTimeout(ModelError):
    """The call took longer than its time limit."""


class NotCached(ModelError):
    """``--offline``, and the cache holds no reply to the request."""


class NotSent(ModelError):
    """A dry run sends nothing and has no placeholder for this reply; asking again is no use."""


class Unreachable(ModelError):
    """No call came through at all."""

    exit_code = 3


class SqlError(WinnowError):
    """A statement gave no rows; the message is short enough for a model to read."""


class SqlRefused(SqlError):
    """The gate did not let the statement through."""


class SqlFailed(SqlError):
    """The engine could not run the statement."""


class SqlUnavailable(SqlError):
    """Nothing can be run: the data, the sandbox or the server is out of reach or broken.

    It says nothing about the statement, so it is no outcome that may be kept.
    """


class SqlLimit(SqlError):
    """The statement passed a limit: time, memory, length, table references."""


def os_words(error: OSError) -> str:
    """The operating system's words for an error, as they stand inside a message."""
    return (error.strerror or str(error) or type(error).__name__).lower()
