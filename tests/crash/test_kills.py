"""Kill -9 the processes inside their work. The witness file counts effects; the database is not asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.journal.chain import broken_link
from storage.reading.plan_view import PlanView
from tests.support.world import DEPLOY, World, effects, hold, live_version, with_witness

pytestmark = pytest.mark.crash


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """On SQLite; PostgreSQL's turn is in test_two_workers and test_crash_points."""
    with with_witness(tmp_path) as found:
        yield found


def kill_inside(world: World, line: str, gate: Path) -> None:
    """SIGKILL the workers when the witness has written this line, then let it go on."""
    world.until(lambda _: effects(world)[line], f"the witness to write '{line}'")
    world.kill("workers")
    gate.unlink()


def test_workers_killed_inside_each_step_go_on_where_they_were(world: World) -> None:
    gates = {name: hold(world, "after", name) for name in ("safe", "once", "probed")}
    world.asks("/plan write notes")
    world.bob.clicks("approve")

    kill_inside(world, "effect safe", gates["safe"])
    kill_inside(world, "effect once", gates["once"])
    world.ann.sees("I cannot tell whether it happened, so it does not run again by itself.")
    unresolved = effects(world)
    world.bob.clicks("resolve_ran")
    kill_inside(world, "effect probed", gates["probed"])
    done = world.ends()

    assert done.outcome == "succeeded"
    assert unresolved["effect probed"] == 0
    seen = effects(world)
    assert seen["effect safe"] == 2
    assert seen["end safe"] == 1
    assert seen["effect once"] == 1
    assert seen["effect probed"] == 1
    assert broken_link(world.store.events(done.id)) is None


def test_a_probed_step_killed_before_its_effect_runs_once(world: World) -> None:
    gate = hold(world, "before", "probed")
    world.asks("/plan write notes")
    world.bob.clicks("approve")
    kill_inside(world, "begin probed", gate)

    assert world.ends().outcome == "succeeded"
    assert effects(world)["effect probed"] == 1


def test_an_unsafe_step_that_did_not_happen_runs_again_only_when_a_person_says_so(world: World) -> None:
    gate = hold(world, "before", "once")
    world.asks("/plan write notes")
    world.bob.clicks("approve")
    kill_inside(world, "begin once", gate)
    world.ann.clicks(world.ann.button("resolve_did_not"))
    world.ann.sees("You may not resolve this plan")
    assert effects(world)["effect once"] == 0

    world.bob.clicks("resolve_did_not")

    assert world.ends().outcome == "succeeded"
    assert effects(world)["effect once"] == 1


def test_the_bot_killed_at_every_stage_loses_no_approval_and_doubles_no_message(world: World) -> None:
    gates = {name: hold(world, "after", name) for name in ("safe", "once", "probed")}
    world.asks("/plan write notes")
    world.kill("bot")
    world.until(lambda plan: plan.state == "proposed", "the plan")
    button = world.bob.button("approve")
    world.workspace.wait_for_bot()
    assert world.bob.clicks(button).acked
    world.kill("bot")
    for name, gate in gates.items():
        world.until(lambda _, line=f"effect {name}": effects(world)[line], f"{name}")
        world.kill("bot")
        gate.unlink()
    done = world.ends()

    assert done.outcome == "succeeded"
    assert done.approved_by == ("U0BOB",)
    assert {line: n for line, n in effects(world).items() if line.startswith("effect")} == {
        "effect safe": 1, "effect once": 1, "effect probed": 1,
    }  # fmt: skip
    world.ann.sees("3 changes: done*")
    world.ann.sees("plan-1-timeline.png")  # the last that is said
    assert len(world.workspace.messages()) == 1
    lines = world.told()
    assert len(lines) == len(set(lines)) == 6


def test_the_real_story_survives_a_kill_inside_each_step(tmp_path: Path) -> None:
    with World(tmp_path) as world:
        world.asks(DEPLOY)
        world.bob.clicks("approve")
        for step in ("test", "backup", "deploy"):
            world.until(lambda plan, step=step: _running(plan, step), f"{step} to run")
            world.kill("workers")

        done = world.ends()

        assert done.outcome == "succeeded"
        assert live_version(world) == "v2.1.4"
        assert len(list((tmp_path / "backups").glob("*.sqlite"))) == 1
        assert len(list((tmp_path / "backups").glob("*.sqlite.json"))) == 1
        assert list((tmp_path / "backups").glob("*.partial")) == []


def _running(plan: PlanView, key: str) -> bool:
    return any(step.spec.id == key and step.state in {"running", "succeeded"} for step in plan.steps)
