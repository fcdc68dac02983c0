"""Ports for what is started a moment later. No other test on this machine gets them meanwhile."""

import fcntl
import os
import socket
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path

FIRST, LAST = 18000, 32000  # below what the system hands out by itself, to whoever asks for any port
_taken: set[int] = set()  # by this process; the locks only keep others away


def ports(count: int = 1) -> int:
    """So many in a row, the first of them: ours until this process ends, and nobody listens there."""
    for first in range(FIRST, LAST, count):
        wanted = range(first, first + count)
        if _taken.isdisjoint(wanted) and _lock(first, count):
            _taken.update(wanted)
            if _nobody_listens(wanted):
                return first
    raise AssertionError(f"no {count} free ports between {FIRST} and {LAST}")


def _lock(first: int, count: int) -> bool:
    """A byte for each port, in a file that all tests of this user share; it ends with the process."""
    try:
        fcntl.lockf(_locks(), fcntl.LOCK_EX | fcntl.LOCK_NB, count, first)
    except OSError:
        return False
    return True


@cache
def _locks() -> int:
    path = Path(tempfile.gettempdir()) / f"signoff-ports-{os.geteuid()}"
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def _nobody_listens(wanted: range) -> bool:
    with ExitStack() as held:
        try:
            for port in wanted:
                held.enter_context(socket.create_server(("127.0.0.1", port)))
        except OSError:
            return False
    return True
