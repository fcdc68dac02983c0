"""Messages that go, links to them, reactions that are taken back, and who was notified of what."""

from slack_sdk import WebClient

from bot.local.client.person import Person, WorkspaceClient
from tests.support.local_kit import refused

OPS = "C0OPS"


def test_a_message_of_the_app_goes_and_anybody_elses_stays(api: WebClient, ann: Person) -> None:
    ts = api.chat_postMessage(channel=OPS, text="too early")["ts"]
    hers = ann.says("hello").payload["ts"]

    assert api.chat_delete(channel=OPS, ts=ts)["ts"] == ts
    assert refused(lambda: api.chat_delete(channel=OPS, ts=ts)) == "message_not_found"
    assert refused(lambda: api.chat_delete(channel=OPS, ts=hers)) == "cant_delete_message"
    assert [message["ts"] for message in ann.workspace.messages()] == [hers]


def test_a_thread_outlives_its_first_message_and_counts_what_is_left(api: WebClient, ann: Person) -> None:
    root = api.chat_postMessage(channel=OPS, text="root")["ts"]
    mine = api.chat_postMessage(channel=OPS, text="mine", thread_ts=root)["ts"]
    ann.says("hers", thread=root)
    api.chat_delete(channel=OPS, ts=mine)
    left = ann.workspace.thread(root)

    assert (left[0]["reply_count"], left[0]["reply_users"]) == (1, ["U0ANN"])
    api.chat_delete(channel=OPS, ts=root)
    assert [body["text"] for body in ann.workspace.thread(root)] == ["This message was deleted.", "hers"]
    assert refused(lambda: api.chat_delete(channel=OPS, ts=root)) == "cant_delete_message"


def test_a_permalink_leads_to_a_message_and_into_its_thread(api: WebClient) -> None:
    root = api.chat_postMessage(channel=OPS, text="root")["ts"]
    reply = api.chat_postMessage(channel=OPS, text="reply", thread_ts=root)["ts"]

    def link(ts: str) -> str:
        return str(api.chat_getPermalink(channel=OPS, message_ts=ts)["permalink"])

    assert link(root) == f"https://local.slack.com/archives/{OPS}/p{root.replace('.', '')}"
    assert link(reply).endswith(f"p{reply.replace('.', '')}?thread_ts={root}&cid={OPS}")
    assert refused(lambda: link("1.000001")) == "message_not_found"


def test_a_reaction_is_taken_back_once(api: WebClient, ann: Person) -> None:
    ts = ann.says("deploy it").payload["ts"]
    where = {"channel": OPS, "timestamp": ts, "name": "eyes"}
    api.reactions_add(**where)
    api.reactions_remove(**where)

    assert "reactions" not in ann.workspace.messages()[0]
    assert refused(lambda: api.reactions_remove(**where)) == "no_reaction"


def test_everybody_is_told_as_often_as_slack_rings(api: WebClient, ann: Person, bob: Person) -> None:
    root = api.chat_postMessage(channel=OPS, text="A plan of <@U0ANN>")["ts"]
    api.chat_update(channel=OPS, ts=root, text="<@U0BOB> may approve")
    api.chat_postEphemeral(channel=OPS, user="U0BOB", text="<@U0BOB>, not you")
    api.chat_postMessage(channel=OPS, thread_ts=root, text="Step 1 is done")
    api.chat_postMessage(channel=bob.dm, text="Something waits for you")
    bob.says("on it", thread=root)
    api.chat_postMessage(channel=OPS, thread_ts=root, text="Step 2 is done", reply_broadcast=True)

    assert [one["why"] for one in ann.notices()] == ["mention", "thread", "thread", "thread"]
    assert [one["why"] for one in bob.notices()] == ["direct", "thread"]


def test_an_empty_workspace_has_told_nobody(api: WebClient, ann: Person, workspace: WorkspaceClient) -> None:
    api.chat_postMessage(channel=OPS, text="<@U0ANN>")
    assert len(ann.notices()) == 1
    workspace.clear()
    assert ann.notices() == []
