"""Who is in the workspace of `signoff up --local`: you, and everybody whom the configuration names."""

from bot.demo.own import members
from storage.config import SignoffConfig


def test_people_are_called_by_what_they_may_do() -> None:
    config = SignoffConfig.model_validate(
        {"people": {"approvers": ["U0A", "U0B"], "admins": ["U0A", "U0C"]}, "workers": ["command"]}
    )

    assert [(one.real_name, one.is_admin) for one in members(config)] == [
        ("You", False), ("Approver 1", True), ("Approver 2", False), ("Admin 3", True),
    ]  # fmt: skip


def test_where_only_a_group_is_named_somebody_is_in_it() -> None:
    config = SignoffConfig.model_validate({"people": {"approvers": ["S0ONCALL"]}, "workers": ["command"]})

    assert [one.id for one in members(config)] == ["U0YOU", "U0APPROVER"]
