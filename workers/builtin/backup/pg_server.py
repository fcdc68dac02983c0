"""A PostgreSQL server: which databases it has, what they are made with, and how ours come and go."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from workers.builtin.backup.pg_client import Client, Connection, one

SCRATCH = "signoff_rehearsal_"
LAYOUT = ("ENCODING", "LC_COLLATE", "LC_CTYPE", "LOCALE_PROVIDER", "ICU_LOCALE", "BUILTIN_LOCALE")
LEFT = "SELECT datname FROM pg_database WHERE datname LIKE %s AND (datname LIKE %s OR datname < %s)"
DRAFTS = """
    SELECT datname FROM pg_database
    WHERE starts_with(datname, %s) AND shobj_description(oid, 'pg_database') = %s
"""
NOTE = sql.SQL("COMMENT ON DATABASE {} IS {}")
DESCRIPTION = """
    SELECT to_jsonb(d) || jsonb_build_object('encoding', pg_encoding_to_char(encoding))
    FROM pg_database d WHERE datname = %s
"""


@dataclass(frozen=True)
class Server:
    """The server of a database, spoken to through another of its databases."""

    client: Client

    @contextmanager
    def connect(self, *, autocommit: bool = True) -> Iterator[Connection]:
        other = "template1" if self.client.database == "postgres" else "postgres"
        with self.client.connect(other, autocommit=autocommit) as connection:
            yield connection

    def exists(self, database: str) -> bool:
        with self.connect() as connection:
            return one(connection, "SELECT 1 FROM pg_database WHERE datname = %s", database) is not None

    def create(self, database: str, layout: dict[str, str]) -> None:
        words = [sql.SQL(f"{word} ") + sql.Literal(layout[word]) for word in LAYOUT if word in layout]
        with self.connect() as connection:
            connection.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE template0 ").format(sql.Identifier(database))
                + sql.SQL(" ").join(words)
            )

    def sweep(self, own: str, *, before: str) -> None:
        """Scratch databases of killed attempts: this step's, and any that is older than a run can be."""
        self._drop_all(LEFT, f"{SCRATCH}%", own, before)

    def sweep_drafts(self, start: str, said: str) -> None:
        """What killed restores left; by their mark, because a name alone may be anybody's."""
        self._drop_all(DRAFTS, start, said)

    def note(self, database: str, said: str) -> None:
        with self.connect() as connection:
            connection.execute(NOTE.format(sql.Identifier(database), sql.Literal(said)))

    def _drop_all(self, query: str, *values: str) -> None:
        with self.connect() as connection:
            left = connection.execute(query, values).fetchall()
        for (database,) in left:
            self.drop(database)

    def drop(self, database: str) -> None:
        """Only ever a database that we made and nobody was shown."""
        with self.connect() as connection:
            connection.execute(
                sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(database))
            )


def layout_of(connection: Connection, database: str) -> dict[str, str]:
    """What a database must be made with to hold the same text in the same order."""
    found: dict[str, Any] = one(connection, DESCRIPTION, database) or {}
    words = {
        "ENCODING": found.get("encoding"),
        "LC_COLLATE": found.get("datcollate"),
        "LC_CTYPE": found.get("datctype"),
    }
    locale = found.get("datlocale") or found.get("daticulocale")
    if found.get("datlocprovider") == "i":
        words |= {"LOCALE_PROVIDER": "icu", "ICU_LOCALE": locale}
    if found.get("datlocprovider") == "b":
        words |= {"LOCALE_PROVIDER": "builtin", "BUILTIN_LOCALE": locale}
    return {word: str(value) for word, value in words.items() if value}
