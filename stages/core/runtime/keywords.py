"""Options of a stage given by keyword, as a configuration file and Python give them.

Click reads them as it reads a command line, so that a keyword means what its flag does.
"""

from __future__ import annotations

from collections.abc import Iterator

import click
import orjson

from stages.core.errors import DataError
from stages.core.params import Options
from stages.core.runtime.command import command
from stages.core.runtime.stage import Stage
from stages.core.yamltext import near

OF_THE_COMMAND = frozenset({
    "files", "output", "tasks", "retry_failed", "stale", "last_wins", "schema", "text", "quiet",
    "verbose", "dry_run", "dump_prompt", "log",
})  # fmt: skip
"""Options about lines, streams and messages, which only a command line has a use for."""


class CommandKeywords:
    """The options of a command that may be given by keyword.

    Args:
        shell: The command.
        without: Names of options that only a command line has a use for.
    """

    def __init__(self, shell: click.Command, without: frozenset[str] = OF_THE_COMMAND) -> None:
        self.shell = shell
        self.known = {
            str(option.name): option
            for option in shell.params
            if isinstance(option, click.Option) and option.name not in without
        }

    def named(self, key: str) -> str | None:
        """The option that a key means: by its flag, with ``_`` or ``-``."""
        flag = f"--{key.replace('_', '-')}"
        found = (name for name, option in self.known.items() if flag in option.opts)
        return next(found, key if key in self.known else None)

    def words(self, key: str, value: object) -> list[str]:
        """A key and its value as they stand on a command line.

        Raises:
            DataError: There is no such option; the hint names the nearest.
        """
        name = self.named(key)
        if name is None:
            what = f"{self.shell.name} has no option {key!r}"
            raise DataError(what, hint=near(key, sorted(self.known)))
        return list(_words(self.known[name], value))

    def params(self, words: list[str]) -> Options:
        """The values of all options.

        Raises:
            click.UsageError: A value cannot be.
        """
        return self.shell.make_context(self.shell.name, words).params


class StageKeywords(CommandKeywords):
    """The options of a stage that may be given by keyword."""

    def __init__(self, stage: Stage) -> None:
        files = {str(text.option.name) for text in stage.texts}
        if stage.report:
            files.add(str(stage.report.option.name))
        super().__init__(command(stage, ""), OF_THE_COMMAND | files)
        self.stage = stage

    def values(self, words: list[str]) -> tuple[Options, Options]:
        """The values of the stage's own options, and of those that stages share.

        Raises:
            click.UsageError: A value cannot be.
        """
        shared = dict(self.params(words))
        own = {str(option.name): shared.pop(str(option.name)) for option in self.stage.options}
        return own, shared


def _words(option: click.Option, value: object) -> Iterator[str]:
    """A value as it stands on a command line; None gives no word."""
    flag = max(option.opts, key=len)
    if option.is_flag and isinstance(value, bool):
        yield from [flag] if value else option.secondary_opts[:1]
    elif isinstance(value, list | tuple) and option.multiple:
        for part in value:
            yield from (flag, as_written(part))
    elif isinstance(value, list | tuple):
        yield from (flag, ",".join(map(as_written, value)))
    elif value is not None:
        yield from (flag, as_written(value))


def as_written(value: object) -> str:
    """A value as the text of an option: a string as it is, the rest as JSON.

    >>> as_written("a"), as_written(2), as_written(True)
    ('a', '2', 'true')
    """
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
