"""Passwords in URLs: read where they are encoded, and never shown, encoded or not."""

from __future__ import annotations

import pytest

from stages.core.catalog.servers.address import address, mask
from stages.core.errors import UsageError
from tests.helpers.tools import run

RAW = ["p@ss/w:rd#1", "p/ss", "p#ss", "p?ss", "p@ss", "p ss", "@", "a@b@c", "p://x@y/z?q#@", "//@"]


@pytest.mark.parametrize("password", RAW)
@pytest.mark.parametrize("scheme", ["postgresql", "mysql", "mariadb+pymysql", "http"])
def test_a_password_that_is_not_encoded_is_never_shown(scheme: str, password: str) -> None:
    url = f"{scheme}://me:{password}@127.0.0.1:1/db?sslpassword=hidden"
    assert mask(url) == f"{scheme}://…@127.0.0.1:1/db"
    for argv in (("scan", url), ("query", url, "SELECT 1"), ("scan", f" {url}")):
        told = run(*argv)
        assert told.status in (1, 2)
        secret = f"me:{password}"
        assert secret not in told.err
        assert len(told.err.splitlines()) <= 3


@pytest.mark.parametrize("password", RAW)
def test_what_to_do_about_it_is_said(password: str) -> None:
    with pytest.raises(UsageError) as raised:
        address(f"postgresql://me:{password}@127.0.0.1/db")
    assert "%40 for @" in raised.value.hint
    assert "…@127.0.0.1/db" in raised.value.place


@pytest.mark.parametrize(
    ("url", "password"),
    [
        ("postgresql://me:p%40ss%2Fw%3Ard%231@h/db", "p@ss/w:rd#1"),
        ("mysql://me:p:w@h/db", "p:w"),
        ("mysql://me:p%25w@h/db", "p%w"),
    ],
)
def test_an_encoded_password_is_read(url: str, password: str) -> None:
    found = address(url)
    assert found.password == password
    assert password not in found.safe
