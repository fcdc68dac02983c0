"""python -m storage: migrate the database, or verify a journal."""

import argparse
import sys

from storage.audit import broken_link
from storage.config import Settings
from storage.engine import migrate, open_engine
from storage.store import Store


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m storage", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("migrate", help="bring the schema to the newest revision")
    commands.add_parser("verify", help="check a plan's journal; 0 is the system's").add_argument(
        "plan", type=int
    )
    given, settings = parser.parse_args(), Settings()
    engine = open_engine(settings.database)
    migrate(engine)
    if given.command == "migrate":
        print(f"{engine.url.render_as_string(hide_password=True)} has the newest schema")
        return 0
    return verify(Store(engine, settings.now()), given.plan)


def verify(store: Store, plan_id: int) -> int:
    events = store.events(plan_id)
    broken = broken_link(events)
    if broken is None and store.head(plan_id) != (len(events), events[-1].hash if events else ""):
        broken = len(events) + 1  # the end was cut off
    print(
        f"plan {plan_id}: {len(events)} events, " + (f"broken at {broken}" if broken else "every link holds")
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
