"""One step in full: what was chosen, when, what must hold, and the planner's reason as its own words."""

from bot.cards.tasks import details
from storage.reading.plan_view import StepView
from tests.support.fakes import NOW, step
from tests.support.samples.cards import plan_view


def test_details_have_parameters_times_and_criteria():
    found = StepView(step("s1", success_criteria=[{"field": "failed", "op": "eq", "value": 0}],
                          schedule={"not_before": NOW, "zone": "America/New_York"}))  # fmt: skip
    told = details(plan_view(found), found)

    assert "service: a" in told
    assert "When: Sun 15 Nov 18:00 EST (23:00 UTC)" in told
    assert "Done only if: failed = 0" in told


def test_the_planners_reason_is_quoted_as_its_own():
    found = StepView(step("s1", purpose="Run the tests"))

    assert details(plan_view(found), found).endswith("Why, in the planner's words: “Run the tests”")


def test_parameters_are_said_for_people():
    parts = {"rows": {"from": "fetch.file"}, "dry": True, "pipeline": [{"op": "limit", "rows": 1}]}
    found = StepView(step("s1", parameters=parts))
    told = details(plan_view(found), found)

    assert "rows: fetch.file (when it is known)\ndry: yes" in told
    assert "{'" not in told


def test_what_it_would_do_stands_there_in_full():
    found = StepView(step("s1"), preview="+ image v2\n- image v1")

    assert "Would do: + image v2\n│ - image v1" in details(plan_view(found), found)


def test_no_folder_of_a_server_and_no_key_of_a_step_is_shown():
    first = StepView(
        step("s1"), preview="About 3 kB into /srv/state/backups, which has 71 GB; see a/b, https://x/y/z"
    )
    second = StepView(step("s2", depends_on=("s1",)))
    view = plan_view(first, second)

    assert "About 3 kB into backups, which has 71 GB; see a/b, https://x/y/z" in details(view, first)
    assert "When: after 1" in details(view, second)
