"""Indexes in memory and on disk; size and time."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from stages.core.judge import judge, store
from stages.core.judge.index.index import build
from stages.core.records import Table
from tests.helpers.judge_tables import SCHOOL, ask, table


def wide(n_tables: int, n_columns: int) -> list[Table]:
    """Many tables with many columns, names from a fixed random source."""
    words = [
        "order",
        "customer",
        "price",
        "date",
        "status",
        "region",
        "product",
        "stock",
        "invoice",
        "ship",
        "note",
        "grade",
    ]
    rng = np.random.default_rng(0)
    pick = rng.integers(0, len(words), (n_tables, n_columns, 2))
    return [
        table(
            f"t{at}_{words[at % len(words)]}",
            *(f"{words[a]}_{words[b]}_{c}" for c, (a, b) in enumerate(pick[at])),
        )
        for at in range(n_tables)
    ]


def test_an_index_survives_the_disk(tmp_path: Path) -> None:
    made = build(SCHOOL)
    store.save(made, tmp_path / "index.npz")
    held = store.load(tmp_path / "index.npz")
    assert held is not None
    assert (held.names, held.columns, held.vocabulary) == (
        made.names,
        made.columns,
        made.vocabulary,
    )
    assert (held.values, held.spelled, held.keys.edges) == (
        made.values,
        made.spelled,
        made.keys.edges,
    )
    for name, lists in made.by_table.items():
        assert np.array_equal(held.by_table[name].doc, lists.doc)


def an_array() -> bytes:
    """A file of numpy that holds no parts."""
    out = io.BytesIO()
    np.save(out, np.arange(3))
    return out.getvalue()


def odd_zip() -> bytes:
    """A zip file whose parts are compressed in a way that does not exist."""
    out = io.BytesIO()
    np.savez(out, texts=np.arange(3))
    raw = bytearray(out.getvalue())
    raw[raw.rindex(b"PK\x01\x02") + 10] = 77
    return bytes(raw)


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 cut", b"not an index", an_array(), odd_zip()]
)
def test_a_broken_file_is_made_anew(tmp_path: Path, content: bytes) -> None:
    tables = wide(60, 30)
    path = store.path_of(tmp_path, store.key_of(sorted(tables, key=lambda table: table["name"])))
    path.write_bytes(content)
    assert len(judge(ask("prices of orders"), tables, index_dir=tmp_path).tables) == 60
    assert store.load(path) is not None


def test_the_key_follows_every_byte() -> None:
    described = [{**SCHOOL[0], "description": "pupils"}, *SCHOOL[1:]]
    assert store.key_of(SCHOOL) != store.key_of(described)
    assert store.key_of(SCHOOL) == store.key_of(list(SCHOOL))


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    assert judge(ask("prices"), wide(60, 30), index_dir=blocked / "sub").tables


def test_what_cannot_be_finished_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    store.save(build(SCHOOL), tmp_path / "judge-1.npz")
    assert list(tmp_path.iterdir()) == []


def test_the_indexes_used_last_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MOST_FILES", 2)
    made = build(SCHOOL)
    for day, key in enumerate("abc"):
        store.save(made, store.path_of(tmp_path, key))
        os.utime(store.path_of(tmp_path, key), (day, day))
        store.load(store.path_of(tmp_path, "a"))
    assert {path.name for path in tmp_path.iterdir()} == {"judge-a.npz", "judge-c.npz"}


def test_disk_and_memory_say_the_same(tmp_path: Path) -> None:
    first = judge(ask("prices of orders by region"), wide(60, 30), index_dir=tmp_path)
    again = judge(ask("prices of orders by region"), wide(60, 30), index_dir=tmp_path)
    assert first == again
    assert len(list(tmp_path.iterdir())) == 1


def test_asking_for_help_imports_no_numpy() -> None:
    code = "import sys, stages.core.judge; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
def test_ninety_thousand_columns(tmp_path: Path) -> None:
    tables = wide(2500, 36)
    start = time.process_time()
    judge(ask("prices of orders by region in stock"), tables)
    first = time.process_time() - start
    start = time.process_time()
    for _ in range(5):
        judge(ask("status of invoices by customer"), tables)
    again = (time.process_time() - start) / 5
    assert first < 6.0
    assert again < 0.5
