"""From the command line to the settings of a client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from stages.core.errors import UsageError
from stages.core.model import MODEL_OPTIONS, Client, DryRun, DumpPrompt, from_options
from stages.core.model.options import model_options, parse_options, secret


def values(*argv: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    """What click makes of the arguments."""
    found: dict[str, Any] = {}
    command = click.Command(
        "x", params=list(MODEL_OPTIONS), callback=lambda **given: found.update(given)
    )
    done = CliRunner().invoke(command, argv, env=env, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return found


def test_builtin_is_no_client() -> None:
    assert from_options(values()) is None


def test_all_options_come_through(tmp_path: Path) -> None:
    options = model_options(
        values(
            "--model",
            "openai/x",
            "--base-url",
            "http://127.0.0.1:1/v1",
            "--timeout",
            "5",
            "--concurrency",
            "3",
            "--retries",
            "0",
            "--temperature",
            "0",
            "--option",
            "top_p=0.5",
            "--option",
            "stop=[1]",
            "--cache",
            str(tmp_path),
            "--offline",
            "--log",
            "calls.jsonl",
        )
    )
    assert options.model == "openai/x"
    assert (options.timeout, options.concurrency, options.retries, options.temperature) == (
        5,
        3,
        0,
        0,
    )
    assert (options.options, options.cache) == ({"top_p": 0.5, "stop": [1]}, tmp_path)
    assert (options.offline, options.log) == (True, Path("calls.jsonl"))


def test_the_environment_names_the_model_and_the_place() -> None:
    env = {
        "WINNOW_MODEL": "small",
        "WINNOW_BASE_URL": "http://127.0.0.1:1/v1",
        "XDG_CACHE_HOME": "/c",
    }
    options = model_options(values(env=env))
    assert (options.model, options.base_url) == ("openai/small", "http://127.0.0.1:1/v1")


@pytest.mark.parametrize(
    ("model", "url"),
    [
        ("openai/x", "http://127.0.0.1:2/v1"),
        ("x", "http://127.0.0.1:2/v1"),
        ("anthropic/x", None),
    ],
)
def test_the_place_that_openai_clients_go_to_counts_for_its_models(
    monkeypatch: pytest.MonkeyPatch, model: str, url: str | None
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:2/v1")
    assert model_options(values("--model", model)).base_url == url


@pytest.mark.parametrize(
    "argv",
    [
        ("--offline", "--no-cache"),
        ("--base-url", "127.0.0.1:8000"),
        ("--base-url", "ftp://host"),
        ("--base-url", "http:///v1"),
        ("--option", "top_p"),
        ("--option", "=1"),
    ],
)
def test_what_cannot_be_is_a_usage_error(argv: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        from_options(values("--model", "openai/x", *argv))


def test_an_option_that_is_none_is_not_shown_whole() -> None:
    with pytest.raises(UsageError) as caught:
        parse_options(["sk-abcdefghijklmnopqrstuvwxyz"])
    assert "uvwxyz" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("api_key", True), ("azure_ad_token", True), ("aws_secret_access_key", True), ("headers", True),
        ("extra_headers", True), ("vertex_credentials", True), ("password", True),
        ("Authorization", True), ("authKey", True), ("aws_access_key_id", True), ("apikey", True),
        ("eos_token_id", False), ("max_tokens", False), ("max_completion_tokens", False), ("top_k", False),
        ("monkey", False), ("reasoning_effort", False),
    ],
)  # fmt: skip
def test_names_of_secrets(name: str, hidden: bool) -> None:
    assert secret(name) is hidden


def test_each_way_of_asking_has_its_model(tmp_path: Path) -> None:
    common = ("--model", "openai/x", "--cache", str(tmp_path))
    assert isinstance(from_options(values(*common)), Client)
    assert isinstance(from_options(values(*common, "--dry-run")), DryRun)
    said: list[str] = []
    assert isinstance(from_options(values(*common, "--dump-prompt"), write=said.append), DumpPrompt)
