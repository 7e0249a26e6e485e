"""The store of replies, and the key that a request is kept under."""

from __future__ import annotations

import multiprocessing
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from stages.core.errors import DataError, UsageError
from stages.core.model import ModelOptions, Reply, Request
from stages.core.model.cache import FILE, Cache, ExportedReplies, open_store
from stages.core.model.request import key_of, plain_url, whole

REPLY = Reply({"a": 1}, '{"a": 1}', 10, 3, 0.25, cached=False, calls=1)
REQUEST = Request(({"role": "user", "content": "how many?"},), {"type": "object"}, "number")
OPTIONS = ModelOptions("openai/test", "http://127.0.0.1:8000/v1")


def key(request: Request = REQUEST, options: ModelOptions = OPTIONS) -> str:
    """The key that a client would use."""
    return key_of(whole(request, options), options.base_url)


DIFFERENT: dict[str, tuple[Request, ModelOptions]] = {
    "messages": (replace(REQUEST, messages=({"role": "user", "content": "how much?"},)), OPTIONS),
    "role": (replace(REQUEST, messages=({"role": "system", "content": "how many?"},)), OPTIONS),
    "schema": (replace(REQUEST, schema={"type": "array"}), OPTIONS),
    "no schema": (replace(REQUEST, schema=None), OPTIONS),
    "name": (replace(REQUEST, name="other"), OPTIONS),
    "temperature": (replace(REQUEST, temperature=0.0), OPTIONS),
    "common temperature": (REQUEST, replace(OPTIONS, temperature=0.5)),
    "max tokens": (replace(REQUEST, max_tokens=5), OPTIONS),
    "sample": (replace(REQUEST, sample=1), OPTIONS),
    "model": (REQUEST, replace(OPTIONS, model="openai/other")),
    "base URL": (REQUEST, replace(OPTIONS, base_url="http://127.0.0.1:8001/v1")),
    "option": (REQUEST, replace(OPTIONS, options={"top_p": 0.5})),
}


@pytest.mark.parametrize(("request_", "options"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_what_shapes_the_answer_is_in_the_key(request_: Request, options: ModelOptions) -> None:
    assert key(request_, options) != key()
    assert len({key(*pair) for pair in DIFFERENT.values()}) == len(DIFFERENT)


@pytest.mark.parametrize(
    "options",
    [
        replace(OPTIONS, timeout=1, concurrency=1, retries=0, circuit=1, wait=9, offline=True),
        replace(OPTIONS, cache=Path("/x"), log=Path("/y")),
        replace(OPTIONS, options={"api_key": "sk-secret", "extra_headers": {"X-Key": "secret"}}),
        replace(OPTIONS, base_url="http://me:password@127.0.0.1:8000/v1/"),
    ],
)
def test_what_does_not_is_not(options: ModelOptions) -> None:
    assert key(options=options) == key()
    assert b"secret" not in orjson.dumps(whole(REQUEST, options))


def test_a_common_temperature_is_that_of_a_request_that_names_it() -> None:
    assert key(replace(REQUEST, temperature=0.5)) == key(options=replace(OPTIONS, temperature=0.5))


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        (None, ""),
        ("http://host/v1/", "http://host/v1"),
        ("http://user:pass@host:80/v1?key=1#x", "http://host:80/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
    ],
)
def test_a_url_loses_what_may_be_secret(url: str | None, plain: str) -> None:
    assert plain_url(url) == plain


def test_a_reply_comes_back_as_it_was(tmp_path: Path) -> None:
    store = Cache(tmp_path / "new" / "folder")
    assert store.get(key()) is None
    assert store.put(key(), whole(REQUEST, OPTIONS), REPLY) == REPLY
    store.close()
    again = Cache(tmp_path / "new" / "folder")
    assert again.get(key()) == replace(REPLY, cached=True)
    again.close()


def test_the_first_of_two_replies_stays(tmp_path: Path) -> None:
    one, two = Cache(tmp_path), Cache(tmp_path)
    one.put(key(), whole(REQUEST, OPTIONS), REPLY)
    kept = two.put(key(), whole(REQUEST, OPTIONS), replace(REPLY, data={"a": 2}))
    assert kept.data == {"a": 1}
    assert two.get(key()) == one.get(key()) == replace(REPLY, cached=True)


def test_a_row_that_cannot_be_read_is_no_reply_and_is_written_anew(tmp_path: Path) -> None:
    store = Cache(tmp_path)
    store.put(key(), whole(REQUEST, OPTIONS), REPLY)
    for damage in ('{"data', '{"some": "thing"}', "[]", "7"):
        with sqlite3.connect(tmp_path / FILE) as db:
            db.execute("UPDATE replies SET reply = ?", (damage,))
        assert store.get(key()) is None
        assert store.put(key(), whole(REQUEST, OPTIONS), REPLY) == REPLY
        assert store.get(key()) == replace(REPLY, cached=True)


def test_a_file_of_an_earlier_version_is_read_on(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute(
            "CREATE TABLE replies (key TEXT PRIMARY KEY, created REAL NOT NULL, "
            "request TEXT NOT NULL, reply TEXT NOT NULL) WITHOUT ROWID"
        )
        values = ("sha256:a", 1.0, "{}", orjson.dumps({**vars(REPLY), "cached": None}).decode())
        db.execute("INSERT INTO replies VALUES (?, ?, ?, json_remove(?, '$.cached'))", values)
    store = Cache(tmp_path)
    assert store.get("sha256:a") == replace(REPLY, cached=True)
    assert [entry.created for entry in store.entries()] == [1.0]
    store.close()


@pytest.mark.parametrize("content", [b"this is no database, but a long text" * 50, b"\x00" * 4096])
def test_a_file_that_is_no_store_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(UsageError, match=FILE):
        Cache(tmp_path)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="cannot be used"):
        Cache(tmp_path / "file" / "below")


def _fill(folder: str, start: int) -> None:
    store = Cache(Path(folder))
    for n in range(200):
        asked = replace(REQUEST, sample=n)
        answer = replace(REPLY, data={"a": start + n})
        kept = store.put(key(asked), whole(asked, OPTIONS), answer)
        assert store.get(key(asked)) == replace(kept, cached=True)
    store.close()


def test_processes_share_one_store(tmp_path: Path) -> None:
    processes = multiprocessing.get_context("spawn")
    workers = [processes.Process(target=_fill, args=(str(tmp_path), 1000 * n)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    store = Cache(tmp_path)
    assert sum(1 for _ in store.entries()) == 200
    store.close()


def test_an_exported_file_serves_whatever_the_url(tmp_path: Path) -> None:
    store = Cache(tmp_path / "cache")
    store.put(key(), whole(REQUEST, OPTIONS), REPLY)
    [entry] = store.entries()
    path = tmp_path / "replies.jsonl"
    path.write_bytes(entry.exported())
    assert b"127.0.0.1" not in path.read_bytes()
    exported = open_store(path)
    assert isinstance(exported, ExportedReplies)
    assert exported.get(key_of(whole(REQUEST, OPTIONS), None)) == replace(REPLY, cached=True)
    before = path.read_bytes()
    exported.put("sha256:x", {}, REPLY)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "line",
    [b"{", b"[]", b"7", b'{"key": "x"}', b'{"key": "x", "request": {}, "reply": {"data": 1}}'],
)
def test_a_line_that_is_no_entry_is_named(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_bytes(b"\n" + line)
    with pytest.raises(DataError, match=r"replies\.jsonl:2"):
        ExportedReplies(path)


def test_a_missing_export_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no\.jsonl"):
        open_store(tmp_path / "no.jsonl")


def test_the_mean_length_of_replies_of_one_kind(tmp_path: Path) -> None:
    store = Cache(tmp_path)
    for sample, tokens in enumerate((10, 20)):
        asked: dict[str, Any] = whole(replace(REQUEST, sample=sample), OPTIONS)
        store.put(str(sample), asked, replace(REPLY, tokens_out=tokens))
    assert store.mean_out("number") == 15
    assert store.mean_out("other") is None
