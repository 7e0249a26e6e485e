"""MariaDB and PostgreSQL for the tests: started from Debian's packages, on loopback, in a
temporary folder, with nothing of an installed server touched. Where the packages are not
there the tests are skipped and say so."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.helpers.servers import PASSWORD, Running

STARTS_IN = 60.0


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _as(user):
    """What runs a command as another user, where the tests run as root."""
    if os.getuid() != 0:
        return []
    runner = shutil.which("runuser")
    if runner is None or user not in {entry.pw_name for entry in pwd.getpwall()}:
        pytest.skip(f"cannot run a server as {user}")
    return [runner, "-u", user, "--"]


def _owned(path, user):
    """The file or folder, owned by the server's user."""
    if os.getuid() == 0:
        shutil.chown(path, user)
    return path


@pytest.fixture(scope="session")
def server_folders():
    """Makes folders that a server of another user can reach, which pytest's own are not."""
    made = []

    def make(user):
        folder = Path(tempfile.mkdtemp(prefix="winnow-server-"))
        made.append(folder)
        folder.chmod(0o755)
        return _owned(folder, user)

    yield make
    for folder in made:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(process, port, log):
    end = time.monotonic() + STARTS_IN
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as probe:
            probe.settimeout(0.5)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    text = log.read_text(errors="replace")[-2000:] if log.exists() else ""
    pytest.fail(f"the server did not start: {text}")


def _stop(process, pid_file, number):
    """End the server at once: its data is thrown away. What was started may be a wrapper."""
    with suppress(OSError, ValueError, IndexError):
        os.kill(int(pid_file.read_text().split()[0]), number)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


@pytest.fixture(scope="session")
def postgres(server_folders):
    """A PostgreSQL server with an empty database ``shop``."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name)
    if not found:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    bin_ = found[-1]
    runner = _as("postgres")
    folder = server_folders("postgres")
    secret = folder / "secret"
    secret.write_text(PASSWORD, encoding="utf-8")
    _owned(secret, "postgres")
    subprocess.run(
        [
            *runner,
            bin_ / "initdb",
            "-D",
            folder / "data",
            "-U",
            "boss",
            "-A",
            "scram-sha-256",
            f"--pwfile={secret}",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
        ],
        check=True,
        capture_output=True,
        cwd="/",
    )
    port = _free_port()
    log = folder / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [
                *runner,
                bin_ / "postgres",
                "-D",
                folder / "data",
                "-p",
                str(port),
                "-h",
                "127.0.0.1",
                "-k",
                "",
                "-c",
                "fsync=off",
                "-c",
                "shared_buffers=32MB",
            ],
            stdout=out,
            stderr=out,
            cwd="/",
        )
    try:
        _wait(process, port, log)
        server = Running("postgresql", port, folder, "boss")
        _retry(lambda: server.run("CREATE DATABASE shop", database="postgres"))
        yield server
    finally:
        _stop(process, folder / "data" / "postmaster.pid", signal.SIGQUIT)


@pytest.fixture(scope="session")
def mariadb(server_folders):
    """A MariaDB server with an empty database ``shop``."""
    daemon = shutil.which("mariadbd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    installer = shutil.which("mariadb-install-db")
    if daemon is None or installer is None:
        pytest.skip("MariaDB is not installed: apt-get install mariadb-server")
    runner = _as("mysql")
    folder = server_folders("mysql")
    data = folder / "data"
    init = folder / "init.sql"
    subprocess.run(
        [
            *runner,
            installer,
            "--no-defaults",
            f"--datadir={data}",
            "--skip-test-db",
            "--auth-root-authentication-method=normal",
        ],
        check=True,
        capture_output=True,
        cwd="/",
    )
    init.write_text(
        "CREATE DATABASE shop;\n"
        "SET NAMES utf8mb4;\n"
        f"CREATE USER boss@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';\n"
        "GRANT ALL ON *.* TO boss@'127.0.0.1' WITH GRANT OPTION;\n",
        encoding="utf-8",
    )
    _owned(init, "mysql")
    port = _free_port()
    log = folder / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [
                *runner,
                daemon,
                "--no-defaults",
                f"--datadir={data}",
                f"--port={port}",
                "--bind-address=127.0.0.1",
                f"--socket={folder}/s",
                f"--pid-file={folder}/pid",
                f"--init-file={init}",
                "--skip-name-resolve",
                "--innodb-buffer-pool-size=32M",
                "--innodb-flush-log-at-trx-commit=0",
                "--debug-no-sync",
                "--innodb-log-file-size=8M",
                "--secure-file-priv=",
                "--character-set-server=utf8mb4",
            ],
            stdout=out,
            stderr=out,
            cwd="/",
        )
    try:
        _wait(process, port, log)
        server = Running("mysql", port, folder, "boss")
        _retry(lambda: server.run("SELECT 1"))
        yield server
    finally:
        _stop(process, folder / "pid", signal.SIGKILL)


def _retry(action):
    """The port is open a moment before the server lets anyone in."""
    for _ in range(300):
        try:
            return action()
        except Exception as error:
            last = error
            time.sleep(0.1)
    raise last


@pytest.fixture(scope="session")
def pg_shop(postgres):
    """PostgreSQL with the tables of `shop`."""
    from tests.helpers import shop

    shop.fill(postgres)
    return postgres


@pytest.fixture(scope="session")
def my_shop(mariadb):
    """MariaDB with the tables of `shop`."""
    from tests.helpers import shop

    shop.fill(mariadb)
    return mariadb


@pytest.fixture(params=["postgresql", "mysql"])
def shop_server(request):
    """Each server in turn."""
    return request.getfixturevalue("pg_shop" if request.param == "postgresql" else "my_shop")


@pytest.fixture(autouse=True)
def password(monkeypatch):
    """The password where winnow looks for it, and nowhere else."""
    for name in ("PGPASSWORD", "MYSQL_PWD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WINNOW_DB_PASSWORD", PASSWORD)
