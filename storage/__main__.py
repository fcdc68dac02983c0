"""python -m storage: the database's schema, and its journal: export, verify, checkpoint, prune."""

import argparse
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import Engine

from storage.audit import verify as standalone
from storage.audit.export import checkpoint, heads, journal, lines, ocsf, snapshot
from storage.audit.report import as_json, report, table
from storage.audit.retention import exported, prune
from storage.audit.verify import check
from storage.command_line import answered
from storage.config import RELEASE, Audit, Settings, login, read_config
from storage.database.engine import migrate, open_engine
from storage.database.grants import auditor, board, grants
from storage.database.schema import may_write, open_to_look
from storage.errors import NotFound
from storage.memory import Memory


def main(arguments: list[str] | None = None, name: str = "python -m storage") -> int:
    given = parser(name).parse_args(arguments)
    return answered(lambda: run(given, Settings()))


def run(given: argparse.Namespace, settings: Settings) -> int:
    given.anchor = getattr(given, "checkpoint", None) or anchored(settings)
    if given.command == "verify" and not given.what.isdigit():
        return standalone.main([given.what, "--checkpoint", str(given.anchor), "--root", given.root])
    if given.command == "grants":
        print(rights_of(given), end="")
        return 0
    return command(given, settings)


def rights_of(given: argparse.Namespace) -> str:
    if given.auditor:
        return auditor(given.auditor)
    return board(given.board) if given.board else grants(given.role)


def anchored(settings: Settings) -> Path:
    """Where the bot anchors the journal; an auditor's machine has no configuration, and says where."""
    audit = read_config(settings.config).audit if settings.config.exists() else Audit()
    return audit.anchor(settings.state)


def parser(name: str) -> argparse.ArgumentParser:
    what = "bring the schema up to date, and look after the journal"
    top = argparse.ArgumentParser(prog=name, description=what)
    top.add_argument("--version", action="version", version=f"signoff {RELEASE}")
    commands = top.add_subparsers(dest="command", required=True, metavar="command")

    def add(name: str, help: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=help, description=help)

    add("migrate", help="bring the schema to the newest revision")
    rights = add("grants", help="print what a role may do in PostgreSQL")
    rights.add_argument("--role", default="signoff_workers", help="its name (signoff_workers)")
    rights.add_argument(
        "--auditor", metavar="ROLE", help="of this role, instead: it reads, and writes nothing"
    )
    rights.add_argument("--board", metavar="ROLE", help="of this role of the board's, instead")
    export = add("export", help="write the journal to standard output, an event a line")
    export.add_argument("--format", choices=("jsonl", "ocsf"), default="jsonl", help="jsonl, if not said")
    proof = add("verify", help="check an export, or a plan where it lies, for changes")
    proof.add_argument("what", help="the export's file, or a plan's number; 0 is the system's")
    proof.add_argument("--checkpoint", type=Path, help="the file of the checkpoints, if not the bot's own")
    proof.add_argument("--root", default="", help="check against the checkpoint with this root, as posted")
    period = add("report", help="count what was changed in a period, and how it was decided")
    period.add_argument(
        "--from", dest="since", type=day, required=True, metavar="DAY", help="as in 2026-11-01"
    )
    period.add_argument(
        "--to", dest="until", type=day, required=True, metavar="DAY", help="up to this day, not with it"
    )
    period.add_argument("--target", default="", help="only this one, such as database:auth_prod")
    period.add_argument("--json", action="store_true", help="print it as JSON")
    anchor = add("checkpoint", help="anchor the newest hashes in a file, and print what to post")
    anchor.add_argument("checkpoint", type=Path, nargs="?", help="the file, if not the bot's own")
    forget = add("prune", help="remove old events that a good export holds")
    forget.add_argument("--days", type=int, default=400, help="how old (400)")
    forget.add_argument("--export", type=Path, required=True, help="the export that holds them")
    forget.add_argument("--checkpoint", type=Path, help="the file of the checkpoints, if not the bot's own")
    return top


def command(given: argparse.Namespace, settings: Settings) -> int:
    now = settings.now()
    if given.command == "migrate":
        engine = open_engine(settings.database)
        migrate(engine)
        print(f"{engine.url.render_as_string(hide_password=True)} has the newest schema")
        return 0
    engine = open_to_look(settings.database)
    if given.command == "verify":
        return verify(engine, int(given.what))
    if given.command == "export":
        leave_word(engine, settings, given.format)
        return export(open_to_look(settings.database), given.format)
    if given.command == "report":
        found = report(engine, given.since, given.until, given.target)
        print(as_json(found) if given.json else table(found, given.since, given.until))
        return 0
    if given.command == "checkpoint":
        print(checkpoint(engine, given.anchor, now()))
        return 0
    return forget(Memory(open_engine(settings.database), now), now() - timedelta(days=given.days), given)


def day(text: str) -> datetime:
    """The beginning of a day, UTC."""
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no day as in 2026-11-01") from None


def leave_word(engine: Engine, settings: Settings, form: str) -> None:
    """Who takes the journal out is on record, unless all that they may do is look."""
    if may_write(engine):
        exported(Memory(open_engine(settings.database), settings.now()), form, actor=login())
    else:
        print("You may only look, so the journal does not say that you exported it.", file=sys.stderr)


def export(engine: Engine, form: str) -> int:
    sys.stdout.buffer.writelines(ocsf(journal(engine)) if form == "ocsf" else journal(engine))
    return 0


def forget(memory: Memory, before: datetime, given: argparse.Namespace) -> int:
    gone = prune(memory, before, export=given.export, anchored=given.anchor, actor=login())
    print(f"{gone} events of plans that ended before {before:%Y-%m-%d} were removed")
    print(checkpoint(memory.engine, given.anchor, memory.clock()))
    return 0


def verify(engine: Engine, plan_id: int) -> int:
    """Check one chain where it lies; what retention removed from it stands in the system's."""
    with snapshot(engine) as c:
        known, looked = heads(c), {0, plan_id}
        if plan_id not in known:
            raise NotFound(f"There is no plan {plan_id}.")
        others = {plan: head for plan, head in known.items() if plan not in looked}
        verdict = check(lines(c, plans=looked), known, since=others)
    verdict.heads = {plan: head for plan, head in verdict.heads.items() if plan in looked}
    print(f"plan {plan_id} and the system: {verdict}")
    return 1 if verdict.problems else 0


if __name__ == "__main__":
    sys.exit(main())
