"""The words that people read are those that the journal was told of, or an alarm is."""

import pytest

from storage.contract.report import AnyReport
from storage.database.tables import Step
from storage.reading import words
from storage.steps.previews import Brief
from storage.steps.taking import fail_unstarted
from tests.support.fakes import DEPLOY, approve, ask, plan_spec, propose, step, take, tamper, terms

REWORDED = [
    "UPDATE revision SET spec = replace(spec, 'Deploy a', 'Read a')",
    "UPDATE revision SET spec = replace(spec, 'to prove it', 'only a look')",
    "UPDATE revision SET note = 'harmless'",
    "UPDATE revision SET risk = 'low'",
    "UPDATE revision SET needed = 0",
    "UPDATE plan SET text = 'how is a?'",
    "UPDATE plan SET channel = 'C2'",
    "UPDATE event SET actor = 'BOB' WHERE verb = 'propose'",
    "DELETE FROM event WHERE verb = 'propose'",
]


def one(store):
    return propose(store, plan_spec(step("s1", DEPLOY, purpose="to prove it")))


def test_what_is_as_it_was_written_is_untouched(store):
    plan_id = one(store)
    assert store.tampered(plan_id) == ""
    changed = plan_spec(step("s1", DEPLOY, purpose="later"), goal="Deploy a, gently")
    store.amend(plan_id, changed, terms(), author="ANN", after=1, changes=["gently"])
    assert store.tampered(plan_id) == ""
    approve(store, plan_id)

    assert store.tampered(plan_id) == ""


@pytest.mark.parametrize("looked", [False, True], ids=["never looked at", "verified a moment ago"])
@pytest.mark.parametrize("statement", REWORDED)
def test_whatever_was_reworded_behind_our_back_is_found(store, statement, looked):
    plan_id = one(store)
    assert not (looked and store.tampered(plan_id))
    tamper(store, statement)

    assert store.tampered(plan_id)


PREVIEWED = [
    "UPDATE preview SET text = 'nothing would change'",
    "UPDATE preview SET basis = 'x'",
    "UPDATE preview SET found = '[\"all is well\"]'",
    "UPDATE preview SET was = 'v9'",
    "UPDATE preview SET state = 'failed'",
    "UPDATE preview SET key = 's2'",
]


def previewed(store):
    """A proposal whose step is looked at before anybody approves."""
    plan_id = ask(store)
    offered = DEPLOY.model_copy(update={"preview": True})
    store.publish([offered])
    store.propose(plan_id, plan_spec(step("s1", offered)), terms(), author="planner")
    return plan_id


@pytest.mark.parametrize("statement", PREVIEWED)
def test_a_preview_that_was_changed_behind_our_back_is_found(store, statement):
    plan_id = previewed(store)
    (wanted,) = store.previews_wanted([("ops", "deploy")])
    store.show(wanted, "would deploy a", "b", actor="w1", brief=Brief(("!2 pods fewer",), "v1"))
    assert store.tampered(plan_id) == ""
    tamper(store, statement)

    assert store.tampered(plan_id)


def test_a_preview_that_nobody_made_is_found(store):
    plan_id = previewed(store)
    assert store.tampered(plan_id) == ""
    tamper(store, "UPDATE preview SET state = 'made', text = 'nothing would change'")

    assert store.tampered(plan_id)


REPORTED = [
    """UPDATE step SET report = replace(CAST(report AS text), 'deployed', 'looked at'){cast}""",
    """UPDATE step SET report = replace(CAST(report AS text), '"v": 1', '"v": 2'){cast}""",
]


@pytest.mark.parametrize("statement", REPORTED)
@pytest.mark.parametrize("way", ["succeed", "fail", "retry"])
def test_a_report_that_was_changed_behind_our_back_is_found(store, statement, way):
    plan_id = one(store)
    approve(store, plan_id)
    claim = take(store, plan_id, "s1")
    report = (
        AnyReport.ok("deployed", {"v": 1}) if way == "succeed" else AnyReport.failed("deployed", {"v": 1})
    )
    getattr(store, way)(claim, report, actor="w1", **({"wait": 5.0} if way == "retry" else {}))
    assert store.tampered(plan_id) == ""
    changed(store, statement)

    assert "a report in it" in store.tampered(plan_id)


@pytest.mark.parametrize("how", ["unstarted", "ran", "take_over"])
def test_what_people_and_the_clock_report_is_on_record_too(store, how):
    plan_id = one(store)
    approve(store, plan_id)
    if how == "unstarted":
        with store.write() as t:
            fail_unstarted(t, t.steps(t.touch(plan_id))[0], "its time has passed")
    else:
        claim = take(store, plan_id, "s1")
        if how == "ran":
            store.doubt(claim, actor="w1", reason="it broke")
            store.resolve(plan_id, "s1", "ran", user="BOB")
        else:
            store.fail(claim, AnyReport.failed("no"), actor="w1")
            store.take_over(plan_id, "s1", user="BOB", text="by hand", data={})
    assert store.tampered(plan_id) == ""
    changed(
        store,
        """UPDATE step SET report = replace(CAST(report AS text), '"summary": "', '"summary": "x'){cast}""",
    )

    assert "a report in it" in store.tampered(plan_id)


def changed(store, statement):
    """JSON is a type of its own on PostgreSQL, and a text on SQLite."""
    cast = "::json" if store.engine.dialect.name == "postgresql" else ""
    before = [row.report for row in rows(store)]
    tamper(store, statement.replace("{cast}", cast))
    assert [row.report for row in rows(store)] != before


def rows(store):
    with store.read() as t:
        return t.rows(Step)


def test_in_a_list_only_that_it_was_changed_is_said(store):
    plan_id = one(store)
    assert store.as_recorded(store.view(plan_id)) == store.view(plan_id)
    tamper(store, REWORDED[0])
    shown = store.as_recorded(store.view(plan_id))

    assert (shown.spec, shown.steps) == (None, ())
    assert shown.text.startswith("not shown: it does not read as it was proposed")


def test_the_words_of_an_earlier_revision_are_not_those_of_this_one(store):
    plan_id = one(store)
    store.amend(plan_id, plan_spec(goal="Deploy a, gently"), terms(), author="ANN", after=1, changes=["x"])
    tamper(store, "UPDATE revision SET spec = (SELECT spec FROM revision WHERE number = 1) WHERE number = 2")

    assert "does not read as it was proposed" in store.tampered(plan_id)


def test_a_proposal_of_an_earlier_release_that_tells_of_no_words_is_shown(store):
    plan_id = store.request("deploy a", team="T1", user="ANN", channel="C1")

    assert store.tampered(plan_id) == ""


def test_what_others_put_on_record_during_the_look_is_no_forgery(store, monkeypatch):
    """A worker reports, or another bot writes, after the plan's row was read and before its events are."""
    plan_id, stranger, looks = propose(store), store.stranger(), []
    look = words.verified

    def verified(connection, number, known):
        if len(looks) < 3:
            looks.append(number)
            stranger.refuse(plan_id, "approve", user="DAVE", reason="too late")
        return look(connection, number, known)

    monkeypatch.setattr(words, "verified", verified)

    assert store.tampered(plan_id) == ""
    assert looks


def test_what_retention_has_forgotten_of_an_ended_plan_raises_no_alarm(store):
    plan_id = one(store)
    store.reject(plan_id, 1, user="BOB", reason="no")
    tamper(store, "DELETE FROM event WHERE plan_id > 0")

    assert store.tampered(plan_id) == ""
