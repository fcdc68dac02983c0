"""The inventory changes under a plan: before the click, and between the approval and 2 AM."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.world import DEPLOY, World, live_version


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as found:
        yield found


def edits_inventory(world: World, old: str, new: str) -> None:
    """An operator changes an entry, and the workers are started anew."""
    path = world.home / "signoff.toml"
    path.write_text(path.read_text().replace(old, new))
    world.kill("workers")


def card(world: World) -> str:
    ts = world.plan().card
    return next(json.dumps(said) for said in world.workspace.messages() if said["ts"] == ts)


def test_a_proposal_that_is_out_of_date_is_brought_up_to_date_and_then_approved(world: World) -> None:
    world.asks(DEPLOY)
    world.ann.sees("can approve")
    world.until(lambda plan: '"approve"' in card(world), "something to approve")
    edits_inventory(world, "replicas = 2", "replicas = 3")

    world.ann.sees("Out of date")
    world.until(lambda plan: '"approve"' not in card(world), "the Approve to go")
    assert "what auth-service stands for in the inventory is another thing by now" in card(world)
    world.gus.clicks("update")
    world.gus.sees("Guests may not")
    world.carol.clicks("update")
    world.ann.sees("brought it up to date")
    world.until(lambda plan: '"approve"' in card(world), "something to approve again")
    world.carol.clicks("approve")

    assert world.ends().outcome == "succeeded"
    assert live_version(world) == "v2.1.4"


def test_an_approved_plan_is_brought_up_to_date_before_its_time_and_runs_then(world: World) -> None:
    world.asks(f"{DEPLOY} at 2AM ET")
    world.bob.clicks("approve")
    world.ann.sees("Waits until")
    edits_inventory(world, "replicas = 2", "replicas = 3")
    world.ann.sees("What this plan rests on has changed since it was approved")
    done = {step.spec.id: step.state for step in world.plan().steps}

    world.bob.clicks("update")
    world.until(lambda plan: plan.revision == 2 and '"approve"' in card(world), "the difference to approve")
    world.bob.clicks("approve")
    world.until(lambda plan: plan.state == "approved", "the approval")
    assert {step.spec.id: step.state for step in world.plan().steps} == done
    world.workspace.run("jump")

    assert world.ends().outcome == "succeeded"
    assert live_version(world) == "v2.1.4"
