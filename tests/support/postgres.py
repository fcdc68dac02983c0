"""A real PostgreSQL for tests: started on a free loopback port, gone with the test process."""

import os
import pwd
import shlex
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

import psycopg
import pytest
from psycopg import sql

from storage.database.engine import migrate, open_engine
from storage.database.grants import grants
from tests.support.ports import ports

USER = "signoff"


def find_postgres() -> Path | None:
    """Where `initdb` and `postgres` are: what pg_config says, else the newest of Debian's, else PATH."""
    return next((place for place in _places() if (place / "initdb").exists()), None)


def require_postgres() -> Path:
    """As `find_postgres`; without one the test is skipped with the reason, and on CI it fails."""
    if found := find_postgres():
        return found
    reason = (
        "PostgreSQL's server binaries (initdb, postgres) are missing. On Debian: apt-get install postgresql"
    )
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def postgres_server(
    directory: Path | None = None, *, password: str = "", durable: bool = False
) -> Iterator[str]:
    """Start a server and yield its superuser's URL. `directory` only gets the log, `postgres.log`.

    With a password every connection must give it; it is in the URL. `durable`: as a server is by default,
    each commit reaches the disk; tests do without.
    """
    binaries = require_postgres()
    # The directories of pytest are closed to the user that root's PostgreSQL must run as.
    home = Path(tempfile.mkdtemp(prefix="signoff-postgres-"))
    try:
        _create_cluster(binaries, home, password)
        with _running(binaries, home, (directory or home) / "postgres.log", durable=durable) as port:
            login = f"{USER}:{quote(password, safe='')}" if password else USER
            url = f"postgresql://{login}@127.0.0.1:{port}/postgres"
            _wait_until_ready(url)
            yield url
    finally:
        shutil.rmtree(home, ignore_errors=True)


def fresh_database(url: str) -> str:
    """Create an empty database of a new name on that server and give its URL."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return urlsplit(url)._replace(path=f"/{name}").geturl()


def bounce(url: str, down: float = 0.0, mode: str = "fast") -> subprocess.Popen[bytes]:
    """Stop that server, and start it again after some seconds; it ends with the thread that calls this."""
    with psycopg.connect(url, autocommit=True) as connection:
        (data,) = connection.execute("SHOW data_directory").fetchone() or ("",)
    home = Path(data)
    command = shlex.split((home / "postmaster.opts").read_text())
    stop = [*_as_user(), require_postgres() / "pg_ctl", "-D", home, "-m", mode, "-w", "stop"]
    subprocess.run(stop, capture_output=True, check=True, cwd=home.parent)
    time.sleep(down)
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen([*_as_user(), *command], cwd=home.parent, **quiet)
    _wait_until_ready(url)
    return server


def workers_role(url: str) -> str:
    """Migrate that database, and give its URL for a new role that has only the rights of execution."""
    engine = open_engine(url)
    migrate(engine)
    engine.dispose()
    url, name = url.replace("+psycopg", ""), f"w_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'w'").format(sql.Identifier(name)))
        connection.execute(grants(name))  # type: ignore[arg-type] # printed by us
    parts = urlsplit(url)
    return parts._replace(netloc=f"{name}:w@{parts.hostname}:{parts.port}").geturl()


def _places() -> Iterator[Path]:
    if shutil.which("pg_config"):
        asked = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=False)
        yield Path(asked.stdout.strip())
    installed = Path("/usr/lib/postgresql").glob("*/bin")
    yield from sorted(installed, key=lambda place: place.parent.name.zfill(3), reverse=True)
    if found := shutil.which("initdb"):
        yield Path(found).resolve().parent


def _create_cluster(binaries: Path, home: Path, password: str) -> None:
    secret = home / "password"
    secret.write_text(password)
    if os.geteuid() == 0:
        shutil.chown(home, *_account())
        shutil.chown(secret, *_account())
    how = ["-A", "scram-sha-256", f"--pwfile={secret}"] if password else ["-A", "trust"]
    made = subprocess.run(
        [
            *_as_user(),
            binaries / "initdb",
            "-D",
            home / "data",
            "-U",
            USER,
            "-E",
            "UTF8",
            "--no-locale",
            "-N",
            *how,
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=home,
    )
    assert made.returncode == 0, f"initdb failed: {made.stdout}{made.stderr}"


@contextmanager
def _running(binaries: Path, home: Path, log: Path, *, durable: bool) -> Iterator[int]:
    port = ports()
    options = f"-p {port} -h 127.0.0.1 -k {home} -c max_connections=200".split()
    options += [] if durable else ["-F"]
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*_as_user(), binaries / "postgres", "-D", home / "data", *options],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=home,
        )
    try:
        yield port
    finally:
        subprocess.run(
            [*_as_user(), binaries / "pg_ctl", "-D", home / "data", "-m", "immediate", "-W", "stop"],
            capture_output=True,
            check=False,
            cwd=home,
        )
        server.wait(timeout=10)


def _as_user() -> list[str]:
    """PostgreSQL refuses to run as root; when the tests die it gets SIGQUIT, its immediate stop."""
    if not shutil.which("setpriv"):
        return []
    uid, gid = _account()
    identity = [f"--reuid={uid}", f"--regid={gid}", "--clear-groups"] if os.geteuid() == 0 else []
    return ["setpriv", *identity, "--pdeathsig", "QUIT", "--"]


def _account() -> tuple[int, int]:
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return entry.pw_uid, entry.pw_gid


def _wait_until_ready(url: str) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            psycopg.connect(url, connect_timeout=2).close()
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return
