"""A new revision of a plan on its way: what has run stands, the rest is born."""

from tests.support.fakes import BACKUP, DEPLOY, approve, approved, plan_spec, step, step_row, succeed, terms


def test_a_plan_that_continued_shows_and_runs_its_next_steps(store):
    plan_id = approved(store, step("s1", DEPLOY), continues=True)
    succeed(store, plan_id, "s1")
    said = {"verb": "amend", "step": "", "reason": "go on", "source": "model", "wait": 0.0}
    spec = plan_spec(step("s1", DEPLOY), step("s2"), continues=True)
    store.decide(plan_id, store.to_review()[0][1], said, spec=spec)
    succeed(store, plan_id, "s2")
    end = plan_spec(step("s1", DEPLOY), step("s2"), step("s3", BACKUP))
    said |= {"verb": "amend", "reason": "the last"}
    store.decide(plan_id, store.to_review()[0][1], said, spec=end, terms=terms(), changes=["s3 is added"])
    approve(store, plan_id)
    succeed(store, plan_id, "s3")

    assert store.view(plan_id).outcome == "succeeded"
    assert step_row(store, plan_id, "s1").attempt == 1
