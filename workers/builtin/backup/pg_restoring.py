"""How a PostgreSQL backup becomes a database again: a new one; the old one is renamed, never dropped."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import psycopg
from psycopg import sql

from workers.base import Permanent, Transient
from workers.builtin.backup.directory import stamp
from workers.builtin.backup.dumps import Copied, Counts, Damaged, compare_counts
from workers.builtin.backup.pg_client import Client, Connection, InUse, line, one, through_gzip
from workers.builtin.backup.pg_server import NOTE, SCRATCH, Server

RENAME = sql.SQL("ALTER DATABASE {} RENAME TO {}")
DRAFT = "A restore by Signoff that is not finished"
RESTORE_SECONDS = 3000.0
SWAPS = 10  # a busy application reconnects between the end of its connections and the rename
LIVE = ["--exit-on-error", "-w"]
# A rehearsal must not depend on roles, and must not start to replicate.
REHEARSAL = [*LIVE, "--no-owner", "--no-privileges", "--no-publications", "--no-subscriptions"]
# A few tables come without what their foreign keys and triggers point to.
PIECES = ["--section=pre-data", "--section=data"]
KEPT = "SELECT datname FROM pg_database WHERE starts_with(datname, %s) AND datname LIKE %s"
MARK = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s"
SETTINGS = """
    SELECT coalesce(rolname, ''), split_part(pair, '=', 1), substr(pair, strpos(pair, '=') + 1)
    FROM pg_db_role_setting JOIN pg_database d ON d.oid = setdatabase
         LEFT JOIN pg_roles r ON r.oid = setrole, unnest(setconfig) pair WHERE datname = %s
"""
GRANTS = """
    SELECT privilege_type, coalesce(rolname, ''), is_grantable
    FROM pg_database d, aclexplode(d.datacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee WHERE datname = %s
"""
FACTS = "SELECT pg_get_userbyid(datdba), datconnlimit, datacl IS NOT NULL FROM pg_database WHERE datname = %s"
OTHERS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()
"""
COUNTABLE = """
    SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'r' AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
"""


class SwapUnknown(Exception):
    """It may have happened. Neither a failure nor a success: a person or the probe finds out."""


def rehearse(
    client: Client, tag: str, layout: dict[str, str], backup: Path, pieces: list[str], wanted: Counts
) -> None:
    """Restore into a scratch database, count there, and drop it."""
    now, server = client.ctx.now(), Server(client)
    server.sweep(f"%\\_{tag}", before=f"{SCRATCH}{stamp(now - timedelta(days=1))}")
    scratch = f"{SCRATCH}{stamp(now)}_{tag}"
    with _draft(server, scratch, layout):
        if pieces:
            _make_schemas(client, scratch, {name.partition(".")[0] for name in wanted})
        _fill(client, scratch, backup, [*REHEARSAL, *pieces])
        _recount(client, scratch, wanted)


def _make_schemas(client: Client, database: str, schemas: set[str]) -> None:
    """A dump of tables does not bring the schemas they live in."""
    with client.connect(database) as connection:
        for schema in sorted(schemas):
            connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))


def restore(client: Client, backup: Path, copied: Copied, tag: str, stamp: str) -> str:
    """Fill a new database, prove it, and give it the old one's name. The name the old one has now."""
    server, database, new = Server(client), client.database, new_name(client.database, tag)
    old = old_name(database, stamp, tag) if server.exists(database) else ""
    server.sweep_drafts(f"{_short(database)}_new_", DRAFT)
    with _draft(server, new, copied.about):
        server.note(new, DRAFT)
        if old:
            _dress(server, database, new)
        _fill(client, new, backup, LIVE)
        _recount(client, new, copied.counts or {})
        with client.connect(new, autocommit=True) as connection:
            connection.execute("ANALYZE")  # a database without statistics is slow in its first hour
        client.ctx.hold()  # what stood still meanwhile must not swap what another attempt has restored
        _swap(server, new, database, old, mark(tag))
    return old


def restored(client: Client, tag: str) -> str | None:
    """The mark came with the new database, and the swap is one transaction."""
    with Server(client).connect() as connection:
        if one(connection, MARK, client.database) != mark(tag):
            return None
        return str(one(connection, KEPT, f"{_short(client.database)}_before_", f"%\\_{tag}") or "")


def mark(tag: str) -> str:
    return f"Restored by Signoff, {tag}"


def new_name(database: str, tag: str) -> str:
    return f"{_short(database)}_new_{tag}"


def old_name(database: str, stamp: str, tag: str) -> str:
    return f"{_short(database)}_before_{stamp}_{tag}"


def _short(database: str) -> str:
    """PostgreSQL cuts names at 63 bytes, silently."""
    return database.encode()[:26].decode(errors="ignore")


def _fill(client: Client, database: str, backup: Path, options: list[str]) -> None:
    with client.login(database) as (login, env):
        words = ["pg_restore", *options, f"--dbname={login}"]
        done = client.run(through_gzip("feed", backup, words), RESTORE_SECONDS, env)
    if done.returncode:
        raise Damaged(f"it does not restore, pg_restore says: {line(done.text())}")


def counts(connection: Connection, tables: list[tuple[str, str]]) -> Counts:
    query = sql.SQL("SELECT count(*) FROM ONLY {}")
    found = {names: connection.execute(query.format(sql.Identifier(*names))).fetchone() for names in tables}
    return {".".join(names): row[0] if row else 0 for names, row in found.items()}


def _recount(client: Client, database: str, wanted: Counts) -> None:
    with client.connect(database) as connection:
        tables = [(schema, table) for schema, table in connection.execute(COUNTABLE)]
        compare_counts(wanted, counts(connection, tables))


@contextmanager
def _draft(server: Server, database: str, layout: dict[str, str]) -> Iterator[None]:
    """A database of ours that is gone afterwards, unless it got another name meanwhile."""
    server.drop(database)
    server.create(database, layout)
    try:
        yield
    finally:
        with suppress(Permanent, Transient):  # what is left is dropped by the next attempt
            server.drop(database)


def _dress(server: Server, old: str, new: str) -> None:
    """Owner, limits, settings and grants are the old database's; a dump has none of them."""
    target = sql.Identifier(new)
    with server.connect(autocommit=False) as connection:
        owner, limit, granted = connection.execute(FACTS, (old,)).fetchone() or ("", -1, False)
        for role, word, value in connection.execute(SETTINGS, (old,)).fetchall():
            _set(connection, target, role, sql.Identifier(*word.split(".")), value)
        if granted:
            connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(target))
        for right, role, more in connection.execute(GRANTS, (old,)).fetchall():
            whom = sql.Identifier(role) if role else sql.SQL("PUBLIC")
            grant = sql.SQL("GRANT {} ON DATABASE {} TO {}" + (" WITH GRANT OPTION" if more else ""))
            connection.execute(grant.format(sql.SQL(right), target, whom))
        connection.execute(
            sql.SQL("ALTER DATABASE {} CONNECTION LIMIT {}").format(target, sql.Literal(limit))
        )
        connection.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(target, sql.Identifier(owner)))


def _set(connection: Connection, target: sql.Identifier, role: str, word: sql.Identifier, value: str) -> None:
    """By way of this session, because a list such as search_path cannot be quoted as one value."""
    whose = sql.SQL("ROLE {} IN DATABASE").format(sql.Identifier(role)) if role else sql.SQL("DATABASE")
    connection.execute("SELECT set_config(%s, %s, false)", (word.as_string().replace('"', ""), value))
    connection.execute(sql.SQL("ALTER {} {} SET {} FROM CURRENT").format(whose, target, word))
    connection.execute(sql.SQL("RESET {}").format(word))


def _swap(server: Server, new: str, database: str, old: str, said: str) -> None:
    """Both renames are one transaction: at every moment the name stands for a whole database."""
    moves = [(database, old), (new, database)] if old else [(new, database)]
    note = NOTE.format(sql.Identifier(new), sql.Literal(said))
    for _ in range(SWAPS):
        with suppress(InUse), server.connect(autocommit=False) as connection:
            connection.execute(note)
            for before, after in moves:
                connection.execute(OTHERS, (before,))
                connection.execute(RENAME.format(sql.Identifier(before), sql.Identifier(after)))
            _commit(connection)
            return
    raise Permanent(f"{database} stays in use: it was NOT restored and is as it was. Stop what uses it.")


def _commit(connection: Connection) -> None:
    try:
        connection.commit()
    except psycopg.OperationalError as error:
        raise SwapUnknown("The connection was lost while the databases changed names") from error
