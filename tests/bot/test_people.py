"""Who somebody is: asked of Slack, remembered shortly, and refused when Slack does not say."""

from types import SimpleNamespace
from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.web import SlackResponse

from bot import people
from bot.people import People, Unidentified, barred

MEMBER = {"id": "UBOB", "team_id": "T1", "deleted": False}


class Slack(WebClient):
    """Answers from what a test has put there, and counts."""

    def __init__(self) -> None:
        self.users: dict[str, dict[str, Any]] = {"UBOB": MEMBER}
        self.groups = {"SDBA": ["UBOB"]}
        self.shared = False
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
        return self._answer("conversations.info", channel={"id": channel, "is_ext_shared": self.shared})


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(people.time, "monotonic", lambda: now[0])
    return now


def test_a_person_has_the_groups_that_policy_names_and_they_are_in():
    slack = Slack()
    slack.groups["SOPS"] = []

    assert People(slack, "T1", groups=("SDBA", "SOPS")).actor("UBOB").groups == {"SDBA"}
    assert People(Slack(), "T1").actor("UBOB").groups == frozenset()


def test_who_was_removed_from_a_group_is_out_of_it_within_a_minute(clock):
    slack = Slack()
    found = People(slack, "T1", groups=("SDBA",))
    assert found.actor("UBOB", fresh=True).groups
    slack.groups["SDBA"] = []
    clock[0] += people.REMEMBER

    assert not found.actor("UBOB", fresh=True).groups


def test_where_it_counts_who_was_removed_from_a_group_is_out_of_it_as_soon_as_slack_may_be_asked(clock):
    slack = Slack()
    slack.groups["SOPS"] = []
    found = People(slack, "T1", groups=("SDBA", "SOPS"))
    assert found.actor("UBOB", fresh=True).groups
    slack.groups["SDBA"] = []
    clock[0] += 2 * people.GROUP  # two groups: Slack answers twenty questions a minute in all

    assert found.actor("UBOB").groups
    assert not found.actor("UBOB", fresh=True).groups


def test_a_group_is_asked_for_once_a_minute_and_a_person_each_time_it_counts(clock):
    slack = Slack()
    found = People(slack, "T1", groups=("SDBA",))
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
        getattr(People(slack, "T1"), ask)("CBOB")


def test_a_group_that_is_not_there_refuses_the_person():
    slack = Slack()
    found = People(slack, "T1", groups=("SDBA",))
    found.actor("UBOB", fresh=True)
    found._known.clear()
    slack.down = "no_such_subteam"

    with pytest.raises(Unidentified):
        found.actor("UBOB")


def test_a_channel_that_is_opened_to_others_is_noticed_within_seconds(clock):
    slack = Slack()
    found = People(slack, "T1")
    assert not found.outside("C1")
    slack.shared = True
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
    found = barred(MEMBER | facts, "T1")

    assert said in found
    assert bool(found) is bool(said)


def test_a_member_of_another_enterprise_is_no_member():
    assert barred(MEMBER | {"enterprise_user": {"enterprise_id": "E1"}}, "T1", "E1") == ""
    assert barred(MEMBER, "T1", "E1") != ""
