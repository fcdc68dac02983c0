"""Many steps in few lines: exactly those, in their order, and nothing that is not in them."""

import pytest

from storage.contract.grouping import LINES, grouped, lengthy, lines, ranges, said
from tests.support.fakes import BACKUP, DEPLOY, plan_spec, step


def fleet(count, **fields):
    return [step(f"s{n}", BACKUP, parameters={"service": f"web-{n:02}"}, **fields) for n in range(count)]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (["web-01", "web-02", "web-03"], ["web-01 … web-03 (3)"]),
        (["web-01", "web-02"], ["web-01", "web-02"]),
        (["web-08", "web-09", "web-10"], ["web-08 … web-10 (3)"]),
        (["web-8", "web-9", "web-10"], ["web-8 … web-10 (3)"]),
        (["web-01", "web-02", "web-04"], ["web-01", "web-02", "web-04"]),
        (["a1", "b2", "a3"], ["a1", "b2", "a3"]),
        (["web-09", "web-010", "web-011"], ["web-09", "web-010", "web-011"]),
    ],
)
def test_a_range_is_said_only_where_nothing_is_missing_in_it(values, told):
    assert ranges(values) == told


def test_few_steps_have_a_line_each_and_many_alike_share_one():
    assert len(lines(plan_spec(*fleet(LINES)))) == LINES
    (group,) = lines(plan_spec(*fleet(30)))
    assert said(plan_spec(*fleet(30)), group).parameters == {"service": "web-00 … web-29 (30)"}


def test_steps_that_fail_otherwise_or_wait_otherwise_share_no_line():
    other = fleet(20)[:10] + [one.model_copy(update={"failure_action": "abort"}) for one in fleet(20)[10:]]
    late = [*fleet(19), step("last", BACKUP, parameters={"service": "web-19"}, depends_on=("s3",))]

    assert [group.size for group in grouped(plan_spec(*other))] == [10, 10]
    assert [group.size for group in grouped(plan_spec(*late))] == [19, 1]


def test_a_chain_is_no_crowd():
    chain = [
        step(f"s{n}", BACKUP, parameters={"service": f"web-{n:02}"}, depends_on=(f"s{n - 1}",) if n else ())
        for n in range(20)
    ]

    assert [(group.size, group.chained) for group in grouped(plan_spec(*chain))] == [(20, True)]
    assert [(group.size, group.chained) for group in grouped(plan_spec(*fleet(20)))] == [(20, False)]


@pytest.mark.parametrize(("count", "long"), [(15, False), (16, True), (80, True)])
def test_more_than_fifteen_lines_have_no_room_on_a_card(count, long):
    kinds = (BACKUP, DEPLOY)
    steps = [step(f"s{n}", kinds[n % 2], parameters={"service": f"p{n}"}) for n in range(count)]

    assert lengthy(plan_spec(*steps), lambda one: kinds[one.action == "deploy"], ()) is long


def test_nor_has_one_line_that_is_too_long_or_a_crowd_of_approvers():
    huge = plan_spec(step("s0", BACKUP, parameters={"service": "x" * 2000}))

    assert lengthy(huge, lambda one: BACKUP, ())
    assert lengthy(plan_spec(), lambda one: DEPLOY, [f"U{n:08}" for n in range(100)])
    assert not lengthy(plan_spec(), lambda one: DEPLOY, ["U1"])
