"""One journey of a plan through the product's processes: wish, card, click, start, end."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.demo.manifest import installed
from bot.demo.run import CHANNELS, GROUPS, MEMBERS
from bot.local.server import LocalSlack
from bot.local.shapes import TEAM_ID, Channel
from storage.clock import wall
from storage.contract.spec import PlanSpec, StepSpec
from storage.reading.plan_view import PlanView
from tests.support.fakes import lasting
from tests.support.world import WITNESS, World, witnessed

UNLIMITED = "\n[policy.limits]\nplans_per_hour = 0\n"
BESIDE = Path(__file__).parent / "beside"
ROOM = "\n[slots]\nbeside = 1000\n"
WISH = "/plan look before you write"  # three steps; two of them change something
ROOMS = tuple(Channel(f"C0ROOM{n:02}", f"room-{n}", "") for n in range(50))  # a channel takes a post a second
OFTEN = 0.05  # seconds between two looks, so that looking is no load
READING = 1.0  # seconds before anybody clicks
PATIENCE = 120.0


@dataclass(frozen=True)
class Journey:
    """Of one plan, in milliseconds."""

    card: float  # from the wish to the card in its channel
    start: float  # from the click on Approve to the start of the first step


@contextmanager
def product(place: Path, url: str = "") -> Iterator[World]:
    """The demo with the witness, many channels, and nobody's limits."""
    made = World(place, database_url=url, config=configured)
    seed = made.demo.seed
    made.demo.slack = LocalSlack(
        members=MEMBERS, channels=(*CHANNELS, *ROOMS), groups=GROUPS, **installed(),
        port=seed.port, token=seed.token,
    )  # fmt: skip
    made.use({"PYTHONPATH": f"{WITNESS}:{BESIDE}", "WITNESS_PLACE": str(place)})
    with made as world:
        yield world


def configured(text: str) -> str:
    named = witnessed(text).replace('"witness"', '"witness", "beside", "glance"', 1)
    return named.replace("runbooks = [", f'runbooks = ["{BESIDE}", ', 1) + UNLIMITED + ROOM


def journey(world: World, channel: str) -> Journey:
    """Ask, read, approve, and wait for the end."""
    known, asked = world.plan().id if world.store.recent(1) else 0, wall().timestamp()
    assert world.ann.says(WISH, channel=channel).acked
    plan = newest(world, lambda found: found.id > known and found.state == "proposed" and found.card)
    button = world.bob.button("approve", message=plan.card)
    time.sleep(READING)
    clicked = wall()
    world.bob.clicks(button)
    done = newest(world, lambda found: found.id == plan.id and found.state == "done")
    started = min(step.started_at for step in done.steps if step.started_at)
    return Journey(1000 * (float(plan.card) - asked), 1000 * (started - clicked).total_seconds())


def newest(world: World, look: Callable[[PlanView], object]) -> PlanView:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if (found := world.store.recent(1)) and look(found[0]):
            return found[0]
        time.sleep(OFTEN)
    raise AssertionError(f"waited {PATIENCE:g} s: {world.store.recent(1)}")


def run_beside(world: World, count: int) -> None:
    """So many steps that run until the world ends."""
    contract = next(one for one in world.store.contracts() if one.worker == "beside")
    promise = {"contract": contract.hash(), "binding": contract.binding({})}
    for _ in range(count // 100):
        steps = (StepSpec(id=f"s{n}", worker="beside", action="linger", **promise) for n in range(100))
        spec, asked = PlanSpec(goal="linger", steps=tuple(steps)), lasting(needed=0)
        plan_id = world.store.request("linger", team=TEAM_ID, user="U0ANN", channel=CHANNELS[0].id)
        world.store.propose(plan_id, spec, asked, author="bench")
    while running(world) < count:
        time.sleep(10 * OFTEN)


def running(world: World) -> int:
    return sum(step.state == "running" for plan in world.store.open_plans() for step in plan.steps)
