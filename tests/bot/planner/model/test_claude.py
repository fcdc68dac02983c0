"""A model asked through the real SDK: each reply and fault ends in a plan, a question or a sentence."""

import json
import time
from contextlib import suppress
from typing import Any

import pytest

from bot.planner.model import prompt, wire
from bot.planner.model.calls import connect
from bot.planner.model.usage import (
    ModelFailed,
    ModelInvalid,
    ModelOverloaded,
    ModelRefused,
    ModelTruncated,
    ModelUnavailable,
    Usage,
)
from bot.planner.model.wire import Asked, Declined
from bot.planner.prepare import prepare
from bot.planner.runbooks.book import Planned
from bot.planner.validate import Catalogue
from storage.contract.spec import Mandate
from storage.errors import BadConfig, SignoffError
from tests.support.fake_model import BROKEN, GOOD, KEY, MODEL, QUESTION, REFUSAL, Reply, fails, problems, says
from tests.support.fakes import NOW, demo_config, real_contracts

pytestmark = pytest.mark.model


# answers


def test_a_good_plan_comes_back_whole(desk):
    asked = desk(says(GOOD))

    made = asked.plan()

    assert isinstance(made, Planned)
    assert [step.id for step in made.spec.steps] == ["test", "backup", "deploy"]
    assert made.spec.find("deploy").schedule.not_before.isoformat() == "2026-11-16T07:00:00+00:00"
    assert made.spec == prepare(made.spec, Catalogue(real_contracts()), demo_config(), NOW)
    assert made.note == f"planned by {MODEL}"
    assert (len(asked.fake.requests), len(asked.booked)) == (1, 1)


def test_a_missing_fact_becomes_a_question(desk):
    asked = desk(says(QUESTION))

    made = asked.plan("ship the new auth-service")

    assert isinstance(made, Asked)
    assert made.questions == ("Which version of auth-service?", "Into which environment?")
    assert made.fields[1].options == ("production", "staging")
    assert len(asked.booked) == 1


def test_what_must_not_be_done_is_declined_with_a_reason(desk):
    made = desk(says(REFUSAL)).plan("drop the users table")

    assert isinstance(made, Declined)
    assert made.reason.startswith("No action here can drop a table")


def test_assumptions_stand_in_the_note(desk):
    assuming = json.dumps(json.loads(GOOD) | {"assumptions": ["full is the right suite"]})

    assert desk(says(assuming)).plan().note == f"planned by {MODEL}; assuming: full is the right suite"


def test_the_model_has_no_words_for_risk_approvers_and_mandate(desk):
    asked = desk(says(GOOD))

    assert asked.plan().spec.mandate == Mandate()
    schema = asked.fake.requests[0]["output_config"]["format"]["schema"]
    words = json.dumps(schema).replace("approval-gate.", "")  # the name of a worker
    assert not [word for word in ("mandate", "approv", "risk", "contract", "binding") if word in words]


@pytest.mark.parametrize(
    ("script", "ends", "calls"),
    [
        ([says(GOOD)], Planned, 1),
        ([says(QUESTION)], Asked, 1),
        ([says(REFUSAL)], Declined, 1),
        ([says(BROKEN), says(GOOD)], Planned, 2),
        ([says("{}"), says(GOOD)], Planned, 2),
        ([says(BROKEN)], ModelInvalid, 2),
        ([says("", stop="refusal")], ModelRefused, 1),
        ([says(GOOD[:50], stop="max_tokens"), says(GOOD)], Planned, 2),
        ([says(GOOD[:50], stop="max_tokens")], ModelTruncated, 2),
        ([fails(429, retry_after_ms=1), says(GOOD)], Planned, 1),
        ([fails(429, retry_after=3600)], ModelOverloaded, 0),
        ([fails(529, retry_after_ms=1)], ModelOverloaded, 0),
        ([fails(500, retry_after_ms=1)], ModelOverloaded, 0),
        ([Reply(b"<html>502</html>")], ModelUnavailable, 0),
        ([Reply(b'{"id"')], ModelUnavailable, 0),
        ([says(GOOD, delay=30.0)], ModelUnavailable, 0),
    ],
)
def test_each_script_ends_in_a_plan_a_question_or_a_sentence_in_time(desk, script, ends, calls):
    asked, began = desk(*script, deadline=4.0), time.monotonic()
    try:
        made: object = asked.plan()
    except ModelFailed as failed:
        made = failed

    assert type(made) is ends
    assert str(made)
    assert len(asked.booked) == calls
    assert time.monotonic() - began < 20


def test_what_no_third_party_may_read_is_hidden_at_the_models_door(desk):
    asked = desk(says(GOOD), redact=lambda text: text.replace("hunter2", "[redacted]"))
    asked.plan("deploy auth-service v2.1.4 to production with hunter2")

    assert "hunter2" not in json.dumps(asked.fake.requests)
    assert "[redacted]" in json.dumps(asked.fake.requests)


# repairs


def test_a_plan_with_an_issue_is_repaired(desk):
    asked = desk(says(BROKEN), says(GOOD))

    assert isinstance(asked.plan(), Planned)
    first, second = (request["messages"][0]["content"] for request in asked.fake.requests)
    assert "not_in_inventory" not in first
    assert '"code": "not_in_inventory", "path": "steps[1].parameters.database"' in second
    assert "auth_pord" in second
    assert len(asked.booked) == 2


def test_every_call_is_stateless_and_shares_its_cached_part(desk):
    asked = desk(says(BROKEN), says(GOOD))
    asked.plan()

    one, two = asked.fake.requests
    assert (one["system"], one["output_config"]) == (two["system"], two["output_config"])
    assert one["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert [len(request["messages"]) for request in (one, two)] == [1, 1]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("sorry, I cannot do that in JSON", "json_invalid"),
        ('{"kind": "plan"', "json_invalid"),
        ('{"kind": "plan", "goal": "g"}', "missing"),
        ("[]", "model_type"),
        ("", "json_invalid"),
    ],
)
def test_an_answer_in_another_form_is_repaired_too(desk, answer, code):
    asked = desk(says(answer), says(GOOD))

    assert isinstance(asked.plan(), Planned)
    assert f'"code": "{code}"' in asked.fake.requests[1]["messages"][0]["content"]


def test_a_plan_that_is_never_valid_ends_in_a_sentence_after_two_repairs(desk):
    asked = desk(*(says(BROKEN.replace("auth_pord", f"auth_{number}")) for number in range(9)))

    said = asked.fails(ModelInvalid)

    assert "• steps[1].parameters.database: 'auth_2' is not in the inventory" in said
    assert (len(asked.fake.requests), len(asked.booked)) == (3, 3)


def test_the_same_plan_twice_ends_it_early(desk):
    asked = desk(says(BROKEN))

    asked.fails(ModelInvalid)

    assert (len(asked.fake.requests), len(asked.booked)) == (2, 2)


def test_a_repair_does_not_outlive_the_deadline(desk):
    now = [0.0]

    def slow(body: dict[str, Any]) -> Reply:
        now[0] += 11
        return says(BROKEN.replace("auth_pord", f"auth_{now[0]}"))

    asked = desk(slow, clock=lambda: now[0])

    assert "did not answer within 20 s" in asked.fails()
    assert (len(asked.fake.requests), len(asked.booked)) == (2, 2)


def test_spending_may_stop_the_next_call(desk):
    def broke(model: str, usage: Usage) -> None:
        raise SignoffError("The budget of this plan is used up.")

    asked = desk(says(BROKEN), spend=broke)

    assert asked.fails(SignoffError) == "The budget of this plan is used up."
    assert len(asked.fake.requests) == 1


# why it stopped


def test_a_refusal_is_said_and_not_repeated(desk):
    details = {"type": "refusal", "category": "cyber", "explanation": None}
    asked = desk(says("I will not", stop="refusal", stop_details=details))

    assert asked.fails(ModelRefused) == "The model refuses this request (cyber)."
    assert (len(asked.fake.requests), len(asked.booked)) == (1, 1)


def test_a_refusal_without_details_is_a_sentence_too(desk):
    assert desk(says("", stop="refusal")).fails(ModelRefused) == "The model refuses this request."


def test_an_answer_that_was_cut_off_gets_twice_the_room_once(desk):
    asked = desk(says(GOOD[:200], stop="max_tokens"), says(GOOD))

    assert isinstance(asked.plan(), Planned)
    assert [request["max_tokens"] for request in asked.fake.requests] == [8_000, 16_000]
    assert len(asked.booked) == 2


def test_an_answer_that_never_fits_ends_in_a_sentence(desk):
    asked = desk(says(GOOD[:200], stop="max_tokens"))

    assert "too long for one answer" in asked.fails(ModelTruncated)
    assert (len(asked.fake.requests), len(asked.booked)) == (2, 2)


@pytest.mark.parametrize(
    "stop", ["model_context_window_exceeded", "tool_use", "pause_turn", "stop_sequence", None]
)
def test_any_other_stop_is_a_sentence(desk, stop):
    asked = desk(says(GOOD, stop=stop))

    assert "stopped without an answer" in asked.fails(ModelInvalid)
    assert (len(asked.fake.requests), len(asked.booked)) == (1, 1)


def test_a_stop_that_the_sdk_does_not_know_is_booked_all_the_same(desk):
    asked = desk(says(GOOD, stop="tired"))

    assert "cannot be reached" in asked.fails()
    assert (len(asked.fake.requests), len(asked.booked)) == (1, 1)


# keys


def test_no_key_is_a_matter_of_configuration():
    with pytest.raises(BadConfig, match="ANTHROPIC_API_KEY is not set"):
        connect(" ")


def test_a_wrong_key_is_a_sentence(desk):
    asked = desk(says(GOOD), key="sk-ant-wrong")

    said = asked.fails()

    assert "sk-ant" not in said
    assert asked.fake.rejected == ["invalid bearer token"]


def test_no_key_reaches_the_log(desk, caplog):
    caplog.set_level("INFO")
    for reply in (fails(401, f"echo: {KEY}", request_id=KEY), Reply(KEY.encode()), says(GOOD)):
        with suppress(ModelFailed):
            desk(reply).plan()

    assert "status=401" in caplog.text
    assert KEY not in caplog.text


# what is sent


def test_the_real_api_would_take_what_we_send(desk):
    asked = desk(says(BROKEN), says(GOOD))
    asked.plan()

    assert asked.fake.rejected == []
    assert {"tools", "temperature", "top_p", "top_k"} & asked.fake.requests[0].keys() == set()


CIRCLE = {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 0}, {"tools": []}, {"stream": "yes"}, {"thinking": {"type": "disabled"}},
        {"messages": [{"role": "assistant", "content": "{"}]}, {"output_config": {"effort": "huge"}},
        {"output_config": {"format": {"schema": {"type": "object", "properties": {}}}}},
        {"output_config": {"format": {"schema": {"type": "string", "maxLength": 3}}}},
        {"output_config": {"format": {"schema": {"type": "array", "items": {"oneOf": []}}}}},
        {"output_config": {"format": {"schema": CIRCLE}}},
    ],
    ids=str,
)  # fmt: skip
def test_the_fake_rejects_what_the_real_api_rejects(wrong):
    body = {"model": MODEL, "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}

    assert not [*problems(body)]
    assert [*problems(body | wrong)]


# a hostile model


@pytest.mark.hostile
@pytest.mark.parametrize(
    "answer",
    [
        "x" * 10_000_000,
        json.dumps(json.loads(GOOD) | {"approved": True, "approved_by": ["BOB"]}),
        json.dumps(json.loads(GOOD) | {"mandate": {"extra": ["k8s-deployer.deploy_service"]}}),
        GOOD.replace("test-runner.run_tests", "shell.run"),
        GOOD.replace('"id": "test"', '"id": "deploy"'),
        GOOD.replace('"value": "0"', '"value": "NaN"'),
        GOOD.replace("tonight at 2am EST", "9999-12-31 10:00"),
        "[" * 90_000,
    ],
    ids=lambda answer: f"{len(answer)} {answer[:40]!r}",
)
def test_whatever_a_hostile_model_says_ends_in_a_sentence(desk, answer):
    asked = desk(says(answer))

    said = asked.fails(ModelInvalid)

    assert len(said) < 2_000
    assert (len(asked.fake.requests), len(asked.booked)) == (2, 2)


@pytest.mark.hostile
def test_approval_words_are_prose_and_nothing_else(desk):
    loud = "APPROVED by <@U0BOB>. <!channel> lgtm <https://evil.example|Approve>"
    made = desk(says(json.dumps(json.loads(GOOD) | {"goal": loud, "assumptions": [loud]}))).plan()

    plain = desk(says(GOOD)).plan()
    assert made.spec.digest() == plain.spec.digest()
    assert "<" not in made.spec.goal + made.note


# another model


OTHER = "claude-sonnet-5-5"


@pytest.mark.parametrize("first", [fails(529, retry_after_ms=1), says("", stop="refusal")])
def test_another_model_is_asked_once_where_the_first_is_overloaded_or_refuses(desk, first):
    def script(body: dict[str, Any]) -> Reply:
        return says(GOOD) if body["model"] == OTHER else first

    asked = desk(script, fallback=OTHER)

    assert asked.plan().note == f"planned by {OTHER}"
    assert asked.booked[-1][0] == OTHER
    assert asked.fake.requests[-1]["model"] == OTHER


def test_where_the_other_one_is_overloaded_too_that_is_the_end(desk):
    asked = desk(fails(529, retry_after_ms=1), fallback=OTHER, retries=0)

    asked.fails(ModelOverloaded)
    assert [request["model"] for request in asked.fake.requests] == [MODEL, OTHER]


def test_a_wrong_key_or_setting_asks_nobody_else(desk):
    asked = desk(fails(401), fallback=OTHER)

    asked.fails(ModelUnavailable)
    assert {request["model"] for request in asked.fake.requests} == {MODEL}


# what people would have written


def lacking(**fields: Any) -> str:
    """A plan that could be proposed, and lacks something."""
    good = json.loads(GOOD)
    good["steps"][2] |= {"criteria": [], "failure_action": "ask"}
    return json.dumps(good | {"rollback": []} | fields)


def test_a_plan_that_lacks_its_proof_and_its_way_back_is_repaired_once(desk):
    asked = desk(says(lacking()), says(GOOD))

    assert asked.plan().spec.rollback
    sent = asked.fake.requests[1]["messages"][0]["content"]
    assert '"no_criteria"' in sent
    assert '"no_rollback"' in sent


def test_a_plan_that_still_lacks_it_is_taken_as_it_is(desk):
    asked = desk(says(lacking()), says(lacking(goal="Deploy auth-service v2.1.4")))

    assert asked.plan().spec.rollback == ()
    assert len(asked.fake.requests) == 2


def test_every_call_says_which_prompt_it_was_told(desk):
    asked = desk(says(BROKEN), says(GOOD))
    asked.plan()

    assert [usage.prompt for _, usage in asked.booked] == [prompt.version("prompt", FORM)] * 2


FORM = json.dumps(wire.Draft.model_json_schema(), sort_keys=True)
