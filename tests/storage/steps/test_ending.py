"""How an attempt ends by its report, also when the report comes too late."""

from tests.support.fakes import approved, attempts, bad, ok, states, step, step_row, take, verbs


def test_a_late_report_is_kept_as_evidence_and_changes_nothing(store, clock):
    plan_id = approved(store, step("s1"))
    first = take(store, plan_id, "s1")
    clock.advance(60)
    store.lose(step_row(store, plan_id, "s1"), actor="w2", probe=False)
    second = take(store, plan_id, "s1", owner="w2")

    assert store.fail(first, bad("too late"), actor="w1") is False
    assert states(store, plan_id) == {"s1": "running"}
    assert attempts(store)[0].late["summary"] == "too late"
    assert attempts(store)[1].late is None
    assert store.succeed(second, ok(), actor="w2") is True
    assert "late" in verbs(store, plan_id)
