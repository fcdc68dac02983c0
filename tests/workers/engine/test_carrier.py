"""One suite for every carrier: what people rely on does not depend on how a step reaches its process."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine

from storage.errors import BadConfig
from tests.conftest import emptied, opened
from tests.support.carriers import Shifted, Site, until
from tests.support.fakes import LEASE, attempts, step_row, taker, verbs
from tests.support.postgres import fresh_database
from tests.support.store import Store

SITES = [
    pytest.param(("sqlite", "local"), id="sqlite-local"),
    pytest.param(("postgres", "local"), id="postgres-local", marks=pytest.mark.postgres),
    pytest.param(("postgres", "procrastinate"), id="postgres-procrastinate", marks=pytest.mark.postgres),
]
CLUSTER = pytest.mark.parametrize("site", SITES[1:], indirect=True)
QUEUED = pytest.mark.parametrize("site", SITES[2:], indirect=True)


@pytest.fixture(scope="module")
def cluster_engine(postgres: str) -> Iterator[Engine]:
    """A database of its own: Procrastinate makes tables that are not ours."""
    with opened(fresh_database(postgres)) as engine:
        yield engine


@pytest.fixture(params=SITES)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    database, carrier = request.param
    if carrier == "procrastinate":
        pytest.importorskip("procrastinate", reason="pip install 'signoff[cluster]'")
    engine = request.getfixturevalue("sqlite_engine" if database == "sqlite" else "cluster_engine")
    found = Site(Store(emptied(engine), Shifted()), carrier, tmp_path)
    yield found
    found.close()


def test_a_step_runs_once(site):
    site.process()
    plans = [site.approved(site.step(f"s{n}")) for n in range(10)]
    for plan_id in plans:
        site.done(plan_id)

    assert sorted(site.seen()) == sorted(f"s{n}" for n in range(10))
    assert [one.outcome for one in attempts(site.store)] == ["succeed"] * 10


@CLUSTER
def test_two_processes_share_the_load_and_no_step_runs_twice(site):
    site.process("w1", size=2)
    site.process("w2", size=2)
    held = site.approved(*(site.step(f"h{n}", "hold") for n in range(4)))
    until(lambda: len(site.seen()) == 4, "all four hands to be full")
    site.worker.gate.set()
    site.done(held)
    rest = site.approved(*(site.step(f"r{n}") for n in range(20)))
    site.done(rest)

    assert sorted(site.seen()) == sorted([*(f"h{n}" for n in range(4)), *(f"r{n}" for n in range(20))])
    assert {one.owner for one in attempts(site.store)} == {"w1", "w2"}


def test_a_step_waits_for_those_it_depends_on(site):
    site.process()
    plan_id = site.approved(
        site.step("last", depends_on=("left", "right")),
        site.step("left", depends_on=("first",)),
        site.step("right", depends_on=("first",)),
        site.step("first"),
    )
    site.done(plan_id)

    assert (site.seen()[0], {*site.seen()[1:3]}, site.seen()[3:]) == ("first", {"left", "right"}, ["last"])


def test_a_step_that_stumbles_is_tried_again_when_its_wait_is_over(site):
    site.process()
    plan_id = site.approved(site.step("s1", "stumble", retries={"attempts": 2, "wait": 0.5}))
    site.done(plan_id)

    (_, _, first), (_, _, second) = site.worker.seen
    assert second - first >= 0.4
    assert [one.outcome for one in attempts(site.store)] == ["retry", "succeed"]


def test_a_changing_step_waits_for_its_permit(site):
    plan_id = site.approved(site.step("s1", "change"))
    site.store.clock.shift = timedelta(minutes=10)
    site.process()
    site.done(site.approved(site.step("marker")))
    assert site.seen() == ["marker"]

    site.store.permit(step_row(site.store, plan_id, "s1").id, actor="bot")
    site.done(plan_id)

    assert site.seen() == ["marker", "s1"]


def test_what_is_stopped_waits_until_it_is_resumed(site):
    site.process()
    plan_id = site.approved(site.step("s0"), site.step("s1", "hold"), site.step("s2", depends_on=("s1",)))
    until(lambda: "s1" in site.seen(), "s1 to run")
    site.store.stop("everything", reason="smoke", user="CAROL")
    site.worker.gate.set()
    until(lambda: site.state(plan_id, "s1") == "succeeded", "s1 to end")
    assert site.state(plan_id, "s2") == "pending"

    site.store.resume("everything", user="CAROL")
    site.done(plan_id)

    assert site.seen()[-1] == "s2"


def test_a_cancelled_plan_starts_nothing_more_and_its_running_step_is_told(site, monkeypatch):
    monkeypatch.setattr(
        "workers.engine.clock.LEASE", timedelta(seconds=1)
    )  # heartbeats come three times a second
    site.process()
    plan_id = site.approved(site.step("s1", "hold"), site.step("s2", depends_on=("s1",)))
    until(lambda: site.seen() == ["s1"], "s1 to run")
    site.store.cancel(plan_id, user="ANN", reason="changed my mind")
    until(lambda: site.store.view(plan_id).state == "cancelled", "the plan to be cancelled")

    assert site.seen() == ["s1"]
    assert not site.worker.gate.is_set()


def test_steps_of_a_lost_worker_run_again_or_ask(site):
    plans = {action: site.approved(site.step("s1", action)) for action in ("hold", "change")}
    gone = taker(*site.registry.contracts(), owner="gone")
    held = [site.store.claim(step_row(site.store, plan_id, "s1").id, gone) for plan_id in plans.values()]
    site.store.clock.shift = 2 * LEASE
    site.worker.gate.set()
    site.process()
    site.done(plans["hold"])
    until(lambda: site.state(plans["change"], "s1") == "unknown", "the unsafe step to be asked about")

    assert None not in held
    assert [one.outcome for one in attempts(site.store)] == ["lost", "succeed", "lost"]
    assert site.seen() == ["s1"]
    assert "lose" in verbs(site.store, plans["change"])


def test_a_process_takes_only_what_it_offers(site):
    without = site.process("w1")
    plan_id = site.approved(site.step("s1", worker="other"))
    site.done(site.approved(site.step("marker")))
    assert site.state(plan_id, "s1") == "pending"
    without.stop()
    site.process("w2", workers=[site.other])
    site.done(plan_id)

    assert [key for _, key, _ in site.other.seen] == ["s1"]


def test_a_process_that_drains_finishes_what_runs_and_takes_nothing_more(site):
    clock = site.process()
    plan_id = site.approved(site.step("s1", "hold"), site.step("s2", depends_on=("s1",)))
    until(lambda: site.seen() == ["s1"], "s1 to run")
    clock.stop()
    site.worker.gate.set()
    until(lambda: site.state(plan_id, "s1") == "succeeded", "s1 to report")
    site.close()

    assert site.state(plan_id, "s2") == "pending"
    assert site.seen() == ["s1"]


@QUEUED
def test_an_offer_that_got_lost_is_made_again(site):
    site.process(size=1)
    first = site.approved(site.step("s1", "hold"))
    until(lambda: site.seen() == ["s1"], "s1 to run")
    second = site.approved(site.step("s2"))
    offer = str(step_row(site.store, second, "s2").id)
    until(lambda: offer in offers(site), "s2 to be on offer")
    with site.store.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM procrastinate_jobs WHERE status = 'todo'")
    site.worker.gate.set()
    site.done(first)
    site.done(second)

    assert site.seen() == ["s1", "s2"]


@QUEUED
def test_a_due_step_is_on_offer_once_though_many_see_it(site):
    for owner in ("w1", "w2"):
        site.process(owner, size=1)
    site.approved(*(site.step(f"h{n}", "hold") for n in range(2)))
    until(lambda: len(site.seen()) == 2, "both to be busy")
    waiting = [site.approved(site.step(f"s{n}")) for n in range(3)]
    ids = [str(step_row(site.store, plan_id, f"s{n}").id) for n, plan_id in enumerate(waiting)]
    until(lambda: {*ids} <= {*offers(site)}, "three offers")
    seen_twice = [step_id for step_id in ids if offers(site).count(step_id) > 1]
    site.worker.gate.set()
    for plan_id in waiting:
        site.done(plan_id)
    until(lambda: offers(site) == [], "the queue to be empty")

    assert seen_twice == []
    assert sorted(site.seen()[2:]) == ["s0", "s1", "s2"]


@pytest.mark.parametrize(
    ("name", "said"),
    [("procrastinate", "needs PostgreSQL"), ("pigeon", "it can be local or procrastinate")],
)
def test_a_carrier_that_cannot_be_used_is_refused_with_the_reason(lite, tmp_path, name, said):
    site = Site(lite, name, tmp_path)

    with pytest.raises(BadConfig, match=said):
        site.process()


def offers(site: Site) -> list[str]:
    """The steps on Procrastinate's queue."""
    with site.store.engine.connect() as connection:
        return [*connection.exec_driver_sql("SELECT args->>'step_id' FROM procrastinate_jobs").scalars()]
