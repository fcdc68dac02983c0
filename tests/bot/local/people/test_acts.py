"""The local workspace beyond a channel: direct messages, home tab, stacked views, files, groups."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from slack_sdk import WebClient

from bot.local.client.person import Person, WorkspaceClient
from bot.local.client.text import readable
from bot.local.server import LocalSlack
from bot.local.shapes import Channel, Group, Member, Refused
from tests.support.local_kit import (
    ANN,
    BOB,
    Json,
    ListeningBot,
    actions,
    field,
    home,
    modal,
    picture,
    refused,
    until,
)

OPS = "C0OPS"
MEMBERS = (
    ANN,
    BOB,
    Member("U0EVE", "eve", "Eve Out", team_id="T0OTHER"),
    Member("U0OLD", "old", "Old Hand", deleted=True),
)
GROUP = Group("S0ONCALL", "on-call", "On call", ("U0ANN", "U0OLD"))


class Bot(ListeningBot):
    """An app that answers every surface."""

    def __init__(self, slack: LocalSlack) -> None:
        super().__init__(slack)
        self.forget()
        self.app.event("message")(lambda: None)
        self.app.event("app_mention")(lambda: None)
        self.app.event("app_home_opened")(self.on_home)
        self.app.action("open")(self.on_open)
        self.app.view("form")(self.on_form)
        self.app.view_closed("form")(lambda ack: ack())

    def forget(self) -> None:
        super().forget()
        self.form, self.after = modal("First"), {}

    def on_home(self, event: Json, client: WebClient) -> None:
        if event["tab"] == "home":
            client.views_publish(user_id=event["user"], view=home(actions("open")))

    def on_open(self, ack: Any, body: Json, client: WebClient) -> None:
        ack()
        client.views_open(trigger_id=body["trigger_id"], view=self.form)

    def on_form(self, ack: Any) -> None:
        ack(**self.after)


@pytest.fixture(scope="module")
def slack() -> Iterator[LocalSlack]:
    channels = [Channel(OPS, "ops"), Channel("C0SHARED", "shared", is_ext_shared=True)]
    with LocalSlack(members=MEMBERS, groups=[GROUP], channels=channels) as running:
        yield running


def test_a_direct_message_reaches_the_app_and_nobody_else(bot: Bot, ann: Person, bob: Person) -> None:
    channel = bot.client.conversations_open(users="U0ANN")["channel"]["id"]
    ann.writes("@Signoff back up auth_prod")
    bot.client.chat_postMessage(channel=channel, text="Between us")
    ann.sees("Between us")
    until(lambda: bot.events("message"))
    event = bot.events("message")[0]["event"]

    assert channel == ann.dm
    assert (event["channel"], event["channel_type"], event["user"]) == (ann.dm, "im", "U0ANN")
    assert bot.events("app_mention") == []
    assert "Between us" not in [body["text"] for body in bob.workspace.messages()]
    with pytest.raises(Refused, match="channel_not_found"):
        bob.says("let me in", channel=ann.dm)


def test_direct_messages_are_opened_with_living_people_only(api: WebClient) -> None:
    assert refused(lambda: api.conversations_open(users="U0OLD")) == "user_disabled"
    assert refused(lambda: api.conversations_open(users="U0SIGNOFF")) == "cannot_dm_bot"
    assert refused(lambda: api.conversations_open(users="U0NOBODY")) == "user_not_found"
    assert refused(lambda: api.api_call("conversations.open")) == "users_list_not_supplied"


def test_the_home_tab_is_published_when_it_is_opened(bot: Bot, ann: Person, bob: Person) -> None:
    ann.opens_home()
    first = ann.home()
    ann.opens_home()
    until(lambda: len(bot.events("app_home_opened")) == 2)
    opened = [body["event"] for body in bot.events("app_home_opened")]

    assert (opened[0]["tab"], opened[0]["channel"]) == ("home", ann.dm)
    assert "view" not in opened[0]
    assert opened[1]["view"]["id"] == first["id"]
    assert [view["user"] for view in bob.workspace.state()["homes"]] == ["U0ANN"]


def test_a_button_of_the_home_tab_opens_a_form(bot: Bot, ann: Person) -> None:
    ann.opens_home()
    assert ann.clicks_at_home("open").acked
    click = bot.sent("block_actions")[0]

    assert ann.view()["title"]["text"] == "First"
    assert (click["container"]["type"], click["view"]["type"]) == ("view", "home")
    assert "message" not in click


def test_a_home_tab_is_refused_like_slack_does(api: WebClient, ann: Person) -> None:
    old = api.views_publish(user_id="U0ANN", view=home())["view"]
    api.views_publish(user_id="U0ANN", view=home(), hash=old["hash"])
    plan = {"type": "plan", "title": "x", "tasks": [{"task_id": "1", "title": "x", "status": "pending"}]}
    late = {"user_id": "U0ANN", "view": home(), "hash": old["hash"]}

    assert refused(lambda: api.views_publish(**late)) == "hash_conflict"
    assert refused(lambda: api.views_publish(user_id="U0ANN", view=home(plan))) == "invalid_arguments"
    assert refused(lambda: api.views_publish(user_id="U0ANN", view=modal("x"))) == "invalid_arguments"
    assert refused(lambda: api.views_publish(user_id="U0NOBODY", view=home())) == "user_not_found"


def test_views_are_stacked_three_deep_and_left_one_by_one(bot: Bot, ann: Person) -> None:
    bot.client.chat_postMessage(channel=OPS, text="x", blocks=[actions("open")])
    bot.after = {"response_action": "push", "view": modal("Next")}
    ann.clicks("open")
    first = ann.view()
    ann.fills({})
    ann.fills({})
    third = ann.workspace.wait(lambda s: s["views"][-1] if len(s["views"]) == 3 else None, "a third view")

    assert ann.fills({}).error == "push_limit_reached"
    assert third["root_view_id"] == first["id"]
    bot.after = {}
    ann.fills({})
    assert ann.view()["previous_view_id"] == first["id"]
    ann.closes(everything=True)
    assert ann.workspace.state()["views"] == []


def test_leaving_the_whole_stack_tells_the_app_of_every_view_that_asked(bot: Bot, ann: Person) -> None:
    bot.client.chat_postMessage(channel=OPS, text="x", blocks=[actions("open")])
    bot.form = modal("Told", notify_on_close=True)
    bot.after = {"response_action": "push", "view": bot.form}
    ann.clicks("open")
    ann.fills({})
    views = ann.workspace.wait(lambda s: s["views"] if len(s["views"]) == 2 else None, "two views")
    ann.closes(everything=True)
    closed = bot.sent("view_closed")

    assert [(body["view"]["id"], body["is_cleared"]) for body in closed] == [
        (views[1]["id"], True),
        (views[0]["id"], True),
    ]


def test_an_external_id_belongs_to_one_view(bot: Bot, api: WebClient) -> None:
    view = home() | {"external_id": "home-of-ann"}
    api.views_publish(user_id="U0ANN", view=view)
    api.views_publish(user_id="U0ANN", view=view)

    assert refused(lambda: api.views_publish(user_id="U0BOB", view=view)) == "duplicate_external_id"


NUMBER = {"type": "number_input", "is_decimal_allowed": False, "min_value": "1", "max_value": "9"}


def test_a_form_takes_numbers_times_and_people(bot: Bot, ann: Person) -> None:
    bot.form = modal(
        "Edit",
        field("count", NUMBER),
        field("when", {"type": "datetimepicker", "initial_date_time": 1767225600}),
        field("who", {"type": "multi_users_select", "initial_users": ["U0BOB"]}),
    )
    bot.client.chat_postMessage(channel=OPS, text="x", blocks=[actions("open")])
    ann.clicks("open")

    assert ann.fills({"count": "ten"}).errors == {"count": "Please enter a number."}
    assert ann.fills({"count": "1.5"}).errors == {"count": "Please enter a whole number."}
    assert ann.fills({"count": "10"}).errors == {"count": "Please enter a number of at most 9."}
    assert ann.fills({"count": 3, "who": ["U0ANN"]}).acked
    values = bot.sent("view_submission")[0]["view"]["state"]["values"]
    assert values["count"]["value"] == {"type": "number_input", "value": "3"}
    assert values["when"]["value"]["selected_date_time"] == 1767225600
    assert values["who"]["value"]["selected_users"] == ["U0ANN"]


def test_a_picture_is_uploaded_into_a_thread(api: WebClient, ann: Person) -> None:
    root = api.chat_postMessage(channel=OPS, text="root")["ts"]
    api.files_upload_v2(
        channel=OPS,
        thread_ts=root,
        filename="timeline.png",
        content=picture(),
        title="Timeline",
        initial_comment="How it went",
    )
    file = ann.file("timeline.png")
    reply = ann.workspace.thread(root)[1]

    assert (file["mimetype"], file["original_w"], file["original_h"]) == ("image/png", 4, 3)
    assert ann.workspace.download(file) == picture()
    assert readable(reply) == "How it went\n[timeline.png] Timeline"
    assert api.conversations_replies(channel=OPS, ts=root)["messages"][1]["files"][0]["id"] == file["id"]
    assert [body["ts"] for body in ann.workspace.messages()] == [root]


def test_an_image_block_shows_an_uploaded_picture_only(api: WebClient, ann: Person) -> None:
    api.files_upload_v2(filename="timeline.png", content=picture())
    log = api.files_upload_v2(filename="run.log", content="line\n" * 9)["file"]
    shown = api.files_upload_v2(filename="timeline.png", content=picture())["file"]

    def post(file_id: str) -> object:
        image = {"type": "image", "alt_text": "The timeline", "slack_file": {"id": file_id}}
        return api.chat_postMessage(channel=OPS, text="x", blocks=[image])

    assert post(shown["id"])
    assert refused(lambda: post(log["id"])) == "invalid_blocks"
    assert refused(lambda: post("F0NONE")) == "invalid_blocks"
    assert (log["lines"], log["lines_more"]) == (9, 3)


def test_an_upload_must_be_what_was_announced(api: WebClient, slack: LocalSlack) -> None:
    asked = api.files_getUploadURLExternal(filename="run.log", length=5)
    files = [{"id": asked["file_id"], "title": "Log"}]

    assert refused(lambda: api.files_completeUploadExternal(files=files)) == "file_not_found"
    assert refused(lambda: api.files_getUploadURLExternal(filename="", length=0)) == "invalid_arguments"
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(asked["upload_url"], b"too long", timeout=5)  # noqa: S310 - our own address
    with caught.value as answer:
        assert (answer.code, answer.read()) == (400, b"invalid_length")


def test_a_group_names_its_living_members(api: WebClient, workspace: WorkspaceClient) -> None:
    assert api.usergroups_users_list(usergroup="S0ONCALL")["users"] == ["U0ANN"]
    workspace.change_group("S0ONCALL", users=["U0BOB"])
    assert api.usergroups_users_list(usergroup="S0ONCALL")["users"] == ["U0BOB"]
    workspace.change_group("S0ONCALL", users=list(GROUP.users))
    assert refused(lambda: api.usergroups_users_list(usergroup="S0NONE")) == "no_such_subteam"


def test_an_archived_channel_is_read_and_not_written(api: WebClient, workspace: WorkspaceClient) -> None:
    ts = api.chat_postMessage(channel=OPS, text="before")["ts"]
    workspace.change_channel(OPS, is_archived=True)
    codes = [
        refused(lambda: api.chat_postMessage(channel=OPS, text="x")),
        refused(lambda: api.chat_update(channel=OPS, ts=ts, text="x")),
        refused(lambda: api.reactions_add(channel=OPS, timestamp=ts, name="eyes")),
    ]
    history = api.conversations_history(channel=OPS)["messages"]
    workspace.change_channel(OPS, is_archived=False)

    assert codes == ["is_archived", "is_inactive", "is_archived"]
    assert [message["text"] for message in history] == ["before"]


def test_an_app_that_was_removed_hears_and_says_nothing(bot: Bot, ann: Person) -> None:
    ann.workspace.change_channel(OPS, has_bot=False)
    ann.says("@Signoff are you there?")
    codes = [
        refused(lambda: bot.client.chat_postMessage(channel=OPS, text="x")),
        refused(lambda: bot.client.conversations_history(channel=OPS)),
    ]
    ann.workspace.change_channel(OPS, has_bot=True)
    ann.says("and now?")
    until(lambda: bot.events("message"))

    assert codes == ["not_in_channel", "not_in_channel"]
    assert [body["event"]["text"] for body in bot.events("message")] == ["and now?"]


def test_a_shared_channel_and_its_strangers_are_marked(bot: Bot, workspace: WorkspaceClient) -> None:
    workspace.person("U0EVE").says("hello", channel="C0SHARED")
    until(lambda: bot.events("message"))
    heard = bot.events("message")[0]
    eve = bot.client.users_info(user="U0EVE")["user"]

    assert (heard["is_ext_shared_channel"], heard["event"]["team"]) == (True, "T0OTHER")
    assert (eve["is_stranger"], eve["team_id"]) == (True, "T0OTHER")


def test_a_channel_says_what_it_is(api: WebClient) -> None:
    shared = api.conversations_info(channel="C0SHARED")["channel"]
    direct = api.conversations_info(channel="D0ANN")["channel"]

    assert (shared["is_channel"], shared["is_ext_shared"], shared["is_member"]) == (True, True, True)
    assert (direct["is_im"], direct["user"]) == (True, "U0ANN")


def test_reactions_are_counted_once_per_user(api: WebClient, ann: Person) -> None:
    ts = ann.says("please").payload["ts"]
    api.reactions_add(channel=OPS, timestamp=ts, name="eyes")

    assert refused(lambda: api.reactions_add(channel=OPS, timestamp=ts, name="eyes")) == "already_reacted"
    assert refused(lambda: api.reactions_add(channel=OPS, timestamp=ts, name="Eyes!")) == "invalid_name"
    assert refused(lambda: api.reactions_add(channel=OPS, timestamp="1.0", name="x")) == "message_not_found"
    assert ann.workspace.messages()[0]["reactions"] == [{"name": "eyes", "users": ["U0SIGNOFF"], "count": 1}]


def test_a_restart_keeps_files_and_home_tabs(tmp_path: Path) -> None:
    path = tmp_path / "slack.db"
    with LocalSlack(members=MEMBERS, path=path) as first:
        api = WebClient(first.bot_token, base_url=first.api_url)
        api.views_publish(user_id="U0ANN", view=home(actions("open")))
        api.files_upload_v2(channel=OPS, filename="timeline.png", content=picture())
    with LocalSlack(members=MEMBERS, path=path) as second:
        ann = second.client().person("U0ANN")

        assert ann.home()["blocks"][0]["elements"][0]["action_id"] == "open"
        assert ann.workspace.download(ann.file("timeline.png")) == picture()
