"""The start of every command, before anything else is imported."""

from __future__ import annotations

from stages.core import signals


def main() -> None:
    """Run one command and end the process with its status."""
    signals.quietly()
    from stages.cli import main as run

    run()


if __name__ == "__main__":
    main()
