"""python -m storage: the database's schema, and its journal: export, verify, checkpoint, prune."""

import argparse
import sys
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import Engine

from storage import verify as standalone
from storage.config import Settings
from storage.engine import migrate, open_engine
from storage.errors import SignoffError
from storage.export import checkpoint, heads, journal, lines, ocsf, snapshot
from storage.retention import Retention
from storage.store import Store
from storage.verify import check


def main(arguments: list[str] | None = None) -> int:
    given = parser().parse_args(arguments)
    if given.command == "verify" and not given.what.isdigit():
        return standalone.main([given.what, "--checkpoint", str(given.checkpoint), "--root", given.root])
    try:
        return command(given, Settings())
    except SignoffError as error:
        print(error, file=sys.stderr)
        return 1


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m storage", description=__doc__)
    add = top.add_subparsers(dest="command", required=True).add_parser
    add("migrate", help="bring the schema to the newest revision")
    export = add("export", help="write the journal to standard output, one event per line")
    export.add_argument("--format", choices=("jsonl", "ocsf"), default="jsonl")
    proof = add(
        "verify", help="check an export against a checkpoint; or a plan in the database, by its number"
    )
    proof.add_argument("what", help="the export's file, or a plan's number; 0 is the system's")
    proof.add_argument("--checkpoint", type=Path, default=Path("checkpoints.jsonl"))
    proof.add_argument("--root", default="", help="check against the checkpoint with this root, as posted")
    anchor = add(
        "checkpoint", help="anchor the newest hashes of the journal in a file, and print what to post"
    )
    anchor.add_argument("file", type=Path)
    prune = add("prune", help="remove old events that a good export holds; the chains stay verifiable")
    prune.add_argument("--days", type=int, default=400)
    prune.add_argument("--export", type=Path, required=True)
    prune.add_argument("--checkpoint", type=Path, required=True)
    return top


def command(given: argparse.Namespace, settings: Settings) -> int:
    engine, now = open_engine(settings.database), settings.now()
    migrate(engine)
    if given.command == "migrate":
        print(f"{engine.url.render_as_string(hide_password=True)} has the newest schema")
    elif given.command == "export":
        return export(engine, given.format)
    elif given.command == "verify":
        return verify(Store(engine, now), int(given.what))
    elif given.command == "checkpoint":
        print(checkpoint(engine, given.file, now()))
    else:
        return prune(Retention(engine, now), now() - timedelta(days=given.days), given)
    return 0


def export(engine: Engine, form: str) -> int:
    sys.stdout.buffer.writelines(ocsf(journal(engine)) if form == "ocsf" else journal(engine))
    return 0


def prune(keeper: Retention, before: datetime, given: argparse.Namespace) -> int:
    gone = keeper.prune(before, export=given.export, anchored=given.checkpoint, actor="operator")
    print(f"{gone} events of plans that ended before {before:%Y-%m-%d} were removed")
    print(checkpoint(keeper.engine, given.checkpoint, keeper.clock()))
    return 0


def verify(store: Store, plan_id: int) -> int:
    """Check one chain where it lies; what retention removed from it stands in the system's."""
    with snapshot(store.engine) as c:
        known = {plan: head for plan, head in heads(c).items() if plan in {0, plan_id}}
        verdict = check(lines(c, plans={0, plan_id}), known)
    print(f"plan {plan_id} and the system: {verdict}")
    return 1 if verdict.problems else 0


if __name__ == "__main__":
    sys.exit(main())
