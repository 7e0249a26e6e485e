"""Processes of ``winnow`` that start warm: a server that has the modules, and forks for each run.

Each run is a process of its own with its own pipes, environment, folder and exit status; only
the interpreter's start and the imports, most of the time of a short run, are paid once. What a
command imports, and how long its start takes, is tested with processes that start cold.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import io
import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

WARM = (
    "asyncio", "click", "duckdb", "jinja2", "jsonschema", "numpy", "orjson", "rich.console",
    "rich.table", "rich.text", "snowballstemmer", "sqlglot", "sqlglot.optimizer.scope", "sqlite3",
    "tiktoken",
    "stages.cli", "stages.core.catalog.scan", "stages.core.catalog.sources.csv.loader",
    "stages.core.catalog.sources.json.loader", "stages.core.catalog.sources.sqlite.loader",
    "stages.core.catalog.stream", "stages.core.judge.pipeline", "stages.core.model.client",
    "stages.core.runtime.async_runner", "stages.core.runtime.command",
    "stages.core.sandbox.database", "stages.core.sandbox.values", "stages.core.values.lookup",
)  # fmt: skip
"""Imported before the first run; none of them reads the environment, and the only thread that one
starts, numpy's for linear algebra, is stopped by numpy before each fork."""
_HEAD = struct.Struct("!I")


class ForkServer:
    """The client's side: one server a test process, started with the first run."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                cwd=Path(__file__).resolve().parents[2],
            )
        self._socket, self._lock = ours, threading.Lock()
        self._owner = os.getpid()

    def alive(self) -> bool:
        """Whether it can be asked, by this process."""
        return self._owner == os.getpid() and self._process.poll() is None

    def stop(self) -> None:
        """End the server; runs that are under way go on."""
        self._socket.close()
        self._process.wait()

    def run(
        self, argv: Sequence[str], data: bytes, cwd: Path, env: Mapping[str, str], timeout: float
    ) -> tuple[int, bytes, bytes]:
        """Run ``winnow ARGV`` with ``data`` on stdin: its status, stdout and stderr.

        Raises:
            subprocess.TimeoutExpired: It ran too long, and was killed.
        """
        pipes = [os.pipe() for _ in range(4)]
        (stdin, feed), (out, stdout), (err, stderr), (told, result) = pipes
        asked = json.dumps({"argv": list(argv), "cwd": str(cwd), "env": dict(env)}).encode()
        with self._lock:
            socket.send_fds(self._socket, [_HEAD.pack(len(asked))], [stdin, stdout, stderr, result])
            self._socket.sendall(asked)
        for number in (stdin, stdout, stderr, result):
            os.close(number)
        writer = threading.Thread(target=_feed, args=(feed, data), daemon=True)
        writer.start()
        return _collect(out, err, told, timeout, argv)


def _feed(number: int, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), os.fdopen(number, "wb") as stream:
        stream.write(data)


def _collect(
    out: int, err: int, told: int, timeout: float, argv: Sequence[str]
) -> tuple[int, bytes, bytes]:
    """Read the pipes to their ends; the third holds the process's number, then its status."""
    import time

    found: dict[int, bytearray] = {out: bytearray(), err: bytearray(), told: bytearray()}
    deadline = time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        for number in found:
            selector.register(number, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(deadline - time.monotonic(), 0))
            if not ready and time.monotonic() >= deadline:
                if len(found[told]) >= _HEAD.size:
                    os.kill(_HEAD.unpack_from(found[told])[0], signal.SIGKILL)
                raise subprocess.TimeoutExpired(list(argv), timeout)
            for key, _ in ready:
                piece = os.read(key.fd, 1 << 16)
                found[key.fd] += piece
                if not piece:
                    selector.unregister(key.fd)
                    os.close(key.fd)
    status = struct.unpack_from("!i", found[told], _HEAD.size)[0]
    return status, bytes(found[out]), bytes(found[err])


_server: ForkServer | None = None


def warm() -> ForkServer:
    """The server of this process."""
    global _server
    if _server is None or not _server.alive():
        _server = ForkServer()
        atexit.register(_server.stop)
    return _server


# The server's side, in a process without threads.


def serve(number: int) -> None:
    """Fork for every request, and tell the status of every child, until the client is gone."""
    _load()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asked = socket.socket(fileno=number)
    with selectors.DefaultSelector() as selector:
        selector.register(asked, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd != asked.fileno():
                    selector.unregister(key.fd)
                    _tell(key.fd, *key.data)
                elif not _accept(asked, selector):
                    return


def _load() -> None:
    """Import, and read the word lists that do not change: tokens, synonyms, translations."""
    for name in WARM:
        importlib.import_module(name)
    from stages.core import tokens
    from stages.core.catalog import discover
    from stages.core.judge.language import chinese, lexicon

    discover.kinds()
    tokens.count("a " * tokens.SMALL)
    chinese.lexicon()
    lexicon.attribute_triggers()
    lexicon.known("order")


def _accept(asked: socket.socket, selector: selectors.BaseSelector) -> bool:
    """Start one run; False where the client is gone."""
    head, numbers, _, _ = socket.recv_fds(asked, _HEAD.size, 4)
    if not head:
        return False
    request = json.loads(_exactly(asked, _HEAD.unpack(head)[0]))
    result = numbers[3]
    child = os.fork()
    if not child:
        selector.close()
        asked.close()
        os.close(result)
        _become(request, numbers[:3])
    for own in numbers[:3]:
        os.close(own)
    os.write(result, _HEAD.pack(child))
    selector.register(os.pidfd_open(child), selectors.EVENT_READ, (child, result))
    return True


def _exactly(asked: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        found += asked.recv(size - len(found))
    return found


def _tell(watched: int, child: int, result: int) -> None:
    _, status = os.waitpid(child, 0)
    os.close(watched)
    with contextlib.suppress(BrokenPipeError):
        os.write(result, struct.pack("!i", os.waitstatus_to_exitcode(status)))
    os.close(result)


def _become(request: Mapping[str, object], numbers: Sequence[int]) -> None:
    """Be the process that ``python -m stages ARGV`` would start, to its end."""
    for at, number in enumerate(numbers):
        os.dup2(number, at)
        os.close(number)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(request["env"])  # type: ignore[arg-type]
    os.chdir(str(request["cwd"]))
    sys.path[0] = os.getcwd()
    sys.argv = ["winnow", *request["argv"]]  # type: ignore[misc]
    sys.stdin = sys.__stdin__ = _text(0, "rb", "strict")
    sys.stdout = sys.__stdout__ = _text(1, "wb", "strict")
    sys.stderr = sys.__stderr__ = _text(2, "wb", "backslashreplace")
    status = 70
    try:
        from stages.__main__ import main

        main()
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    except BaseException:
        import traceback

        traceback.print_exc()
        status = 1
    finally:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(status & 0xFF)


def _text(number: int, mode: str, errors: str) -> io.TextIOWrapper:
    buffered = open(number, mode, closefd=False)  # noqa: SIM115 - it lives as long as the process
    return io.TextIOWrapper(buffered, encoding="utf-8", errors=errors, line_buffering=number == 2)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
