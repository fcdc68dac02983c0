"""How a database is opened: what readers and writers may expect of their connection."""

import os
import socket
import sqlite3
from contextlib import closing

import psycopg
import pytest

from storage.database import engine as opening


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_reader_on_sqlite_keeps_nobody_from_writing(engine):
    with (
        closing(sqlite3.connect(engine.url.database, timeout=0, isolation_level=None)) as other,
        engine.begin() as connection,
    ):
        connection.exec_driver_sql("SELECT count(*) FROM plan")
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")


def test_the_connection_that_was_used_last_comes_first(engine):
    with engine.connect() as one, engine.connect() as two:
        drivers = [c.connection.driver_connection for c in (one, two)]
    with engine.connect() as again:
        assert again.connection.driver_connection is drivers[0]  # given back last


@pytest.mark.postgres
def test_a_connection_that_the_server_ended_is_replaced_after_a_pause(postgres_engine, monkeypatch):
    monkeypatch.setattr(opening, "PAUSE", -1.0)  # it is always looked at
    with postgres_engine.connect() as c:
        pid = c.connection.driver_connection.info.backend_pid
    url = postgres_engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
    with postgres_engine.connect() as c:
        assert c.exec_driver_sql("SELECT 1").scalar_one() == 1


@pytest.mark.postgres
def test_either_end_gives_up_a_connection_whose_other_end_is_gone_within_seconds(postgres_engine):
    """A cut cable ends nothing by itself: what its process has locked would stay so for hours."""
    with postgres_engine.connect() as c:
        servers = {
            name: c.exec_driver_sql(f"SHOW {name}").scalar_one()
            for name in ("tcp_user_timeout", "tcp_keepalives_idle", "idle_in_transaction_session_timeout")
        }
        with socket.socket(fileno=os.dup(c.connection.driver_connection.fileno())) as ours:
            alive, idle, patience = (
                ours.getsockopt(level, name)
                for level, name in (
                    (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
                    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
                    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT),
                )
            )

    assert [*servers.values()] == ["15000", "5", "10s"]
    assert (bool(alive), idle, patience) == (True, 5, 15_000)
