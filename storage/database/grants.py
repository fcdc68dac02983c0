"""What a workers' role may do in PostgreSQL: the same cut as between `Intention` and `Execution`, as SQL.

Columns say which facts of a row workers may write; triggers say which rows, moves and events. A workers
process that was taken over cannot approve, revise, override, enrol or permit, whatever it sends.
"""

import hashlib
from collections.abc import Mapping

from sqlmodel import SQLModel

from storage.contract.states import PLAN_MOVES
from storage.database import narrow
from storage.database import tables as _tables  # noqa: F401 # they enter the metadata

READS = (
    "plan", "revision", "approval", "override", "preview", "planningread", "step", "attempt", "target",
    "stop", "capability", "process", "spending", "alembic_version", "story",
)  # fmt: skip
# Of what people wrote and shall read, only what is counted and redrawn.
READS_OF = {
    "delivery": ("handled_at",),
    "message": ("id", "plan_id", "key", "step", "wanted", "shown", "not_before"),
}
# What an auditor sees of the rows that hold somebody's secret, or words that are not handled yet.
SEEN_OF = {
    "factor": ("user", "failures", "enrolled_at"),
    "delivery": ("key", "kind", "received_at", "handled_at"),
    "token": (
        "id",
        "team",
        "name",
        "owner",
        "scopes",
        "channels",
        "runbooks",
        "environments",
        "made_by",
        "made_at",
        "expires_at",
        "used_at",
        "revoked_at",
    ),
}
INSERTS = ("step", "attempt", "target", "capability", "process", "event", "message", "spending")
DELETES = ("target",)
UPDATES = {
    "plan": ("version", "head", "events", "state", "outcome", "reason", "look", "cancelled_by"),
    "step": (
        "state", "choice", "attempt", "not_before", "due_at", "owner", "lease_until", "basis", "progress",
        "overran", "probing", "previous", "report", "started_at", "ended_at",
    ),
    "attempt": ("outcome", "report", "late", "ended_at"),
    "capability": ("contract", "hash", "seen_at"),
    "process": ("kind", "release", "seen_at"),
    "preview": ("state", "text", "basis", "found", "was", "at"),
    "planningread": ("state", "summary", "data", "at"),
    "message": ("wanted", "urgent", "not_before"),
}  # fmt: skip
# What follows from reports and from time; everything else is somebody's word.
PLAN_VERBS = ("stall", "finish", "cancel")
EVENTS = (
    *PLAN_VERBS, "claim", "succeed", "fail", "retry", "late", "lose", "look", "preview", "rollback",
    "overrun", "halt", "book", "found",
)  # fmt: skip
FROM = "approved"  # the only state from which a report moves a plan


def grants(role: str) -> str:
    """The statements, for the owner of the tables to run once after each migration."""
    name, text = quoted(role), literal(role)
    guards = [_guard(table, refused, text) for table, refused in REFUSED.items()]
    return "\n".join([*_rights(name), _carrier(text), *guards]) + "\n"


def auditor(role: str) -> str:
    """The statements for a role that reads what the journal and the plans say, and writes nothing."""
    name = quoted(role)
    whole = [table for table in SQLModel.metadata.tables if table not in SEEN_OF]
    return (
        "\n".join(
            [
                f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {name};",
                f"REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM {name};",
                f"GRANT SELECT ON {', '.join(map(quoted, sorted([*whole, 'alembic_version'])))} TO {name};",
                *_of_columns("SELECT", SEEN_OF, name),
            ]
        )
        + "\n"
    )


# What the board needs of the rows: no second factor, no delivery, no word that one person alone was told.
WATCHES = (
    "plan", "revision", "approval", "override", "preview", "shown", "step", "attempt", "target", "stop",
    "recurring", "occurrence", "standing", "system", "spending", "capability", "process", "lease", "event",
    "visit", "opened", "story", "alembic_version",
)  # fmt: skip
WATCHES_OF = {
    "message": ("id", "plan_id", "key", "kind", "channel", "ts", "wanted", "shown", "not_before", "problem"),
}


def board(role: str) -> str:
    """The statements for the board's role: it reads plans and journal, and writes who is there."""
    name = quoted(role)
    lines = [
        f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {name};",
        f"REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM {name};",
        f"GRANT SELECT ON {', '.join(map(quoted, WATCHES))} TO {name};",
        *_of_columns("SELECT", WATCHES_OF, name),
        *_of_columns("UPDATE", narrow.UPDATES, name),
        *(f"GRANT INSERT ON {quoted(table)} TO {name};" for table in narrow.INSERTS),
    ]
    return "\n".join(lines) + "\n"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _rights(role: str) -> list[str]:
    """Nothing but what is listed; the sequences give new rows their numbers."""
    return [
        f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role};",
        f"REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM {role};",
        f"GRANT SELECT ON {', '.join(map(quoted, READS))} TO {role};",
        f"GRANT INSERT ON {', '.join(map(quoted, INSERTS))} TO {role};",
        f"GRANT DELETE ON {', '.join(map(quoted, DELETES))} TO {role};",
        *_of_columns("SELECT", READS_OF, role),
        *_of_columns("UPDATE", UPDATES, role),
        f"GRANT USAGE ON SEQUENCE step_id_seq, event_id_seq, message_id_seq, spending_id_seq TO {role};",
    ]


def _of_columns(right: str, columns: Mapping[str, tuple[str, ...]], role: str) -> list[str]:
    listed = {table: ", ".join(map(quoted, names)) for table, names in columns.items()}
    return [f"GRANT {right} ({names}) ON {quoted(table)} TO {role};" for table, names in listed.items()]


def _carrier(role: str) -> str:
    """Procrastinate's own tables, where they are: they carry numbers of steps, and no row of ours."""
    return f"""DO $$ DECLARE found record; BEGIN
  FOR found IN SELECT c.relname, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'public' AND c.relname LIKE 'procrastinate\\_%' AND c.relkind IN ('r', 'S') LOOP
    IF found.relkind = 'S' THEN EXECUTE format('GRANT USAGE ON SEQUENCE %I TO %I', found.relname, {role});
    ELSE EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO %I', found.relname, {role}); END IF;
  END LOOP;
END $$;"""  # noqa: S608 # printed for an operator, and its names are quoted


PLAN_MOVED = (
    f"NEW.state <> OLD.state AND NOT (OLD.state = '{FROM}' AND NEW.state IN "
    f"({', '.join(literal(PLAN_MOVES[verb][1]) for verb in PLAN_VERBS)})"
    " AND (NEW.state <> 'cancelled' OR OLD.cancelled_by <> ''))"
)
REPORTED = f"NEW.verb NOT IN ({', '.join(map(literal, EVENTS))})"
REFUSED = {"step": "NOT NEW.undo", "plan": PLAN_MOVED, "event": REPORTED}
WHEN = {"step": "INSERT", "plan": "UPDATE", "event": "INSERT"}
SAID = {
    "step": "workers add no step but one that undoes another",
    "plan": "workers move no plan but by what was reported",
    "event": "workers put nothing on record but what they did",
}


def _guard(table: str, refused: str, role: str) -> str:
    """A trigger that refuses this role, and whoever has its rights, what columns cannot; never the owner."""
    name = f"signoff_{table}_{hashlib.sha256(role.encode()).hexdigest()[:12]}"  # each role has its own
    return f"""CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF pg_has_role(current_user, {role}, 'USAGE') AND ({refused}) AND NOT pg_has_role(
    current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN
    RAISE insufficient_privilege USING MESSAGE = {literal(SAID[table])};
  END IF;
  RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER {name} BEFORE {WHEN[table]} ON {quoted(table)}
  FOR EACH ROW EXECUTE FUNCTION {name}();"""  # noqa: S608 # printed for an operator; the role is quoted
