"""The command line: the stages in pipeline order, each imported only when it runs."""

from __future__ import annotations

from stages.core import signals

if __name__ == "__main__":  # as `stages.__main__` does: before the imports that take time
    signals.quietly()

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import click

from stages import __version__
from stages.core import diagnostics
from stages.core.errors import UsageError, WinnowError

REGISTRY = (
    "prepare",
    "scan",
    "link",
    "plan",
    "prune",
    "summarize",
    "explore",
    "refine",
    "vote",
    "collapse",
    "describe",
    "prompt",
    "ask",
    "values",
    "query",
    "scaffold",
    "show",
    "pin",
    "evaluate",
    "run",
    "cache",
    "completion",
)
"""Every command, in the order of the chain."""


def first_line(name: str) -> str:
    """The first sentence of a command's docstring, read without importing the command."""
    with open(Path(__file__).parent / f"{name}.py", encoding="utf-8") as source:
        return source.readline().strip().strip('"').strip()


class ClosedPipe(Exception):
    """Whoever read our output has gone: the quiet end of a pipe."""


class Interrupt(Exception):
    """The user pressed Ctrl-C."""


class Registry(click.Group):
    """A group that knows its commands by name and imports the one that is called."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; a closed pipe and an interrupt leave under names that click does not
        answer with a status or a blank line of its own."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ClosedPipe from None
        except KeyboardInterrupt:
            raise Interrupt from None
        except click.UsageError as error:
            if error.ctx is None and ctx.invoked_subcommand:
                called = self.get_command(ctx, ctx.invoked_subcommand)
                error.ctx = click.Context(called or self, ctx, ctx.invoked_subcommand)
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command, loaded; from here on an interrupt has something to unwind."""
        found = super().resolve_command(ctx, args)
        signals.unwind()
        return found

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in pipeline order."""
        return list(REGISTRY)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, made from the module's ``STAGE`` or being the object of its own name."""
        if cmd_name not in REGISTRY:
            return None
        module = import_module(f"stages.{cmd_name}")
        stage = getattr(module, "STAGE", None)
        if stage is None:
            made: click.Command = getattr(module, cmd_name)
            return made
        from stages.core.runtime.command import command

        return command(stage, module.__doc__ or "")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by the first lines of their modules."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, first_line(name)) for name in REGISTRY])


@click.group(cls=Registry, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="winnow")
def winnow() -> None:
    """Find the few tables and columns a question needs, and write the solver's prompt.

    Each command reads and writes JSON lines, so that they chain:

    \b
        winnow scan FOLDER | winnow vote | winnow collapse | winnow describe | winnow prompt --text
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its status; see `core.errors` for the codes."""
    try:
        code = status(sys.argv[1:] if argv is None else list(argv))
    except KeyboardInterrupt:  # another Ctrl-C, while the first was told
        code = signals.STATUS
    signals.settle()
    sys.exit(code)


def status(argv: list[str]) -> int:
    """Run one command; the exit status instead of an exception, whatever happens."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may not know every script
    try:
        winnow.main(args=argv, prog_name="winnow", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        return diagnostics.exit_code()
    except (ClosedPipe, BrokenPipeError):
        return _let_go(0)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        return _usage(error)
    except (click.Abort, Interrupt):
        return diagnostics.fatal(KeyboardInterrupt())
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 1
    except (KeyboardInterrupt, OSError, WinnowError) as error:
        return _let_go(diagnostics.fatal(error))


def _usage(error: click.ClickException) -> int:
    """One line for a wrong command line, with the command whose help explains it.

    A group that was called without a command gives its help as it is.
    """
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "winnow"
    diagnostics.begin(path)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return diagnostics.usage(error.format_message())
    message = error.format_message().rstrip(".").replace("\n", " ")
    return diagnostics.fatal(UsageError(message, hint=f"see `{path} --help`"))


def _let_go(code: int) -> int:
    """Point stdout at nothing, so that the interpreter does not fail again on flushing it."""
    if sys.stdout is not None:
        with suppress(OSError, ValueError):
            target = sys.stdout.fileno()  # none where stdout is no file of the system's
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, target)
            os.close(devnull)
    return code


if __name__ == "__main__":
    main()
