"""Everything at once for a long time: python -m tests.soak --minutes 30 --wishes 1000.

Two bots and two workers over one PostgreSQL, a workspace whose people ask, approve and answer. Meanwhile
processes are killed, stopped and restarted, and so is the database. Afterwards: no wish doubled, none lost,
no unsafe effect twice, every plan ended, every question shown in time, and a journal that verifies.
"""

import argparse
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from bot.local.server import LocalSlack
from bot.local.shapes import Channel
from bot.local.shapes import Member as Person
from storage.audit.export import journal
from storage.audit.verify import check
from tests.proof.carriers.cells import FOREIGN
from tests.soak.crowd import ROOMS, WISH, Crowd, running
from tests.soak.fleet import Fleet, Member, fleet
from tests.soak.leftovers import leftovers
from tests.soak.sometimes import RARE, Sometimes
from tests.support.postgres import bounce, fresh_database, postgres_server
from tests.support.store import Store

RUNBOOK = """
id: soak
title: Note something
examples: ["note number 7"]
triggers: {any: ['^note number']}
slots: {number: {number: true}}
plan:
  goal: Note number {number}
  steps:
    - {id: safe, worker: witness, action: note_safely, parameters: {name: "safe-{number}"}}
    - {id: once, worker: witness, action: note_once, parameters: {name: "once-{number}"}, depends_on: [safe]}
    - id: probed
      worker: witness
      action: note_probed
      parameters: {name: "probed-{number}"}
      depends_on: [once]
"""
IN_TIME = 60.0  # seconds in which a question is shown
LONGEST = 60.0  # seconds after which the next trouble comes, whether or not the last one is over
CALM = 300.0  # seconds that everything gets to end once nothing more goes wrong


@dataclass
class Trouble:
    """What goes wrong, and how often it did."""

    fleet: Fleet
    server: str
    dice: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    thaws: dict[str, float] = field(default_factory=dict)  # when who stands still goes on again

    def strike(self) -> None:
        """One thing, by chance. In the main thread: the database ends with the thread that starts it."""
        kinds = {
            self.kill: 5, self.freeze: 4, self.restart: 2, self.bounce: 1, self.cut_off: 1,
        }  # fmt: skip
        (kind,) = self.dice.choices([*kinds], [*kinds.values()])
        self.counts[kind.__name__] += 1
        kind()

    def over(self) -> bool:
        """Whether everybody who is awake works again after the last time."""
        return all(member.ready() for name, member in self.fleet.members.items() if name not in self.thaws)

    def kill(self) -> None:
        self._any().send(signal.SIGKILL)

    def restart(self) -> None:
        self._any().send(signal.SIGTERM)

    def freeze(self) -> None:
        """At most one of each kind, for shorter or longer than leases last."""
        member = self._any()
        kind = member.name.partition("-")[0]
        if not any(name.startswith(kind) for name in self.thaws):
            member.send(signal.SIGSTOP)
            self.thaws[member.name] = time.monotonic() + self.dice.choice((3.0, 10.0, 25.0))

    def bounce(self) -> None:
        bounce(self.server, self.dice.choice((0.0, 2.0)), self.dice.choice(("fast", "immediate")))

    def cut_off(self) -> None:
        with psycopg.connect(self.fleet.url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute(FOREIGN, [connection.info.dbname])

    def thaw(self, *, everybody: bool = False) -> None:
        for name, at in [*self.thaws.items()]:
            if everybody or time.monotonic() > at:
                del self.thaws[name]
                self.fleet.members[name].send(signal.SIGCONT)

    def _any(self) -> Member:
        awake = [member for name, member in self.fleet.members.items() if name not in self.thaws]
        return self.dice.choice(awake)


@contextmanager
def stage(home: Path, server: str) -> Iterator[tuple[Crowd, Fleet, Store]]:
    """The workspace, and two bots and two workers that were started."""
    people = [Person("U0ANN", "ann", "Ann"), Person("U0BOB", "bob", "Bob")]
    rooms = [Channel(f"C{number:03}", f"room-{number}") for number in range(ROOMS)]
    url = fresh_database(server)
    with LocalSlack(members=people, channels=rooms) as slack, fleet(home, url) as (made, store):
        (home / "runbooks" / "soak.yml").write_text(RUNBOOK)
        slacks = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        for number in (1, 2):
            made.add(f"bot-{number}", "bot", "bot", SLACK_API_URL=slack.api_url, **slacks)
            made.add(f"workers-{number}", "workers", WITNESS_PACE="0.3")
        made.watch()
        crowd = Crowd(slack, store, made)
        crowd.workspace.wait_for_bot(links=2)
        yield crowd, made, store


def soak(home: Path, server: str, minutes: float, wishes: int, seed: int) -> tuple[dict[str, float], str]:
    """What is wrong afterwards, and what happened on the way."""
    with stage(home, server) as (crowd, made, store):
        trouble = Trouble(made, server, random.Random(seed))  # noqa: S311 # the same troubles each time
        seconds = minutes * 60
        asking = running(lambda: crowd.ask(wishes, seconds * 0.95))
        deciding = running(crowd.decide)
        end, next_ = time.monotonic() + seconds, time.monotonic() + 5.0
        while asking.is_alive() or time.monotonic() < end:
            made.watch()
            trouble.thaw()
            late = time.monotonic() > next_ + LONGEST
            if next_ < time.monotonic() < end and (late or trouble.over()):
                trouble.strike()
                next_ = time.monotonic() + trouble.dice.uniform(4.0, 16.0)
            time.sleep(0.1)
        trouble.thaw(everybody=True)
        calm = time.monotonic()
        calm_down(made, store)
        crowd.over.set()
        asking.join()
        deciding.join()
        ended = f"all ended {time.monotonic() - calm:.0f} s after the last trouble; "
        return counted(crowd, store), ended + told(crowd, trouble, store)


def calm_down(made: Fleet, store: Store) -> None:
    """Until everything has ended, was handled and is shown; at most so long."""
    left = """SELECT (SELECT count(*) FROM delivery WHERE handled_at IS NULL)
                   + (SELECT count(*) FROM message WHERE wanted > shown)
                   + (SELECT count(*) FROM plan WHERE state <> 'done')"""
    end, quiet = time.monotonic() + CALM, 0
    while quiet < 5 and time.monotonic() < end:
        made.watch()
        with store.read() as t:
            quiet = quiet + 1 if not t.connection.exec_driver_sql(left).scalar_one() else 0
        time.sleep(0.5)


def counted(crowd: Crowd, store: Store) -> dict[str, float]:
    """How many wishes there were; every other figure is 0 where nothing is wrong."""
    with store.read() as t:
        plans = Counter(t.connection.exec_driver_sql("SELECT text FROM plan").scalars())
        undone = "SELECT count(*) FROM plan WHERE state <> 'done' OR outcome <> 'succeeded'"
        stuck = int(t.connection.exec_driver_sql(undone).scalar_one())
    lines = Counter(crowd.fleet.lines())
    keys = Counter(
        m["metadata"]["event_payload"]["key"] for m in crowd.workspace.state()["messages"] if "metadata" in m
    )
    names = [f"effect {key}-{number}" for number in crowd.acked for key in ("once", "probed")]
    slow = [waited for waited in crowd.waited if waited > IN_TIME]  # one never shown leaves its plan stuck
    return {
        "wishes asked": len(crowd.acked),
        "wishes doubled": sum(count - 1 for count in plans.values()),
        "wishes lost": sum(acked and not plans[WISH.format(number)] for number, acked in crowd.acked.items()),
        "plans stuck": stuck,
        "unsafe effects doubled": sum(lines[name] > 1 for name in names),
        "effects lost": sum(not lines[f"effect once-{text.split()[-1]}"] for text in plans),
        "messages doubled": sum(count - 1 for count in keys.values()),
        "questions late": len(slow),
        "journal problems": len(check(journal(store.engine), {}).problems),
    }


def told(crowd: Crowd, trouble: Trouble, store: Store) -> str:
    rare = Sometimes(*RARE.values())
    with store.read() as t:
        rare.saw(t.connection.exec_driver_sql("SELECT verb FROM event").scalars())
    struck = ", ".join(f"{name} {count}" for name, count in trouble.counts.items())
    asked, acked = len(crowd.acked), sum(crowd.acked.values())
    exits = {member.name: member.exits for member in crowd.fleet.members.values()}
    undone = Counter(f"{v.state}{'' if v.card else ' without a card'}" for v in store.open_plans())
    stumbled = "; ".join(f"{count} × {why}" for why, count in crowd.stumbles.most_common(5))
    return (
        f"{asked} wishes, {acked} acked; {struck}; ended by themselves {exits}; "
        f"{len(crowd.waited)} questions, slowest shown after {max(crowd.waited, default=0.0):.1f} s; {rare}\n"
        f"not ended: {dict(undone)}; people tried again: {stumbled or 'nothing'}"
        + "".join(f"\n  {line}" for line in leftovers(store))
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--wishes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="where the logs stay")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="signoff-soak-") as top, postgres_server() as server:
        home = given.keep or Path(top) / "home"
        home.mkdir(parents=True)
        began = time.monotonic()
        wrong, story = soak(home, server, given.minutes, given.wishes, given.seed)
    wrong["wishes not asked for lack of time"] = given.wishes - wrong.pop("wishes asked")
    figures = ", ".join(f"{what} {count:g}" for what, count in wrong.items())
    sys.stdout.write(f"{story}\nsoak: {(time.monotonic() - began) / 60:.1f} min: {figures}\n")
    return 1 if any(wrong.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
