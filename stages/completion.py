"""Print the completion script of a shell, or the man page.

\b
    winnow completion bash > ~/.local/share/bash-completion/completions/winnow
    winnow completion zsh > ~/.zfunc/_winnow      # a folder that fpath names
    winnow completion fish > ~/.config/fish/completions/winnow.fish
    winnow completion man > ~/.local/share/man/man1/winnow.1
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from stages import __version__
from stages.core import diagnostics
from stages.core.lines.io import output

MAN = "man"
SHELLS = ("bash", "zsh", "fish")
WIDTH = 78
"""Characters of a line of the man page."""


@click.command(help=__doc__)
@click.argument("what", type=click.Choice([*SHELLS, MAN]))
def completion(what: str) -> None:
    """Print it."""
    diagnostics.begin("winnow completion")
    with output(None) as out:
        out.write((_man_page() if what == MAN else _script(what)).encode())


def _script(shell: str) -> str:
    """The script by which a shell asks winnow itself what may follow."""
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None, shell
    return made(_root(), {}, "winnow", "_WINNOW_COMPLETE").source()


def _root() -> click.Command:
    """The command that all others belong to."""
    return click.get_current_context().find_root().command


def _man_page() -> str:
    """One page for all commands, made of their help."""
    parts = [f'.TH WINNOW 1 "" "winnow {__version__}" "User Commands"\n']
    for words, text in _helps():
        title = " ".join(words).upper() if len(words) > 1 else "DESCRIPTION"
        parts.append(f'.SH "{title}"\n.nf\n{_roff(text)}\n.fi\n')
    parts.insert(1, ".SH NAME\nwinnow \\- find the few tables and columns that a question needs\n")
    return "".join(parts)


def _helps() -> Iterator[tuple[list[str], str]]:
    """The help of winnow and of each command, those within groups too, with its words."""
    left: list[tuple[list[str], click.Command]] = [(["winnow"], _root())]
    while left:
        words, command = left.pop(0)
        path = " ".join(words)
        context = click.Context(
            command, info_name=path, terminal_width=WIDTH, help_option_names=["-h", "--help"]
        )
        yield words, command.get_help(context)
        if isinstance(command, click.Group):
            inner = [
                (name, command.get_command(context, name))
                for name in command.list_commands(context)
            ]
            left[:0] = [([*words, name], found) for name, found in inner if found]


def _roff(text: str) -> str:
    """Text as troff prints it unchanged: no escape, no request at the start of a line.

    >>> _roff(".a\\\\b 'c'")
    "\\\\&.a\\\\eb 'c'"
    """
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", escaped, flags=re.MULTILINE)
