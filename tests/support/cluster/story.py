"""Stories of several processes over one PostgreSQL: one is killed or stands still, and all goes on."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import psycopg

from bot.cli.supervise import Child
from storage.clock import jump
from tests.support.doors.monitor import get
from tests.support.fakes import attempts, verbs
from tests.support.ports import ports
from tests.support.postgres import fresh_database
from tests.support.world import World, effects, hold, with_witness

PORTS = {"SIGNOFF_HEALTH_PORT", "SIGNOFF_HTTP_PORT"}  # one process each


@contextmanager
def cluster(server: str, home: Path, carrier: str) -> Iterator[World]:
    """A world on PostgreSQL whose workers get their steps by this carrier."""
    world = with_witness(home, database_url=fresh_database(server))
    world.use({"SIGNOFF_CARRIER": carrier})
    bot = child(world, "bot")
    bot.env = {**bot.env, "SIGNOFF_HEALTH_PORT": str(ports())}
    with world:
        yield world


def killed(world: World) -> None:
    """The other one finishes what is safe to repeat, and asks about what is not."""
    gates = {name: hold(world, "after", name) for name in ("safe", "once")}
    world.asks("/plan write notes")
    world.bob.clicks("approve")
    world.until(lambda _: effects(world)["effect safe"], "the first worker to be inside")
    another(world, "workers", "second")
    gone(world, "workers")
    leases_end(world)
    world.until(lambda _: effects(world)["effect safe"] == 2, "the second to take it over")
    gates["safe"].unlink()
    world.until(lambda _: effects(world)["effect once"], "the second to be inside the unsafe step")
    another(world, "workers", "third")
    gone(world, "second")
    leases_end(world)
    world.ann.sees("I cannot tell whether it happened, so it does not run again by itself.")
    gates["once"].unlink()
    asked = effects(world)
    world.bob.clicks("resolve_ran")
    done = world.ends()

    assert done.outcome == "succeeded"
    assert (asked["effect once"], asked["effect probed"]) == (1, 0)
    seen = effects(world)
    assert (seen["effect safe"], seen["end safe"], seen["effect once"], seen["effect probed"]) == (2, 1, 1, 1)


def stood_still(world: World) -> None:
    """The late reports of a process that slept past its lease are evidence, and change nothing."""
    gates = {name: hold(world, "after", name) for name in ("safe", "once")}
    world.asks("/plan write notes")
    world.bob.clicks("approve")
    world.until(lambda _: effects(world)["effect safe"], "the first worker to be inside")
    another(world, "workers", "second")
    asleep = stand_still(world, "workers")
    leases_end(world)
    world.until(lambda _: effects(world)["effect safe"] == 2, "the second to take it over")
    gates["safe"].unlink()
    world.until(lambda _: effects(world)["effect once"], "the second to be inside the unsafe step")
    os.kill(asleep, signal.SIGCONT)
    world.until(lambda plan: "late" in verbs(world.store, plan.id), "the late report of the safe step")

    asleep = stand_still(world, "second")
    leases_end(world)
    world.ann.sees("I cannot tell whether it happened, so it does not run again by itself.")
    gates["once"].unlink()
    world.bob.clicks("resolve_ran")
    done = world.ends()
    os.kill(asleep, signal.SIGCONT)
    world.until(
        lambda plan: verbs(world.store, plan.id).count("late") == 2, "the late report of the unsafe step"
    )

    late = [one.late["summary"] for one in attempts(world.store) if one.late]
    seen = effects(world)
    assert late == ["noted", "noted"]
    assert world.plan().state == "done"
    assert (done.outcome, seen["effect once"], seen["effect probed"]) == ("succeeded", 1, 1)


def two_bots(world: World) -> None:
    """One click is one transition, and there is one card."""
    another(world, "bot", "bot-2")
    world.workspace.wait_for_bot(links=2)
    port = child(world, "bot").env["SIGNOFF_HEALTH_PORT"]
    ready = get(f"http://127.0.0.1:{port}/readyz")
    world.asks("/plan write notes")
    world.bob.clicks("approve")
    done = world.ends()
    gone(world, "bot")
    world.ann.sees("3 changes: done*")
    world.ann.sees("plan-1-timeline.png")  # the last that is said

    assert ready == (200, "ok\n")
    assert (done.outcome, done.approved_by) == ("succeeded", ("U0BOB",))
    decided = [verb for verb in verbs(world.store, done.id) if verb in {"request", "propose", "approve"}]
    assert decided == ["request", "propose", "approve"]
    assert len(world.workspace.messages()) == 1
    lines = world.told()
    assert len(lines) == len(set(lines)) == 6


def child(world: World, name: str) -> Child:
    return next(one for one in world.demo.supervisor.children if one.name == name)


def another(world: World, kind: str, name: str) -> None:
    """One more process of that kind; the supervisor starts it."""
    like = child(world, kind)
    env = {name: value for name, value in like.env.items() if name not in PORTS}
    world.demo.supervisor.children.append(Child(name, like.argv, env, world.home / f"{name}.log"))


def gone(world: World, name: str) -> None:
    """SIGKILL, and nobody starts it again."""
    child(world, name).not_before = float("inf")
    world.kill(name)


def stand_still(world: World, name: str) -> int:
    """SIGSTOP outside any transaction: a process that holds row locks would make the others wait for it."""
    pid, url = world.pid(name), world.demo.database_url
    busy = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = %s"
    for _ in range(50):
        os.kill(pid, signal.SIGSTOP)
        with psycopg.connect(url, autocommit=True) as connection:
            database = connection.info.dbname
            until = time.monotonic() + 0.5
            while time.monotonic() < until:
                if connection.execute(busy, [database]).fetchone() == (0,):
                    return pid
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.05)  # stopped again at once, it would still be where it was
    raise AssertionError("it was always inside a transaction")


def leases_end(world: World) -> None:
    jump(world.demo.clock_file, world.store.clock() + timedelta(seconds=20))
