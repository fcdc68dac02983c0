"""A planning read by a worker: only what it marked for that, and a failure is an answer."""

from pathlib import Path
from typing import Any

import pytest

from storage.config import SignoffConfig
from storage.steps.planning_reads import Inquiry
from tests.support.fakes import TEAM
from tests.support.loopback import Page, serving
from workers.engine.attempt import Attempts
from workers.engine.planning_read import look
from workers.registry import load


@pytest.fixture
def attempts(lite: Any, tmp_path: Path) -> Any:
    with serving() as site:
        site.pages["/"] = Page("fine")
        given = {"workers": ["http-check", "notify"], "inventory": {"endpoints": {"shop": {"url": site.url}}}}
        made = Attempts(lite, load(SignoffConfig.model_validate(given)), "w1", tmp_path)
        lite.publish(made.registry.contracts())
        yield made


def asked(attempts: Attempts, action: str, worker: str = "http-check", **given: Any) -> Any:
    store: Any = attempts.store
    plan_id = store.request("is the shop up?", team=TEAM, user="ANN", channel="C1")
    store.inquire(plan_id, [(worker, action, given)], actor="planner")
    look(attempts, Inquiry(plan_id, 1, worker, action, given))
    (found,) = store.looked(plan_id)
    return found


def test_what_was_found_is_kept_with_its_data(attempts):
    found = asked(attempts, "check_http", endpoint="shop")

    assert (found.state, found.data["status"]) == ("made", 200)
    assert "answered 200" in found.summary


def test_what_cannot_be_found_out_is_an_answer(attempts):
    found = asked(attempts, "check_http", endpoint="nowhere")

    assert found.state == "failed"
    assert "could not be found out" in found.summary


@pytest.mark.parametrize(("worker", "action"), [("http-check", "wait_for_http"), ("notify", "send")])
def test_what_is_not_marked_for_it_does_not_run(attempts, worker, action):
    found = asked(attempts, action, worker, endpoint="shop", deadline_seconds=1, message="x")

    assert found.state == "failed"
    assert "is not for planning" in found.summary
