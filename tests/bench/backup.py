"""What a verified backup costs over plain pg_dump: `python -m tests.bench.backup [--rounds 9] [--rows N]`.

The baseline is what a person would call to get the same: custom format, gzip level 1, written by pg_dump
itself and neither read back nor hashed. Both take turns in one run, and their minima are compared.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psycopg

from tests.support.backup_site import back_up, context
from tests.support.postgres import fresh_database, postgres_server

LIMIT = 1.10
PLAIN = ("pg_dump", "-Fc", "-Z1", "-w", "--lock-wait-timeout=30s")
# Texts that compress, texts that do not, numbers, times, and indexes, which a dump does not contain.
MIXED = (
    "CREATE TABLE orders (id serial PRIMARY KEY, code text, note text, at timestamptz, amount numeric)",
    """INSERT INTO orders (code, note, at, amount)
       SELECT md5(n::text), repeat('item ' || n % 97 || ' ', 1 + n % 7), now() - n * interval '1 s', n * 1.37
       FROM generate_series(1, {rows}) n""",
    "CREATE TABLE lines (order_id int, sku text, quantity int)",
    "INSERT INTO lines SELECT n, substr(md5((n * 7)::text), 1, 12), n % 9 FROM generate_series(1, {rows}) n",
    "CREATE INDEX ON orders (code)",
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--rows", type=int, default=1_500_000)
    wanted = parser.parse_args()
    sys.stdout.write(bench(wanted.rounds, wanted.rows) + "\n")


def bench(rounds: int, rows: int) -> str:
    """One line: the ratio of the minima, and what it was measured on."""
    with postgres_server() as server, tempfile.TemporaryDirectory() as home:
        url = fresh_database(server)
        with psycopg.connect(url) as connection:
            for statement in MIXED:
                connection.execute(statement.format(rows=rows))
        plain, ours = race(url, Path(home), rounds)
        size = (Path(home) / "plain").stat().st_size
    ratio = min(ours) / min(plain)
    return (
        f"backup overhead {ratio:.2f} (limit {LIMIT:.2f}): minima {min(ours):.2f} s against {min(plain):.2f} "
        f"s of '{' '.join(PLAIN)} -f FILE', {rounds} interleaved rounds, {size / 1e6:.0f} MB"
    )


def race(url: str, home: Path, rounds: int) -> tuple[list[float], list[float]]:
    os.environ["BENCH_URL"] = url
    entry = {
        "kind": "postgres",
        "url_env": "BENCH_URL",
        "directory": str(home / "backups"),
        "keep": {"last": 1},
    }
    plain, ours = [], []
    for number in range(rounds):
        words, ctx = [*PLAIN, "-f", str(home / "plain"), url], context(home, f"round-{number}", later=number)
        plain.append(timed(partial(subprocess.run, words, check=True)))
        ours.append(timed(partial(back_up, entry, ctx)))
    return plain, ours


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
