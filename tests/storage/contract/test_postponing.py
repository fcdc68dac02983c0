"""An approved plan moved later keeps its order and its windows, however often it is moved."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.contract.postponing import moved, timed, why_not
from storage.contract.spec import PlanSpec, Schedule, StepSpec

T0 = datetime(2026, 11, 18, 2, tzinfo=UTC)
HOUR, WEEK = timedelta(hours=1), timedelta(days=7)
Found = tuple[PlanSpec, set[str]]


def step(key: str, at: int | None = None, length: int | None = 2, **more: Any) -> StepSpec:
    start = None if at is None else T0 + at * HOUR
    end = start + length * HOUR if start and length is not None else None
    overrun = more.pop("overrun", "finish")
    when = Schedule(not_before=start, not_after=end, overrun=overrun, window="nightly")
    return StepSpec(id=key, worker="w", action="a", schedule=when, **more)


def plan(*steps: StepSpec) -> PlanSpec:
    return PlanSpec(goal="deploy", steps=steps)


@st.composite
def plans(draw: st.DrawFn) -> Found:
    many = draw(st.integers(1, 6))
    keys = [f"s{n}" for n in range(many)]
    steps = [
        step(
            key,
            draw(st.none() | st.integers(0, 30)),
            draw(st.none() | st.integers(0, 6)),
            overrun=draw(st.sampled_from(["finish", "ask", "stop"])),
            depends_on=tuple(draw(st.sets(st.sampled_from(keys[:n])))) if n else (),
        )
        for n, key in enumerate(keys)
    ]
    return plan(*steps), draw(st.sets(st.sampled_from(keys), min_size=1))


def times(spec: PlanSpec, pending: set[str]) -> dict[str, datetime]:
    return {one.id: one.schedule.not_before for one in timed(spec, pending) if one.schedule.not_before}


def held(first: PlanSpec, now: PlanSpec, pending: set[str], until: datetime) -> None:
    """What an approval promised of the plan as it was approved first."""
    before, after = times(first, pending), times(now, pending)
    for one, other in zip(first.steps, now.steps, strict=True):
        same = one.model_copy(update={"schedule": other.schedule})
        assert same == other
        assert one.schedule.overrun == other.schedule.overrun
        if one.id not in before:
            assert one.schedule == other.schedule
            continue
        assert after[one.id] >= before[one.id]
        if one.schedule.not_after is None:
            assert other.schedule.not_after is None
        else:
            assert other.schedule.not_after is not None
            length = one.schedule.not_after - before[one.id]
            assert other.schedule.not_after - after[one.id] == length
        if after[one.id] != before[one.id]:
            assert (other.schedule.not_after or after[one.id]) <= until
    for a in before:
        for b in before:
            assert (before[a] < before[b]) == (after[a] < after[b])


@given(plans(), st.lists(st.tuples(st.integers(0, 5), st.integers(-5, 200)), max_size=8))
def test_however_often_it_is_moved_what_was_approved_holds(found: Found, said: list[tuple[int, int]]) -> None:
    first, pending = found
    now, until = first, T0 + WEEK
    for which, at in said:
        waiting = timed(now, pending)
        if not waiting:
            continue
        new = moved(now, pending, waiting[which % len(waiting)].id, T0 + at * HOUR)
        now = now if why_not(now, new, pending, until) else new

    held(first, now, pending, until)


@given(plans(), st.lists(st.tuples(*[st.integers(-3, 40)] * 12), min_size=1, max_size=6))
def test_whatever_else_is_taken_for_a_postponement_is_one(found: Found, said: list[tuple[int, ...]]) -> None:
    """Times that nobody computed: each start and end by itself, one after the other."""
    first, pending = found
    now, until = first, T0 + WEEK
    for hours in said:
        steps = []
        for n, one in enumerate(now.steps):
            by, longer = timedelta(hours=max(0, hours[n])), timedelta(hours=hours[n + 6] // 20)
            when = one.schedule
            later = {"not_before": when.not_before and when.not_before + by}
            later |= {"not_after": when.not_after and when.not_after + by + longer}
            steps.append(one.model_copy(update={"schedule": when.model_copy(update=later)}))
        new = plan(*steps)
        now = now if why_not(now, new, pending, until) else new

    held(first, now, pending, until)


BASE = plan(step("backup", 0), step("deploy", 1, depends_on=("backup",)), step("notify"))
PENDING = {"backup", "deploy"}


def with_deploy(**schedule: Any) -> PlanSpec:
    deploy = BASE.steps[1]
    changed = deploy.model_copy(update={"schedule": deploy.schedule.model_copy(update=schedule)})
    return plan(BASE.steps[0], changed, BASE.steps[2])


@pytest.mark.parametrize(
    ("new", "why"),
    [
        (BASE, "not moved"),
        (moved(BASE, PENDING, "backup", T0 - HOUR), "earlier"),
        (moved(BASE, PENDING, "backup", T0 + WEEK), "too long after"),
        (with_deploy(not_before=T0), "earlier"),
        (with_deploy(not_after=T0 + 9 * HOUR), "another time to end"),
        (with_deploy(not_before=T0 + 2 * HOUR), "another time to end"),
        (with_deploy(not_after=None), "another time to end"),
        (with_deploy(not_before=T0 + 2 * HOUR, not_after=T0 + 4 * HOUR, overrun="stop"), "another time"),
        (plan(*BASE.steps[:2]), "another plan"),
        (BASE.model_copy(update={"goal": "something else"}), "another plan"),
        (BASE.model_copy(update={"continues": True}), "another plan"),
    ],
)
def test_anything_but_a_postponement_is_another_plan(new: PlanSpec, why: str) -> None:
    assert why in why_not(BASE, new, PENDING, T0 + WEEK)


def test_what_waits_behind_a_step_keeps_its_distance() -> None:
    new = moved(BASE, PENDING, "backup", T0 + 24 * HOUR)

    assert times(new, PENDING) == {"backup": T0 + 24 * HOUR, "deploy": T0 + 25 * HOUR}
    assert why_not(BASE, new, PENDING, T0 + WEEK) == ""


def test_what_waits_before_a_step_stays() -> None:
    new = moved(BASE, PENDING, "deploy", T0 + 24 * HOUR)

    assert times(new, PENDING) == {"backup": T0, "deploy": T0 + 24 * HOUR}


def test_a_step_that_has_begun_is_not_moved() -> None:
    new = moved(BASE, PENDING, "backup", T0 + 24 * HOUR)

    assert why_not(BASE, new, {"deploy"}, T0 + WEEK) == "backup does not wait for a time"
