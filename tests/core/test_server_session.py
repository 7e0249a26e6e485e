"""What a server's error means: a limit that was passed, a server out of reach, or the statement."""

from __future__ import annotations

from typing import Any

import pytest

from stages.core.errors import SqlError, SqlLimit, SqlUnavailable
from stages.core.sandbox.engine.worker import EngineError
from stages.core.sandbox.limits import Limits
from stages.core.sandbox.servers.session import Session


class Fault(Exception):
    """An error as a driver raises it."""

    def __init__(self, state: str | None, *args: Any) -> None:
        super().__init__(*args)
        if state:
            self.sqlstate = state


def raised(error: Exception) -> Exception:
    session = Session(
        "postgresql://reader@127.0.0.1:1/shop", Limits(), lambda con: None, lambda *_: None
    )
    session._con = object()
    with pytest.raises((SqlError, EngineError)) as caught, session.watched():
        raise error
    return caught.value


@pytest.mark.parametrize(
    "error",
    [
        Fault("53200", "out of memory"),
        Fault("53400", "temporary file size exceeds temp_file_limit (1024kB)"),
        Fault(None, 1038, "Out of sort memory"),
        Fault(None, 1114, "The table '/tmp/#sql1' is full"),
    ],
)
def test_a_limit_of_the_server_is_a_limit(error: Exception) -> None:
    found = raised(error)
    assert isinstance(found, SqlLimit)
    assert str(error.args[-1])[:10] in str(found)
    assert "ask for less" in str(found)


@pytest.mark.parametrize("state", ["53100", "53300", "57P01", "08006"])
def test_a_server_out_of_reach_is_no_limit(state: str) -> None:
    assert isinstance(raised(Fault(state, "x")), SqlUnavailable)


def test_an_error_of_the_statement_stays_one() -> None:
    assert isinstance(raised(Fault("42P01", "no such table")), EngineError)
