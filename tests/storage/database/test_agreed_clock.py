"""One clock that is wrong is put right by the database's, and disturbs no plan of others."""

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine

from storage.clock import jump, wall
from storage.config import Settings
from storage.contract.spec import PlanSpec, Schedule
from storage.database import agreed_clock
from storage.database.agreed_clock import AgreedClock, agreed
from tests.conftest import emptied
from tests.support.fakes import DEPLOY, LEASE, approve, ask, claim, lasting, plan_spec, step, take
from tests.support.store import Store

WRONG = [timedelta(seconds=-7200), timedelta(seconds=-62), timedelta(seconds=62), timedelta(hours=2)]


@pytest.fixture
def engine(postgres_engine: Engine) -> Engine:
    return emptied(postgres_engine)


def wrong(engine: Engine, ahead: timedelta) -> Store:
    """The rows as a process on a machine with such a clock reaches them."""
    return Store(engine, agreed(engine, lambda: wall() + ahead))


def proposed(store: Store, spec: PlanSpec) -> int:
    plan_id = ask(store)
    store.propose(plan_id, spec, lasting(needed=1), author="planner")
    return plan_id


@pytest.mark.postgres
@pytest.mark.parametrize("ahead", WRONG)
def test_a_clock_that_is_wrong_takes_nobodys_step_for_lost(engine: Engine, ahead: timedelta) -> None:
    right = Store(engine, wall)
    plan_id = proposed(right, plan_spec(step("s1", DEPLOY)))
    approve(right, plan_id)
    take(right, plan_id, "s1", owner="w1")

    assert wrong(engine, ahead).lapsed(owner="w2", alone=False) == []
    assert right.stranger().lapsed(owner="w2", alone=False) == []


@pytest.mark.postgres
@pytest.mark.parametrize("ahead", WRONG)
def test_what_it_holds_itself_lasts_as_long_as_with_others(engine: Engine, ahead: timedelta) -> None:
    other = wrong(engine, ahead)
    plan_id = proposed(other, plan_spec(step("s1", DEPLOY)))
    approve(other, plan_id)
    take(other, plan_id, "s1", owner="w2")
    later = Store(engine, lambda: wall() + 2 * LEASE)

    assert Store(engine, wall).lapsed(owner="w1", alone=False) == []
    assert [one.key for one in later.lapsed(owner="w1", alone=False)] == ["s1"]


@pytest.mark.postgres
def test_it_starts_nothing_early_and_misses_nothing(engine: Engine) -> None:
    right, now = Store(engine, wall), wall()
    when = Schedule(not_before=now + timedelta(hours=1), not_after=now + timedelta(hours=2))
    plan_id = proposed(right, plan_spec(step("s1", DEPLOY, schedule=when)))
    approve(right, plan_id)
    other = wrong(engine, timedelta(hours=3))
    other.miss()

    assert claim(other, plan_id, "s1") is None
    assert right.view(plan_id).step("s1").state == "pending"


@pytest.mark.postgres
def test_a_clock_that_is_set_later_is_noticed(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = [timedelta(0)]
    clock = agreed(engine, lambda: wall() + ahead[0])
    ahead[0] = timedelta(hours=-2)
    clock.compare()
    assert abs(clock() - wall() - ahead[0]) < timedelta(minutes=1), "it has just looked"
    monkeypatch.setattr(agreed_clock, "EVERY", 0.0)
    clock.compare()

    assert abs(clock() - wall()) < timedelta(minutes=1)


@pytest.mark.postgres
def test_a_jump_of_the_demos_clock_is_no_clock_that_is_wrong(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = agreed(engine, lambda: wall() + timedelta(hours=1))
    settings = Settings(clock=tmp_path / "clock")
    jump(tmp_path / "clock", wall() + timedelta(hours=9))
    monkeypatch.setattr(agreed_clock, "EVERY", 0.0)
    machine.compare()

    assert abs(settings.now(machine)() - wall() - timedelta(hours=9)) < timedelta(minutes=1)


def test_on_sqlite_a_machine_goes_by_its_own_clock(sqlite_engine: Engine) -> None:
    clock = AgreedClock(sqlite_engine, lambda: wall() + timedelta(hours=1))
    clock.compare()

    assert clock.ahead == timedelta(0)
