"""What a command prints: bounded in memory, whole in a log, and fit to show."""

import os
import re
import selectors
import time
from collections.abc import Callable
from typing import BinaryIO

NOISE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor moves
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles and links
    r"|\x1b."
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"  # controls, and marks that turn text around
)
KEPT = 64 * 1024  # of the beginning and of the end, in memory
LOGGED = 50 * 1024 * 1024
LINE = 4096


def plain(output: bytes | bytearray) -> str:
    """Printed bytes as text without escape sequences and control characters."""
    text = output.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    return NOISE.sub("", text)


class Output:
    """Takes what a command prints: beginning and end to memory, all of it up to a cap to the log."""

    def __init__(self, pipe: int, log: BinaryIO, on_line: Callable[[str], None] | None) -> None:
        self.pipe, self.log, self.on_line = pipe, log, on_line
        self.head, self.tail, self.line = bytearray(), bytearray(), bytearray()
        self.total = 0
        self.open = True
        os.set_blocking(self.pipe, False)

    @property
    def end(self) -> bytes:
        return bytes(self.tail[-KEPT:])

    @property
    def dropped(self) -> int:
        return self.total - len(self.head) - len(self.end)

    def wait(self, seconds: float) -> None:
        """Read what comes in that time; the end of the output ends it early."""
        until = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.pipe, selectors.EVENT_READ)
            while self.open and selector.select(max(0.0, until - time.monotonic())):
                self._read()
                if time.monotonic() > until:
                    return

    def drain(self) -> None:
        """Take what is left in the pipe; a survivor that holds it open is not waited for."""
        for _ in range(64):
            if not self.open or not self._read():
                break
        if self.total > LOGGED:
            self.log.write(f"\n[{self.total - LOGGED} bytes more were printed]\n".encode())
        self._lines(b"\n" if self.line else b"")

    def _read(self) -> bool:
        try:
            chunk = os.read(self.pipe, 256 * 1024)
        except BlockingIOError:
            return False
        self.open = bool(chunk)
        self._take(chunk)
        return self.open

    def _take(self, chunk: bytes) -> None:
        self.log.write(chunk[: max(0, LOGGED - self.total)])
        self.total += len(chunk)
        free = KEPT - len(self.head)
        self.head += chunk[:free]
        self.tail += chunk[free:]
        if len(self.tail) > 4 * KEPT:
            del self.tail[:-KEPT]
        self._lines(chunk)

    def _lines(self, chunk: bytes) -> None:
        if self.on_line is None:
            return
        *lines, rest = (self.line + chunk).split(b"\n")
        self.line = rest[-LINE:]
        for line in lines:
            self.on_line(plain(line[:LINE]))
