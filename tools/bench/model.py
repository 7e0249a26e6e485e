"""How near to the ideal a full load of calls comes: ``make bench-model``.

Tasks times rounds are asked at once of a loopback server that takes a fixed time for each
answer. The ideal is calls / limit * delay: every place always filled. The way of the
package is measured (through its cache, schema check and log) over both wires; imports and
the first connection are excluded by one call beforehand.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stages.core.model import Client, ModelOptions, Request

ROOT = Path(__file__).resolve().parents[2]

WANTED = 0.85
SCHEMA = {
    "type": "object",
    "required": ["relevant", "reason"],
    "properties": {"relevant": {"type": "boolean"}, "reason": {"type": "string"}},
    "additionalProperties": False,
}
WIRES = {"direct": "openai/bench", "litellm": "hosted_vllm/bench"}


def request(task: int, sample: int) -> Request:
    """A prompt of about a thousand characters, the same for the rounds of a task."""
    system = {"role": "system", "content": "Judge whether the table is needed. " * 20}
    user = {"role": "user", "content": f"task {task}: " + "a column, " * 40}
    return Request((system, user), SCHEMA, "verdict", sample=sample)


async def measure(options: ModelOptions, tasks: int, rounds: int) -> tuple[float, float]:
    """Seconds on the clock and of processor time for all calls."""
    client = Client(options)
    await client.ask(request(-1, 0))
    wall, cpu = time.perf_counter(), time.process_time()

    async def one(task: int) -> None:
        model = client.for_task(f"task_{task}", "bench")
        await asyncio.gather(*(model.ask(request(task, sample)) for sample in range(rounds)))

    await asyncio.gather(*(one(task) for task in range(tasks)))
    found = time.perf_counter() - wall, time.process_time() - cpu
    await client.close()
    return found


def main() -> int:
    """Print one line for each wire; 1 where the direct one misses the mark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument(
        "--delay", type=float, default=0.2, help="seconds of the server for an answer"
    )
    parser.add_argument("--wire", choices=[*WIRES, "both"], default="both")
    args = parser.parse_args()
    calls = args.tasks * args.rounds
    ideal = calls / args.concurrency * args.delay
    serve = [
        sys.executable,
        str(ROOT / "tests" / "helpers" / "llm_server.py"),
        "--delay",
        str(args.delay),
    ]
    server = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    url = server.stdout.readline().strip()
    print(f"{calls} calls at {args.concurrency} at once, {args.delay} s each: ideal {ideal:.2f} s")
    try:
        for wire in WIRES if args.wire == "both" else [args.wire]:
            with tempfile.TemporaryDirectory() as folder:
                options = ModelOptions(
                    WIRES[wire],
                    url,
                    concurrency=args.concurrency,
                    cache=Path(folder),
                    log=Path(folder, "calls.jsonl"),
                )
                wall, cpu = asyncio.run(measure(options, args.tasks, args.rounds))
            share = ideal / wall
            print(
                f"{wire:8} {wall:6.2f} s  {share:4.0%} of ideal (wanted {WANTED:.0%})  "
                f"{cpu / calls * 1000:.2f} ms of processor a call"
            )
    finally:
        server.kill()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
