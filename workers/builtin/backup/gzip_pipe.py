"""Carries dumps through gzip, as a program of its own, so that one command holds all that must end together.

`gzip_pipe.py pack FILE pg_dump …` writes what pg_dump prints into FILE while pg_restore reads FILE. It ends
well only if pg_restore understood every byte and the disk, asked afterwards, has exactly those bytes.
`gzip_pipe.py feed FILE pg_restore …` is `gunzip -c FILE | pg_restore …`.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

DUMP_FAILED, UNREADABLE, CHANGED = 1, 3, 4
READER = ("pg_restore", "-f", os.devnull)
CHUNK = 1 << 20
PAUSE, TELL = 0.005, 2.0
GZIP = 31  # zlib's way of saying: with gzip's header and checksum


def sync(path: Path) -> None:
    """Have it on the disk, be it a file or a directory."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def disk_digest(path: Path) -> str:
    """SHA-256 of what lies on the disk: written out, and not answered from memory where that can be had."""
    sync(path)
    with path.open("rb") as file:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return hashlib.file_digest(file, "sha256").hexdigest()


class Unzip:
    """Reads a gzip file, even one that still grows. Not the library that wrote it: each checks the other."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("rb", buffering=0)
        self.taken, self.inflate = hashlib.sha256(), zlib.decompressobj(wbits=GZIP)

    def into(self, pipe: int) -> None:
        """All that is there by now."""
        while chunk := self.file.read(CHUNK // 4):
            self.taken.update(chunk)
            while chunk:
                write_all(pipe, self.inflate.decompress(chunk, CHUNK))
                chunk = self.inflate.unconsumed_tail

    @property
    def sha256(self) -> str:
        """Of what was read, if that was one whole gzip file; else ""."""
        return self.taken.hexdigest() if self.inflate.eof and not self.inflate.unused_data else ""


class Feeder(threading.Thread):
    """Gives a growing gzip file to a pipe."""

    def __init__(self, path: Path, pipe: int) -> None:
        super().__init__(daemon=True)
        self.unzip, self.pipe = Unzip(path), pipe
        self.grown = threading.Event()  # set when the file grows no more

    def run(self) -> None:
        with contextlib.suppress(BrokenPipeError, zlib.error):  # then there is no digest
            last = False
            while not last:
                last = self.grown.wait(2 * PAUSE)
                self.unzip.into(self.pipe)
        os.close(self.pipe)


def pack(target: Path, words: list[str]) -> int:
    """The exit code; the digest is told as the last line."""
    with _child(words, stdout=subprocess.PIPE) as dump, _child(READER, stdin=subprocess.PIPE) as reader:
        feeder = Feeder(target, _end_of(reader.stdin))
        feeder.start()
        _pump(_end_of(dump.stdout), target)
        if dump.wait():
            return DUMP_FAILED
        feeder.grown.set()
        sync(target)
        feeder.join()
        if reader.wait() or not feeder.unzip.sha256:
            return UNREADABLE
    on_disk = disk_digest(target)
    _tell(sha256=on_disk)
    return 0 if on_disk == feeder.unzip.sha256 else CHANGED


def feed(source: Path, words: list[str]) -> int:
    """The command's exit code. A command that has read enough may end before the file does."""
    with _child(words, stdin=subprocess.PIPE) as reader:
        unzip, pipe = Unzip(source), _end_of(reader.stdin)
        try:
            unzip.into(pipe)
        except BrokenPipeError:
            return reader.wait()
        except zlib.error as error:
            _complain(error)
            return UNREADABLE
        os.close(pipe)
        return reader.wait() or (0 if unzip.sha256 else UNREADABLE)


def _end_of(pipe: IO[bytes] | None) -> int:
    """The bare descriptor, for its new owner to close."""
    assert pipe is not None  # noqa: S101 # for the type checker: it was asked for
    with pipe:
        return os.dup(pipe.fileno())


def _pump(source: int, target: Path) -> None:
    """In big pieces: pg_dump writes in small ones, and waking up for each costs more than the work."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(PermissionError):  # a user's pipes may have used up their share
            fcntl.fcntl(source, fcntl.F_SETPIPE_SZ, CHUNK)
    from isal import isal_zlib

    deflate, told = isal_zlib.compressobj(1, wbits=GZIP), time.monotonic()
    with target.open("r+b", buffering=0) as file:
        while chunk := os.read(source, CHUNK):
            write_all(file.fileno(), deflate.compress(chunk))
            if time.monotonic() - told > TELL:
                told = time.monotonic()
                _tell(written=file.tell())
            if len(chunk) < CHUNK // 2:
                time.sleep(PAUSE)
        write_all(file.fileno(), deflate.flush())


def write_all(handle: int, chunk: bytes) -> None:
    rest = memoryview(chunk)
    while rest:
        rest = rest[os.write(handle, rest) :]


@contextlib.contextmanager
def _child(
    words: list[str] | tuple[str, ...], *, stdin: int = subprocess.DEVNULL, stdout: int | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen(words, stdin=stdin, stdout=stdout)  # noqa: S603 # argv of pg_dump and pg_restore
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def _tell(**facts: str | int) -> None:
    write_all(sys.stdout.fileno(), json.dumps(facts).encode() + b"\n")


def _complain(error: Exception) -> None:
    write_all(sys.stderr.fileno(), f"relay: error: {error}\n".encode())


def main() -> int:
    os.umask(0o077)
    work = {"pack": pack, "feed": feed}[sys.argv[1]]
    try:
        return work(Path(sys.argv[2]), sys.argv[3:])
    except OSError as error:
        _complain(error)
        return DUMP_FAILED


if __name__ == "__main__":
    sys.exit(main())
