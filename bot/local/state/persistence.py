"""What the workspace remembers, written through to one SQLite file so that a kill loses nothing."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from bot.local.shapes import Json

Changed = Callable[[str, str, Json | None], None]


class Memory:
    """One file with one table; its records by kind of thing."""

    def __init__(self, path: Path | None, changed: Changed) -> None:
        self._db = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS kept (kind TEXT, id TEXT, body TEXT NOT NULL, PRIMARY KEY (kind, id))"
        )
        self._changed = changed

    def records(self, kind: str) -> "Records":
        rows = self._db.execute("SELECT id, body FROM kept WHERE kind = ? ORDER BY rowid", (kind,))
        return Records(self, kind, {id: json.loads(body) for id, body in rows})

    def write(self, kind: str, id: str, body: Json | None) -> None:
        if body is None:
            self._db.execute("DELETE FROM kept WHERE kind = ? AND id = ?", (kind, id))
        else:
            upsert = "INSERT INTO kept VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body"
            self._db.execute(upsert, (kind, id, json.dumps(body)))
        self._changed(kind, id, body)

    def close(self) -> None:
        self._db.close()


class Records:
    """The things of one kind, by id, in the order they came."""

    def __init__(self, memory: Memory, kind: str, bodies: dict[str, Json]) -> None:
        self._memory = memory
        self._kind = kind
        self._bodies = bodies

    def __iter__(self) -> Iterator[Json]:
        return iter(list(self._bodies.values()))

    def get(self, id: str) -> Json | None:
        return self._bodies.get(id)

    def keep(self, id: str, body: Json) -> Json:
        self._bodies[id] = body
        self._memory.write(self._kind, id, body)
        return body

    def drop(self, id: str) -> None:
        if self._bodies.pop(id, None) is not None:
            self._memory.write(self._kind, id, None)

    def clear(self) -> None:
        for id in list(self._bodies):
            self.drop(id)

    def items(self) -> list[tuple[str, Json]]:
        return list(self._bodies.items())
