"""What a command prints: bounded in memory, whole in a log, fit to show, and without its secrets."""

import json
import os
import re
import selectors
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO
from urllib.parse import quote
from xml.sax.saxutils import escape

from storage.secrets.redaction import SHORTEST, encodings, known_values

NOISE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor moves
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles and links
    r"|\x1b."
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"  # controls, and marks that turn text around
)
KEPT = 64 * 1024  # of the beginning and of the end, in memory
LOGGED = 50 * 1024 * 1024
LINE = 4096
HIDDEN = b"[hidden]"
TELLING = 4  # so many first characters of a secret say something about it


def plain(output: bytes | bytearray) -> str:
    """Printed bytes as text without escape sequences and control characters."""
    text = output.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    return NOISE.sub("", text)


class Mask:
    """Keeps known values out of what passes through it, also where two chunks meet."""

    def __init__(self, secrets: Iterable[str]) -> None:
        words = {os.fsencode(word) for secret in secrets if secret for word in _spellings(secret)}
        self._words = sorted(words, key=len, reverse=True)
        self._begun: dict[int, list[bytes]] = {}
        for word in self._words:
            self._begun.setdefault(word[0], []).append(word)
        self._longest = max(map(len, words), default=0)
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """What may be shown by now; what could be the beginning of a secret is held back."""
        if not self._words:
            return chunk
        text, shown, start = self._held + chunk, bytearray(), 0
        near = len(text) - self._longest
        for found in self._found(text):
            if found.start() > near and found.start() >= self._cut(text, start):
                break
            shown += text[start : found.start()] + HIDDEN
            start = found.end()
        cut = self._cut(text, start)
        self._held = text[cut:]
        return bytes(shown + text[start:cut])

    def rest(self) -> bytes:
        """What was held back when nothing more comes; a secret cut off in the middle stays hidden."""
        held, self._held = self._held, b""
        return HIDDEN if len(held) >= TELLING else self.hide(held)

    def hide(self, whole: bytes) -> bytes:
        shown, start = bytearray(), 0
        for found in self._found(whole):
            shown += whole[start : found.start()] + HIDDEN
            start = found.end()
        return bytes(shown + whole[start:])

    def text(self, whole: str) -> str:
        return self.hide(whole.encode()).decode() if self._words else whole

    def _found(self, text: bytes) -> Iterator[re.Match[bytes]]:
        """Where secrets stand. To look for each alone is quick; only what is there is looked for together."""
        present = [word for word in self._words if word in text]
        return re.finditer(b"|".join(map(re.escape, present)), text) if present else iter(())

    def _cut(self, text: bytes, start: int) -> int:
        """Where a secret may begin that has not ended yet."""
        for place in range(max(start, len(text) - self._longest + 1), len(text)):
            words = self._begun.get(text[place], ())
            if words and _begins_one(text[place:], words):
                return place
        return len(text)


class Output:
    """Takes what a command prints: beginning and end to memory, all of it up to a cap to the log."""

    def __init__(
        self, pipe: int, log: BinaryIO, on_line: Callable[[str], None] | None, mask: Mask | None = None
    ) -> None:
        self.pipe, self.log, self.on_line, self.mask = pipe, log, on_line, mask or Mask(())
        self.head, self.tail, self.line = bytearray(), bytearray(), bytearray()
        self.total = 0
        self.open = True
        self.heard = time.monotonic()  # when it last printed something
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
        self._take(self.mask.rest())
        if self.total > LOGGED:
            self.log.write(f"\n[{self.total - LOGGED} bytes more were printed]\n".encode())
        self._lines(b"\n" if self.line else b"")

    def _read(self) -> bool:
        try:
            chunk = os.read(self.pipe, 256 * 1024)
        except BlockingIOError:
            return False
        self.open = bool(chunk)
        self.heard = time.monotonic()
        self._take(self.mask.feed(chunk))
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
            self.on_line(self._shown(line[:LINE]))

    def _shown(self, line: bytearray) -> str:
        text = line.decode(errors="replace")
        if text.isprintable():
            return text
        return self.mask.text(plain(line))  # what stood between two escape sequences is one word now


def mask_of(secrets: Iterable[str]) -> Mask:
    """Keeps out what a command was given, and whatever else this process knows: a child may find it."""
    return Mask([*secrets, *known_values(os.environ)])


def _begins_one(begun: bytes, words: Sequence[bytes]) -> bool:
    return any(len(word) > len(begun) and word.startswith(begun) for word in words)


def _spellings(secret: str) -> set[str]:
    """How a program may write it: as it is, line by line, in JSON, XML, a URL, hex or base64."""
    lines = {line.strip() for line in secret.splitlines() if len(line.strip()) >= 2 * TELLING}
    quoted = json.dumps(secret)[1:-1]
    angled = quoted.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")  # as Go does
    marked = {escape(secret), escape(secret, {'"': "&quot;"})}
    coded = encodings(secret) if len(secret) >= SHORTEST else set()
    return {secret, *lines, quoted, angled, *marked, quote(os.fsencode(secret), safe=""), *coded}
