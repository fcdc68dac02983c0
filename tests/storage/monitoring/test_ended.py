"""What has ended is counted once; what is said is what counting all of it anew would say."""

import pytest

from storage.monitoring import ended
from storage.monitoring.ended import Ended
from storage.monitoring.metrics import figures
from tests.support.fakes import approved, ok, propose, step, take
from tests.support.store import Store


@pytest.fixture(autouse=True)
def close(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is new ends with the newest two."""
    monkeypatch.setattr(ended, "LAG", 2)


def finish(store: Store) -> int:
    plan_id = approved(store, step("s1"))
    claim = take(store, plan_id, "s1")
    store.succeed(claim, ok(), actor="w1")
    return plan_id


def counted(store: Store, known: Ended | None = None) -> dict[str, dict[str, float]]:
    found = {figure.name: dict(figure.values) for figure in figures(store, known)}
    return {name: found[name] for name in ("signoff_plans", "signoff_attempts_total")}


def test_what_was_counted_before_and_what_is_new_are_the_whole(store):
    known = Ended()
    for _ in range(4):
        finish(store)
        propose(store)

        assert counted(store, known) == counted(store)
    assert counted(store)["signoff_plans"] == {
        "planning": 0, "proposed": 4, "approved": 0, "stalled": 0, "done": 4, "rejected": 0, "expired": 0,
        "cancelled": 0,
    }  # fmt: skip


def test_a_plan_that_moves_is_counted_where_it_is_however_old_it_is(store):
    known, old = Ended(), propose(store)
    for _ in range(5):
        finish(store)
    counted(store, known)
    store.cancel(old, user="ANN", reason="not needed")

    assert counted(store, known) == counted(store)
    assert counted(store, known)["signoff_plans"]["cancelled"] == 1


def test_what_has_ended_for_good_is_not_read_again(store):
    known = Ended()
    for _ in range(6):
        finish(store)
    first = counted(store, known)
    with store.write() as t:
        t.connection.exec_driver_sql(
            "UPDATE plan SET state = 'rejected' WHERE id = (SELECT min(id) FROM plan)"
        )
        t.connection.exec_driver_sql(
            "UPDATE attempt SET outcome = 'fail' WHERE step_id = (SELECT min(step_id) FROM attempt)"
        )

    assert counted(store, known) == first
    assert counted(store) != first
