"""The real Bolt app at the local workspace: commands, clicks, views, events, faults."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_handlers import RateLimitErrorRetryHandler
from slack_sdk.webhook import WebhookClient

from bot.local.client.person import Person, WorkspaceClient
from bot.local.client.text import readable
from bot.local.server import LocalSlack
from bot.local.shapes import Refused, Shortcut
from tests.support.local_kit import ANN, BOB, ListeningBot, connected, refused, until

BUTTONS = {
    "type": "actions",
    "block_id": "decide",
    "elements": [
        {
            "type": "button",
            "action_id": "approve",
            "value": "v1",
            "text": {"type": "plain_text", "text": "Approve"},
        },
        {
            "type": "button",
            "action_id": "edit",
            "value": "v1",
            "text": {"type": "plain_text", "text": "Edit"},
        },
        {"type": "button", "action_id": "lost", "text": {"type": "plain_text", "text": "Nobody listens"}},
    ],
}
VIEW = {
    "type": "modal",
    "callback_id": "change",
    "private_metadata": "plan-1",
    "title": {"type": "plain_text", "text": "Change the plan"},
    "submit": {"type": "plain_text", "text": "Change"},
    "blocks": [
        {
            "type": "input",
            "block_id": "when_step-3",
            "label": {"type": "plain_text", "text": "When"},
            "element": {"type": "plain_text_input", "action_id": "text"},
        },
        {
            "type": "input",
            "block_id": "strategy",
            "label": {"type": "plain_text", "text": "How"},
            "element": {
                "type": "static_select",
                "action_id": "choice",
                "initial_option": {"text": {"type": "plain_text", "text": "Rolling"}, "value": "rolling"},
                "options": [
                    {"text": {"type": "plain_text", "text": "Rolling"}, "value": "rolling"},
                    {"text": {"type": "plain_text", "text": "Blue/green"}, "value": "blue_green"},
                ],
            },
        },
    ],
}


def plan(title: str, *statuses: str) -> dict[str, Any]:
    tasks = [{"task_id": f"step-{n}", "title": f"Step {n}", "status": s} for n, s in enumerate(statuses, 1)]
    return {"type": "plan", "title": title, "tasks": tasks}


class Bot(ListeningBot):
    """An app that does with Slack what the product does."""

    def __init__(self, slack: LocalSlack) -> None:
        super().__init__(slack)
        self.refusing = False
        self.forget()
        self.app.error(self.on_error)
        self.app.command("/plan")(self.on_plan)
        self.app.action("approve")(self.on_approve)
        self.app.action("edit")(self.on_edit)
        self.app.view("change")(self.on_change)
        self.app.event("app_mention")(self.on_mention)
        self.app.event("message")(self.on_message)
        self.app.shortcut("plan_from_message")(self.on_shortcut)
        self.app.view_closed("change")(lambda ack: ack())

    def forget(self) -> None:
        super().forget()
        self.view_answer: dict[str, Any] = {}

    def record(self, body: dict[str, Any], next: Callable[[], None]) -> None:
        def go_on() -> None:
            if self.refusing:
                raise RuntimeError("not committed, so not acked")
            next()

        super().record(body, go_on)

    def on_error(self, error: Exception) -> None:
        if not self.refusing:
            raise error

    def on_plan(self, ack: Any, body: dict[str, Any], client: WebClient) -> None:
        ack(f"Planning: {body['text']}")
        blocks = [plan("Proposed", "pending", "pending"), BUTTONS]
        client.chat_postMessage(channel=body["channel_id"], text="A plan", blocks=blocks)

    def on_approve(self, ack: Any, body: dict[str, Any], client: WebClient) -> None:
        ack()
        blocks = [plan(f"Approved by <@{body['user']['id']}>", "complete", "in_progress")]
        client.chat_update(
            channel=body["channel"]["id"], ts=body["message"]["ts"], text="Approved", blocks=blocks
        )

    def on_edit(self, ack: Any, body: dict[str, Any], client: WebClient) -> None:
        ack()
        client.views_open(trigger_id=body["trigger_id"], view=VIEW)

    def on_change(self, ack: Any, view: dict[str, Any], client: WebClient) -> None:
        if self.view_answer:
            ack(**self.view_answer)
            return
        values = view["state"]["values"]
        when = values["when_step-3"]["text"]["value"]
        if when == "never":
            ack(response_action="errors", errors={"when_step-3": "Say a time."})
            return
        ack()
        how = values["strategy"]["choice"]["selected_option"]["value"]
        client.chat_postMessage(channel="C0OPS", text=f"{how} at {when} for {view['private_metadata']}")

    def on_mention(self, event: dict[str, Any], say: Any) -> None:
        say(text="At your service", thread_ts=event["ts"])

    def on_message(self, event: dict[str, Any]) -> None: ...

    def on_shortcut(self, ack: Any, body: dict[str, Any], respond: Any) -> None:
        ack()
        respond(text=f"About: {body['message']['text']}")


@pytest.fixture(scope="module")
def slack() -> Iterator[LocalSlack]:
    shortcuts = [Shortcut("plan_from_message", "Plan from message")]
    with LocalSlack(members=[ANN, BOB], shortcuts=shortcuts, event_spacing=(0.01,)) as running:
        yield running


@pytest.fixture(scope="module")
def deaf_bot() -> Iterator[Bot]:
    """An app that hears everything and acks nothing, at a workspace that does not wait long."""
    with LocalSlack(members=[ANN, BOB], ack_timeout=0.1, event_spacing=(0.01, 0.01, 0.01)) as slack:
        bot = Bot(slack)
        bot.refusing = True
        with connected(slack, bot.app):
            yield bot


@pytest.fixture
def lonely() -> Iterator[LocalSlack]:
    """A workspace that the app has not found yet."""
    with LocalSlack(members=[ANN, BOB]) as running:
        yield running


def test_a_slash_command_is_answered_to_the_one_who_typed_it(bot: Bot, ann: Person, bob: Person) -> None:
    delivery = ann.says("/plan deploy auth-service with @Bob in #ops")
    ann.sees("Proposed")

    assert delivery.acked
    assert delivery.ms < 3000
    assert ann.ephemerals() == ["Planning: deploy auth-service with <@U0BOB|bob> in <#C0OPS|ops>"]
    assert bob.ephemerals() == []


def test_a_click_redraws_the_card(bot: Bot, ann: Person, bob: Person, workspace: WorkspaceClient) -> None:
    ann.says("/plan deploy auth-service")
    delivery = bob.clicks("approve")
    card = ann.sees("Approved by <@U0BOB>")

    assert delivery.acked
    assert "✓ Step 1\n◐ Step 2" in readable(card)
    assert card["edited"]["user"] == "U0SIGNOFF"
    assert [message["ts"] for message in workspace.messages()] == [card["ts"]]


def test_a_click_carries_what_slack_sends(bot: Bot, ann: Person, bob: Person) -> None:
    ann.says("/plan deploy auth-service")
    bob.clicks("approve")
    body = bot.sent("block_actions")[0]

    assert body["user"] == {"id": "U0BOB", "username": "bob", "name": "bob", "team_id": "T0LOCAL"}
    assert body["enterprise"] is None
    assert body["container"]["message_ts"] == body["message"]["ts"]
    assert body["actions"][0]["value"] == "v1"
    assert body["actions"][0]["block_id"] == "decide"
    assert body["state"] == {"values": {}}


def test_a_form_is_refused_at_the_field_and_then_taken(bot: Bot, ann: Person) -> None:
    ann.says("/plan deploy auth-service")
    ann.clicks("edit")

    assert ann.fills({}).errors == {"when_step-3": "Please complete this required field."}
    assert ann.fills({"when_step-3": "never"}).errors == {"when_step-3": "Say a time."}
    assert ann.fills({"when_step-3": "2AM EST", "strategy": "blue_green"}).errors == {}
    ann.sees("blue_green at 2AM EST for plan-1")


def test_a_submitted_form_is_gone(bot: Bot, ann: Person, workspace: WorkspaceClient) -> None:
    ann.says("/plan deploy auth-service")
    ann.clicks("edit")
    ann.fills({"when_step-3": "now"})

    assert workspace.state()["views"] == []


def test_a_form_takes_only_what_it_offers(bot: Bot, ann: Person) -> None:
    ann.says("/plan deploy auth-service")
    ann.clicks("edit")

    with pytest.raises(Refused, match="not among the options"):
        ann.fills({"when_step-3": "now", "strategy": "canary"})
    with pytest.raises(Refused, match="no block"):
        ann.fills({"where": "here"})


def test_a_click_that_nobody_acks_shows_the_sign(deaf_bot: Bot) -> None:
    deaf_bot.client.chat_postMessage(channel="C0OPS", text="A plan", blocks=[BUTTONS])
    delivery = deaf_bot.slack.client().person("U0ANN").clicks("lost")

    assert (delivery.acked, delivery.error) == (False, "operation_timeout")


def test_a_command_fails_at_once_when_no_app_is_there(lonely: LocalSlack) -> None:
    ann = lonely.client().person("U0ANN")
    delivery = ann.says("/plan deploy auth-service")

    assert (delivery.acked, delivery.error) == (False, "dispatch_failed")
    assert ann.ephemerals() == ['/plan failed with the error "dispatch_failed"']


def test_commands_are_refused_in_threads_and_when_unknown(bot: Bot, ann: Person) -> None:
    root = ann.says("hello").payload["ts"]
    ann.says("/plan deploy", thread=root)
    ann.says("/dance")

    assert ann.ephemerals() == ["/plan is not supported in threads. Sorry!", "/dance is not a valid command."]


def test_a_mention_is_answered_in_its_thread(bot: Bot, ann: Person, workspace: WorkspaceClient) -> None:
    root = ann.says("@Signoff are you there?").payload["ts"]
    reply = ann.sees("At your service", thread=root)
    mention, message = bot.events("app_mention")[0], bot.events("message")[0]

    assert [body["ts"] for body in workspace.thread(root)] == [root, reply["ts"]]
    assert workspace.thread(root)[0]["reply_count"] == 1
    assert mention["event"]["text"] == "<@U0SIGNOFF> are you there?"
    assert mention["event_id"] != message["event_id"]
    assert message["event"]["channel_type"] == "channel"


def test_an_event_that_is_not_acked_comes_again(deaf_bot: Bot) -> None:
    deaf_bot.slack.client().person("U0ANN").says("hello")
    until(lambda: len(deaf_bot.events("message")) == 4)

    assert len({body["event_id"] for body in deaf_bot.events("message")}) == 1


def test_an_event_waits_for_the_app(lonely: LocalSlack) -> None:
    ann = lonely.client().person("U0ANN")
    ann.says("@Signoff wake up")
    with connected(lonely, Bot(lonely).app):
        ann.sees("At your service")


def test_the_duplicate_fault_delivers_twice(bot: Bot, ann: Person, workspace: WorkspaceClient) -> None:
    ann.says("/plan deploy auth-service")
    workspace.fault(duplicate=1)
    ann.clicks("approve")
    until(lambda: len(bot.sent("block_actions")) == 2)


def test_a_command_that_nobody_acks_fails_visibly(deaf_bot: Bot) -> None:
    ann = deaf_bot.slack.client().person("U0ANN")
    delivery = ann.says("/plan deploy auth-service")

    assert delivery.error == "operation_timeout"
    assert '/plan failed with the error "operation_timeout"' in ann.ephemerals()


def test_a_lost_ack_brings_an_event_again(bot: Bot, ann: Person, workspace: WorkspaceClient) -> None:
    workspace.fault(lost_ack=1)
    ann.says("hello")
    until(lambda: len(bot.events("message")) == 2)


def test_a_rate_limit_is_waited_out(slack: LocalSlack, workspace: WorkspaceClient) -> None:
    client = WebClient(slack.bot_token, base_url=slack.api_url)
    workspace.fault(rate_limit=1, retry_after=0)

    with pytest.raises(SlackApiError) as caught:
        client.auth_test()
    client.retry_handlers.append(RateLimitErrorRetryHandler(max_retry_count=1))
    workspace.fault(rate_limit=1, retry_after=0)

    assert caught.value.response.status_code == 429
    assert client.auth_test()["user_id"] == "U0SIGNOFF"


def test_the_app_comes_back_after_a_refresh(bot: Bot, ann: Person, workspace: WorkspaceClient) -> None:
    workspace.disconnect()
    workspace.wait_for_bot()
    until(lambda: ann.says("/plan deploy auth-service").acked)


def test_an_expired_trigger_opens_nothing(bot: Bot, ann: Person, workspace: WorkspaceClient) -> None:
    workspace.fault(expired_trigger=1)
    ann.says("/plan deploy auth-service")
    trigger = bot.sent("slash")[0]["trigger_id"]

    assert refused(lambda: bot.client.views_open(trigger_id=trigger, view=VIEW)) == "expired_trigger_id"
    assert refused(lambda: bot.client.views_open(trigger_id="made-up", view=VIEW)) == "invalid_trigger_id"
    bot.client.views_open(trigger_id=trigger, view=VIEW)
    assert refused(lambda: bot.client.views_open(trigger_id=trigger, view=VIEW)) == "exchanged_trigger_id"


def test_a_shortcut_is_answered_over_its_response_url(bot: Bot, ann: Person, bob: Person) -> None:
    ts = ann.says("the disk of db-1 is full").payload["ts"]
    bob.uses("plan_from_message", message=ts)
    bob.sees("About: the disk of db-1 is full")

    assert ann.ephemerals() == []


def test_an_old_button_can_still_be_clicked(bot: Bot, ann: Person, bob: Person) -> None:
    ann.says("/plan deploy auth-service")
    old = bob.button("edit")
    bob.clicks("approve")
    ann.sees("Approved by")
    delivery = bob.clicks(old)
    clicks = bot.sent("block_actions")

    assert delivery.acked
    assert clicks[-1]["actions"][0]["value"] == "v1"


def test_waiting_in_vain_tells_what_was_there(lonely: LocalSlack) -> None:
    ann = lonely.client(patience=0.05).person("U0ANN")
    ann.says("hello")

    with pytest.raises(AssertionError, match=r"(?s)a button approve.*Ann Lee:.*hello"):
        ann.clicks("approve")


def test_a_whisper_is_replaced_and_deleted_over_its_response_url(bot: Bot, ann: Person) -> None:
    bot.client.chat_postEphemeral(channel="C0OPS", user="U0ANN", text="Which?", blocks=[BUTTONS])
    ann.clicks("lost")
    body = bot.sent("block_actions")[0]
    hook = WebhookClient(body["response_url"])

    assert body["container"]["is_ephemeral"]
    assert "message" not in body
    assert hook.send(text="This one.", replace_original=True).body == "ok"
    assert ann.ephemerals() == ["This one."]
    hook.send(delete_original=True)
    assert ann.ephemerals() == []
    for _ in range(3):
        hook.send(text="Again")
    assert (hook.send(text="Once too often").status_code, len(ann.ephemerals())) == (404, 3)


def test_views_are_updated_pushed_and_cleared_by_the_ack(bot: Bot, ann: Person) -> None:
    ann.says("/plan deploy auth-service")
    ann.clicks("edit")
    first = ann.view()

    bot.view_answer = {"response_action": "update", "view": VIEW | {"private_metadata": "plan-2"}}
    ann.fills({"when_step-3": "now"})
    assert (ann.view()["id"], ann.view()["private_metadata"]) == (first["id"], "plan-2")

    bot.view_answer = {"response_action": "push", "view": VIEW}
    ann.fills({"when_step-3": "now"})
    assert ann.view()["previous_view_id"] == first["id"]

    bot.view_answer = {"response_action": "clear"}
    ann.fills({"when_step-3": "now"})
    assert ann.workspace.state()["views"] == []


def test_an_answer_that_slack_cannot_use_leaves_the_form_open(bot: Bot, ann: Person) -> None:
    ann.says("/plan deploy auth-service")
    ann.clicks("edit")
    bot.view_answer = {"response_action": "errors", "errors": {"no_such_block": "?"}}
    delivery = ann.fills({"when_step-3": "now"})

    assert delivery.error == "invalid_response"
    assert ann.view()["callback_id"] == "change"


def test_leaving_a_form_is_told_only_to_who_asked(bot: Bot, ann: Person) -> None:
    ann.says("/plan deploy auth-service")
    ann.clicks("edit")
    ann.closes()
    assert bot.sent("view_closed") == []

    ann.clicks("edit")
    bot.view_answer = {"response_action": "update", "view": VIEW | {"notify_on_close": True}}
    ann.fills({"when_step-3": "now"})
    assert ann.closes().acked
    assert bot.sent("view_closed")


def test_a_choice_in_a_message_is_in_the_state_of_the_next_click(bot: Bot, ann: Person) -> None:
    options = [{"text": {"type": "plain_text", "text": name}, "value": name} for name in ("one", "two")]
    boxes = {"type": "checkboxes", "action_id": "steps", "options": options, "initial_options": options[:1]}
    which = {"type": "actions", "block_id": "which", "elements": [boxes]}
    bot.client.chat_postMessage(channel="C0OPS", text="Which?", blocks=[which, BUTTONS])
    ann.clicks("approve", values={"which": ["one", "two"]})
    state = bot.sent("block_actions")[0]["state"]["values"]

    assert state == {"which": {"steps": {"type": "checkboxes", "selected_options": options}}}
