"""HTTP mode: Slack's signed requests reach the bot as Socket Mode's do, and nobody else's do."""

import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import DataObject, data, sampled_from
from pydantic import SecretStr
from slack_sdk import WebClient
from slack_sdk.signature import SignatureVerifier

from bot.cli.doctor import _http_mode
from bot.config import BotSettings
from bot.context import Bot
from bot.local.client.person import Person
from bot.local.server import LocalSlack
from bot.process import load_config, make_bot
from bot.slack.app import build
from bot.slack.http_mode import PATH, slack_door
from storage.config import SignoffConfig
from storage.database.engine import migrate, open_engine
from storage.errors import BadConfig
from storage.http_server import BOUNDS, serving
from tests.support.fakes import CONTRACTS, FakeClock, plan_spec, terms
from tests.support.local_kit import until
from tests.support.ports import ports
from tests.support.room import handle_all
from tests.support.store import Store

CONFIG = SignoffConfig.model_validate({"people": {"approvers": ["U0BOB"]}})
COMMAND = "command=%2Fplan&text=deploy&user_id=U0ANN&channel_id=C0OPS&team_id=T0LOCAL&trigger_id=1.2.3"


@pytest.fixture
def bot(slack: LocalSlack, tmp_path: Path, clock: FakeClock) -> Iterator[Bot]:
    slack.client().clear()
    engine = open_engine(f"sqlite:///{tmp_path / 'x.db'}")
    migrate(engine)
    client = WebClient(token=slack.bot_token, base_url=slack.api_url, retry_handlers=[])
    yield make_bot(Store(engine, clock), client, CONFIG)[0]
    engine.dispose()


@pytest.fixture
def url(slack: LocalSlack, bot: Bot) -> Iterator[str]:
    client = WebClient(token=slack.bot_token, base_url=slack.api_url)
    secret = slack.signing_secret
    with serving("PORT", "127.0.0.1", 0, [slack_door(build(client, bot), secret)]) as port:
        yield f"http://127.0.0.1:{port}{PATH}"


@pytest.fixture
def ann(slack: LocalSlack, url: str) -> Iterator[Person]:
    slack.client().deliver_to(url)
    yield slack.client().person("U0ANN")
    slack.client().deliver_to("")


def post(url: str, body: str, **headers: str) -> int:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, body.encode(), named)  # noqa: S310 - our own address
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - as above
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def signed(secret: str, body: str, at: float) -> dict[str, str]:
    stamp = str(int(at))
    signature = SignatureVerifier(secret).generate_signature(timestamp=stamp, body=body)
    return {"X_Slack_Request_Timestamp": stamp, "X_Slack_Signature": str(signature)}


def test_commands_events_clicks_and_forms_arrive_as_they_do_over_socket_mode(ann: Person, bot: Bot) -> None:
    assert ann.says("/plan deploy a").acked
    ann.writes("deploy b")
    until(lambda: len(bot.store.unhandled()) == 2)
    handle_all(bot)
    ann.opens_home()
    until(bot.store.unhandled)
    handle_all(bot)

    plans = bot.store.recent()

    assert [plan.text for plan in plans] == ["deploy b", "deploy a"]
    assert bot.store.told(["home:U0ANN"])


def test_a_click_is_committed_before_it_is_answered(ann: Person, bot: Bot) -> None:
    bot.store.publish(CONTRACTS.values())
    plan_id = bot.store.request("deploy a", team="T0LOCAL", user="U0ANN", channel="C0OPS")
    bot.store.propose(plan_id, plan_spec(), terms(), author="planner")
    make_bot(bot.store, bot.people._client, CONFIG)[1].speak()

    assert ann.clicks("approve").acked
    assert [delivery.kind for delivery in bot.store.unhandled()] == ["click"]


def test_a_form_is_answered_in_the_same_request(ann: Person, bot: Bot) -> None:
    bot.store.publish(CONTRACTS.values())
    plan_id = bot.store.request("deploy a", team="T0LOCAL", user="U0ANN", channel="C0OPS")
    bot.store.propose(plan_id, plan_spec(), terms(), author="planner")
    make_bot(bot.store, bot.people._client, CONFIG)[1].speak()
    ann.clicks("reject")
    handle_all(bot)

    refused = ann.fills({"reason": "   "})
    done = ann.fills({"reason": "not today"})

    assert refused.errors == {"reason": "Please say why; the requester reads this."}
    assert (done.acked, done.errors) == (True, {})
    assert bot.store.view(plan_id).reason == "not today"


def test_the_doctor_knows_http_mode(url: str, bot: Bot) -> None:
    port = int(url.split(":")[2].partition("/")[0])
    good = BotSettings(http_port=port)
    good = good.model_copy(update={"slack_signing_secret": SecretStr("s")})
    with socket.create_server(("127.0.0.1", ports())) as other:
        taken = good.model_copy(update={"http_port": other.getsockname()[1]})
        found = [_http_mode(settings) for settings in (good, taken)]
    free = good.model_copy(update={"http_port": taken.http_port})
    blank = good.model_copy(update={"slack_signing_secret": SecretStr(" ")})

    assert [finding.state for finding in found] == ["ok", "missing"]
    assert "a bot answers at" in found[0].text
    assert "ready for" in _http_mode(free).text
    assert _http_mode(blank).text == "SLACK_SIGNING_SECRET is not set"


def test_what_is_not_signed_now_with_our_secret_is_refused_unread(
    url: str, bot: Bot, slack: LocalSlack
) -> None:
    now, good = time.time(), slack.signing_secret
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    stale = signed(good, COMMAND, now - 600)

    statuses = [
        post(url, COMMAND, **form),
        post(url, COMMAND, **form, **signed("another", COMMAND, now)),
        post(url, COMMAND + "&x=1", **form, **signed(good, COMMAND, now)),
        post(url, COMMAND, **form, **stale),
        post(url, COMMAND, **form, **stale | {"X_Slack_Request_Timestamp": "soon"}),
        post(url, COMMAND, **form, **signed(good, COMMAND, now) | {"X_Slack_Signature": "v0=é"}),
    ]

    assert statuses == [401] * 6
    assert bot.store.unhandled() == []
    assert post(url, COMMAND, **form, **signed(good, COMMAND, now)) == 200
    assert len(bot.store.unhandled()) == 1


FORM, JSON = "application/x-www-form-urlencoded", "application/json"
CLICK = {"type": "block_actions", "user": {"id": "U0ANN"}, "actions": [{"action_id": "approve"}]}
SENT = {"type": "view_submission", "user": {"id": "U0ANN"}}
VIEW = {
    "id": "V1",
    "type": "modal",
    "callback_id": "reject",
    "private_metadata": "{}",
    "state": {"values": {}},
}
EVENT = {"type": "event_callback", "team_id": "T0LOCAL", "event_id": "E1"}


def form(payload: object) -> str:
    return urlencode({"payload": json.dumps(payload)})


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (JSON, ""), (JSON, "{"), (JSON, "[]"), (JSON, "7"), (JSON, "null"), (JSON, "[" * 100_000),
        (JSON, '{"type": "event_callback", "type": "url_verification", "challenge": "x"}'),
        (JSON, json.dumps(EVENT)), (JSON, json.dumps(EVENT | {"event": 7})),
        (JSON, json.dumps(EVENT | {"event": {"type": "message"}})),
        (JSON, json.dumps(EVENT | {"event": {"type": "app_mention", "ts": "1.2", "channel": "C0OPS"}})),
        (JSON, json.dumps(EVENT | {"authorizations": [7]})), (JSON, json.dumps(EVENT | {"enterprise": 7})),
        (FORM, "what"), (FORM, "payload={"), (FORM, form([])), (FORM, form({"type": "block_actions"})),
        (FORM, form(CLICK | {"actions": []})), (FORM, form(CLICK | {"user": "U0ANN"})),
        (FORM, form(CLICK | {"actions": [{"action_id": "approve", "value": 7}]})),
        (FORM, form(CLICK | {"actions": [{"action_id": "a\0", "value": "x"}]})),
        (FORM, form({"type": "view_closed", "view": 7})), (FORM, form(SENT)),
        (FORM, form(SENT | {"view": VIEW | {"state": {}}})),
        (FORM, form(SENT | {"view": VIEW | {"state": {"values": {"reason": {}}}}})),
        (FORM, COMMAND.replace("user_id", "user")), (FORM, COMMAND + "&text=again"),
        (FORM, COMMAND.replace("text=deploy", "text=%00")),
    ],
)  # fmt: skip
def test_what_is_signed_and_makes_no_sense_is_refused_in_a_line(
    url: str, bot: Bot, slack: LocalSlack, caplog: pytest.LogCaptureFixture, kind: str, body: str
) -> None:
    status = post(url, body, Content_Type=kind, **signed(slack.signing_secret, body, time.time()))

    assert status == 400
    assert bot.store.unhandled() == []
    assert [(record.levelname, record.exc_info) for record in caplog.records] == [("WARNING", None)]


@pytest.mark.parametrize(
    "body", [form(SENT | {"view": VIEW}), form(SENT | {"view": VIEW | {"callback_id": "wish"}})]
)
def test_a_form_that_is_none_of_ours_is_answered_at_its_field(
    url: str, slack: LocalSlack, caplog: pytest.LogCaptureFixture, body: str
) -> None:
    assert post(url, body, Content_Type=FORM, **signed(slack.signing_secret, body, time.time())) == 200
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data())
def test_however_a_signed_payload_is_bent_it_is_heard_or_refused(
    url: str, bot: Bot, slack: LocalSlack, data: DataObject
) -> None:
    whole = data.draw(sampled_from([CLICK, SENT | {"view": VIEW}, EVENT | {"event": {"type": "message"}}]))
    name = data.draw(
        sampled_from([*whole, "team", "user", "channel", "event", "view", "message", "response_urls"])
    )
    odd = data.draw(sampled_from([None, 7, "x", [], {}, [7], {"id": 7}, [{}], {"type": []}, True]))
    body = form(whole | {name: odd})

    status = post(url, body, Content_Type=FORM, **signed(slack.signing_secret, body, time.time()))

    assert status in {200, 400, 404}


def test_a_command_that_speaks_of_a_payload_is_heard_like_any_other(
    url: str, bot: Bot, slack: LocalSlack
) -> None:
    body = COMMAND.replace("text=deploy", "text=deploy+payload-service")

    assert post(url, body, Content_Type=FORM, **signed(slack.signing_secret, body, time.time())) == 200
    assert [delivery.body["text"] for delivery in bot.store.unhandled()] == ["deploy payload-service"]


def test_other_places_and_endless_bodies_are_refused(url: str, slack: LocalSlack) -> None:
    assert post(url.replace(PATH, "/"), "x") == 404
    assert post(url, "x", Content_Length=str(BOUNDS.size + 1)) == 413


def test_without_a_signing_secret_http_mode_does_not_start(
    tmp_path: Path, bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "signoff.toml"
    config.write_text('[people]\napprovers = ["U0BOB"]\n')
    monkeypatch.setenv("SIGNOFF_HTTP_PORT", "8080")
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-1")
    monkeypatch.setenv("SLACK_SIGNING_SECRET", "  ")
    settings = BotSettings(config=config)

    with pytest.raises(BadConfig, match="SLACK_SIGNING_SECRET is not set"):
        load_config(settings)
    with pytest.raises(BadConfig, match="SLACK_SIGNING_SECRET"):
        slack_door(None, " ")  # type: ignore[arg-type] # it never gets so far
    assert load_config(settings.model_copy(update={"slack_signing_secret": SecretStr("s")}))
