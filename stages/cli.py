"""The command line: the stages in pipeline order, each imported only when it runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import click

from stages import __version__

REGISTRY = (
    "scan",
    "link",
    "vote",
    "collapse",
    "describe",
    "prompt",
    "query",
    "scaffold",
    "show",
    "evaluate",
    "cache",
)
"""Every command, in the order of the chain."""


def first_line(name: str) -> str:
    """The first sentence of a command's docstring, read without importing the command."""
    with open(Path(__file__).parent / f"{name}.py", encoding="utf-8") as source:
        return source.readline().strip().strip('"').strip()


class Registry(click.Group):
    """A group that knows its commands by name and imports the one that is called."""

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
        from stages.core.command import command

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
    sys.exit(status(sys.argv[1:] if argv is None else list(argv)))


def status(argv: list[str]) -> int:
    """Run one command; the exit status instead of an exception, whatever happens."""
    from stages.core import diagnostics

    try:
        winnow.main(args=argv, prog_name="winnow", standalone_mode=False)
        _flush()
        return diagnostics.exit_code()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        return _usage(error)
    except click.Abort:
        return diagnostics.fatal(KeyboardInterrupt())
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 1
    except (KeyboardInterrupt, OSError) as error:
        return _ended(diagnostics.fatal(error), error)
    except Exception as error:
        from stages.core.errors import WinnowError

        if not isinstance(error, WinnowError):
            raise
        return diagnostics.fatal(error)


def _usage(error: click.ClickException) -> int:
    """One line for a wrong command line, with the command whose help explains it."""
    from stages.core import diagnostics
    from stages.core.errors import UsageError

    context = getattr(error, "ctx", None)
    path = context.command_path if context else "winnow"
    diagnostics.begin(path)
    message = error.format_message().rstrip(".").replace("\n", " ")
    return diagnostics.fatal(UsageError(message, hint=f"see `{path} --help`"))


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _ended(code: int, error: BaseException) -> int:
    """Keep the interpreter from failing again on streams that are gone."""
    if isinstance(error, OSError):
        import os

        for number, stream in ((1, sys.stdout), (2, sys.stderr)):
            if stream is not None:
                devnull = os.open(os.devnull, os.O_WRONLY)
                os.dup2(devnull, number) if number == 1 else None
                os.close(devnull)
    return code


if __name__ == "__main__":
    main()
