"""A pooler between us and PostgreSQL: refused with a sentence where it keeps no sessions."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from storage.database.engine import await_database, open_engine
from storage.errors import BadConfig
from tests.support.ports import ports
from tests.support.postgres import USER, _account, fresh_database

CONFIG = """
[databases]
* = host={host} port={server} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
ignore_startup_parameters = extra_float_digits{ignored}
logfile = {place}/pgbouncer.log
pidfile = {place}/pgbouncer.pid
"""


@contextmanager
def bouncer(url: str, mode: str, ignored: str = "") -> Iterator[str]:
    """PgBouncer before that server, in that mode."""
    binary = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
    if not Path(binary).exists():
        pytest.skip("PgBouncer is missing. On Debian: apt-get install pgbouncer")
    place = Path(tempfile.mkdtemp(prefix="signoff-pgbouncer-"))  # pytest's are closed to its user
    port, server = ports(), urlsplit(url)
    place.chmod(0o777)
    facts = {"host": server.hostname, "server": server.port, "user": USER, "port": port, "mode": mode}
    config = place / "pgbouncer.ini"
    config.write_text(CONFIG.format(place=place, ignored=ignored, **facts))
    who = {"user": _account()[0], "group": _account()[1]} if os.geteuid() == 0 else {}
    running = subprocess.Popen([binary, str(config)], stderr=subprocess.DEVNULL, **who)  # type: ignore[call-overload]
    try:
        through = server._replace(netloc=f"{USER}@127.0.0.1:{port}").geturl()
        for _ in range(600):
            try:
                psycopg.connect(through, connect_timeout=2).close()
                break
            except psycopg.OperationalError:
                time.sleep(0.05)
        yield through
    finally:
        running.kill()
        running.wait()
        shutil.rmtree(place, ignore_errors=True)


@pytest.mark.postgres
@pytest.mark.parametrize(("mode", "ignored"), [("transaction", ""), ("transaction", ", options")])
def test_a_pooler_that_keeps_no_sessions_is_refused_with_a_sentence(postgres, mode, ignored):
    with bouncer(fresh_database(postgres), mode, ignored) as through:
        engine = open_engine(through)
        with pytest.raises(BadConfig, match="a pooler that keeps no sessions"):
            await_database(engine, patience=0.0)
        engine.dispose()


@pytest.mark.postgres
def test_postgresql_itself_is_not_taken_for_one(postgres):
    engine = open_engine(fresh_database(postgres))
    await_database(engine)
    engine.dispose()
