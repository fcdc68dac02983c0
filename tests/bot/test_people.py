"""Who somebody is: asked of Slack, remembered shortly, and refused when Slack does not say."""

from types import SimpleNamespace
from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.web import SlackResponse

from bot import people
from bot.people import Home, People, Unidentified, barred

MEMBER = {"id": "UBOB", "team_id": "T1", "deleted": False}


class Slack(WebClient):
    """Answers from what a test has put there, and counts."""

    def __init__(self) -> None:
        self.users: dict[str, dict[str, Any]] = {"UBOB": MEMBER}
        self.groups = {"SDBA": ["UBOB"]}
        self.marks: dict[str, Any] = {"is_private": False}
        self.rooms: dict[str, list[str]] = {}
        self.calls: list[str] = []
        self.down = ""

    def _answer(self, name: str, **found: Any) -> Any:
        self.calls.append(name)
        if self.down:
            raise SlackApiError(self.down, SimpleNamespace(data={"ok": False, "error": self.down}))
        return found

    def users_info(self, *, user: str, **_: Any) -> SlackResponse:
        return self._answer("users.info", user=self.users.get(user))

    def usergroups_users_list(self, *, usergroup: str, **_: Any) -> SlackResponse:
        return self._answer("usergroups.users.list", users=self.groups.get(usergroup))

    def conversations_info(self, *, channel: str, **_: Any) -> SlackResponse:
        return self._answer("conversations.info", channel={"id": channel, **self.marks})

    def users_conversations(self, *, user: str, cursor: str, **_: Any) -> SlackResponse:
        rooms, start = self.rooms.get(user, []), int(cursor or 0)
        more = str(start + 1) if start + 1 < len(rooms) else ""
        page = [{"id": room} for room in rooms[start : start + 1]]
        return self._answer("users.conversations", channels=page, response_metadata={"next_cursor": more})


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(people.time, "monotonic", lambda: now[0])
    return now


def test_a_person_has_the_groups_that_policy_names_and_they_are_in():
    slack = Slack()
    slack.groups["SOPS"] = []

    assert People(slack, Home("T1"), groups=("SDBA", "SOPS")).actor("UBOB").groups == {"SDBA"}
    assert People(Slack(), Home("T1")).actor("UBOB").groups == frozenset()


def test_who_was_removed_from_a_group_is_out_of_it_within_a_minute(clock):
    slack = Slack()
    found = People(slack, Home("T1"), groups=("SDBA",))
    assert found.actor("UBOB", fresh=True).groups
    slack.groups["SDBA"] = []
    clock[0] += people.REMEMBER

    assert not found.actor("UBOB", fresh=True).groups


def test_where_it_counts_who_was_removed_from_a_group_is_out_of_it_as_soon_as_slack_may_be_asked(clock):
    slack = Slack()
    slack.groups["SOPS"] = []
    found = People(slack, Home("T1"), groups=("SDBA", "SOPS"))
    assert found.actor("UBOB", fresh=True).groups
    slack.groups["SDBA"] = []
    clock[0] += 2 * people.GROUP  # two groups: Slack answers twenty questions a minute in all

    assert found.actor("UBOB").groups
    assert not found.actor("UBOB", fresh=True).groups


def test_a_group_is_asked_for_once_a_minute_and_a_person_each_time_it_counts(clock):
    slack = Slack()
    found = People(slack, Home("T1"), groups=("SDBA",))
    for _ in range(5):
        found.actor("UBOB", fresh=True)
        found.actor("UBOB")

    assert slack.calls.count("usergroups.users.list") == 1
    assert slack.calls.count("users.info") == 5


@pytest.mark.parametrize("ask", ["actor", "members", "outside"])
def test_what_slack_does_not_say_is_refused(ask):
    slack = Slack()
    slack.down = "internal_error"

    with pytest.raises(Unidentified, match=r"I could not check .* \(internal_error\), so nothing was done"):
        getattr(People(slack, Home("T1")), ask)("CBOB")


def test_a_group_that_is_not_there_refuses_the_person():
    slack = Slack()
    found = People(slack, Home("T1"), groups=("SDBA",))
    found.actor("UBOB", fresh=True)
    found._known.clear()
    slack.down = "no_such_subteam"

    with pytest.raises(Unidentified):
        found.actor("UBOB")


def test_a_channel_that_is_opened_to_others_is_noticed_within_seconds(clock):
    slack = Slack()
    found = People(slack, Home("T1"))
    assert not found.outside("C1")
    slack.marks["is_ext_shared"] = True
    clock[0] += people.REFUSED

    assert found.outside("C1")
    assert not found.outside("D1")


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"deleted": True}, "deactivated"),
        ({"is_bot": True}, "Bots"),
        ({"id": "USLACKBOT"}, "Bots"),
        ({"is_restricted": True}, "Guests"),
        ({"is_ultra_restricted": True}, "Guests"),
        ({"team_id": "T2"}, "Only members"),
        ({"is_stranger": True}, "Only members"),
        ({"enterprise_user": {"enterprise_id": "E2"}}, "Only members"),
        ({}, ""),
    ],
    ids=str,
)
def test_who_may_do_nothing_hears_why(facts, said):
    found = barred(MEMBER | facts, Home("T1"))

    assert said in found
    assert bool(found) is bool(said)


def test_a_member_of_another_enterprise_is_no_member():
    assert barred(MEMBER | {"enterprise_user": {"enterprise_id": "E1"}}, Home("T1", "E1")) == ""
    assert barred(MEMBER, Home("T1", "E1")) != ""


@pytest.mark.parametrize(
    ("marks", "shared"),
    [
        ({"is_ext_shared": True}, True),
        ({"is_pending_ext_shared": True}, True),
        ({"pending_shared": ["T9"]}, True),
        ({"pending_connected_team_ids": ["T9"]}, True),
        ({"is_shared": True}, True),
        ({"is_shared": True, "is_org_shared": True}, False),
        ({"is_shared": True, "is_org_shared": True, "is_pending_ext_shared": True}, True),
        ({"is_ext_shared": False, "pending_shared": [], "is_pending_ext_shared": False}, False),
    ],
    ids=str,
)
def test_a_channel_is_shared_as_soon_as_another_organisation_is_invited(marks, shared):
    slack = Slack()
    slack.marks |= marks

    assert People(slack, Home("T1")).outside("C1") is shared


def test_at_a_decision_a_channel_is_looked_at_afresh_and_silence_refuses(clock):
    slack = Slack()
    found = People(slack, Home("T1"))
    assert not found.outside("C1")
    slack.marks["is_pending_ext_shared"] = True
    clock[0] += people.PLACE  # as soon as Slack may be asked
    assert not found.outside("C1")
    assert found.outside("C1", fresh=True)

    slack.down = "internal_error"
    clock[0] += people.REFUSED
    with pytest.raises(Unidentified):
        found.outside("C1", fresh=True)


def test_a_public_channel_is_read_by_all_and_a_private_one_by_those_who_are_in_it(clock):
    slack = Slack()
    slack.rooms["UBOB"] = ["G7", "G8", "G9"]  # on three pages
    found = People(slack, Home("T1"))
    assert found.reads("UEVE", "C1")

    slack.marks["is_private"] = True
    assert [found.reads("UBOB", room) for room in ("G9", "G5")] == [True, False]
    assert not found.reads("UEVE", "G9")
    assert not found.reads("UBOB", "D1")


@pytest.mark.parametrize("marks", [{}, {"is_private": None}, {"is_private": False, "is_mpim": True}], ids=str)
def test_what_does_not_say_that_it_is_public_is_not(marks):
    slack = Slack()
    slack.marks = marks

    assert not People(slack, Home("T1")).reads("UEVE", "C1")


def test_where_slack_does_not_say_who_reads_a_channel_nobody_does():
    slack = Slack()
    slack.down = "channel_not_found"

    assert not People(slack, Home("T1")).reads("UBOB", "C1")


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({"profile": {"email": "Ann@Example.org"}}, "ann@example.org"),
        ({"profile": {"email": "ann@example.org"}, "enterprise_user": {"id": "WANN"}}, "wann"),
        ({"profile": {}}, ""),
        ({}, ""),
    ],
    ids=str,
)
def test_who_is_behind_an_account_is_what_slack_tells_of_it(facts, found):
    slack = Slack()
    slack.users["UBOB"] = MEMBER | facts

    assert People(slack, Home("T1")).actor("UBOB").person == found
