"""`signoff policy`: which rules speak of a recorded plan, and what a changed signoff.toml would change."""

from pathlib import Path

import pytest

from bot.cli.policy import main
from bot.config import BotSettings
from storage.clock import wall
from storage.database.engine import migrate, open_engine
from storage.errors import SignoffError
from tests.support.fakes import DEPLOY, approve, plan_spec, propose, step
from tests.support.store import Store

PLAIN = '[people]\napprovers = ["BOB", "CAROL"]\n'
STRICT = (
    PLAIN
    + """
[[policy.rules]]
name = "two for production"
reason = "one pair of eyes is not enough"
when = { environment = "production", effect = "changes" }
require = { approvals = 2, second_factor = true, window = "nightly", within_hours = 8 }
[[policy.rules]]
name = "in a fire"
reason = "somebody must be able to"
break_glass = { overrides = ["freeze"], from = ["CAROL"] }
[windows.nightly]
start = 02:00:00
hours = 2
zone = "UTC"
"""
)


@pytest.fixture
def settings(tmp_path: Path) -> BotSettings:
    found = BotSettings(state=tmp_path, config=tmp_path / "signoff.toml", database_url="")
    found.config.write_text(PLAIN)
    engine = open_engine(found.database)
    migrate(engine)
    store = Store(engine, wall)
    propose(store, plan_spec(step("s1"), step("s2", DEPLOY)), expires_at=wall().replace(year=2099))
    propose(store, plan_spec(step("s1")), needed=0, risk="low")
    approve(store, 1)
    return found


def events(settings: BotSettings) -> list[int]:
    store = Store(open_engine(settings.database), wall)
    return [store.head(plan_id)[0] for plan_id in (0, 1, 2)]


def test_the_same_policy_changes_nothing(settings, capsys):
    assert main(settings, "test", "") == 0

    assert capsys.readouterr().out.endswith("; 0 would differ.\n")


def test_a_stricter_policy_is_told_plan_by_plan_and_nothing_else_happens(settings, capsys, tmp_path):
    (tmp_path / "new.toml").write_text(STRICT)
    before = events(settings)

    assert main(settings, "test", str(tmp_path / "new.toml")) == 0

    said = capsys.readouterr().out
    assert "plan 1: approvals: 1 from BOB or CAROL → 2 from BOB or CAROL\n" in said
    assert "plan 1: now a second factor\n" in said
    assert "plan 1: now: two for production: one pair of eyes is not enough (2 approvals, a second" in said
    assert "only in the window nightly, within 8 hours)\n" in said
    assert "plan 1: now, in an emergency, CAROL may override the freeze\n" in said
    assert "plan 1: the approvals that were given would not have sufficed\n" in said
    assert "plan 2" not in said
    assert said.endswith("; 1 would differ.\n")
    assert events(settings) == before


def test_a_policy_that_denies_and_one_that_does_not_parse(settings, capsys, tmp_path):
    (tmp_path / "new.toml").write_text(PLAIN + '[[policy.rules]]\nname="no"\nreason="never"\ndeny=true\n')
    main(settings, "test", str(tmp_path / "new.toml"))
    assert "plan 2: now denied: no: never\n" in capsys.readouterr().out
    (tmp_path / "new.toml").write_text("[[policy.rules]]\ndeny=true\n")

    with pytest.raises(SignoffError, match=r"policy\.rules\.0\.name"):
        main(settings, "test", str(tmp_path / "new.toml"))


def test_it_is_explained_which_rules_speak_and_who_may(settings, capsys):
    settings.config.write_text(STRICT)

    main(settings, "explain", "1")

    said = capsys.readouterr().out
    assert "s1: ops.check, reads, risk low\n    in a fire: somebody must be able to (in an emergency" in said
    assert (
        "s2: ops.deploy, changes service a in production, risk high\n    two for production: one pair" in said
    )
    assert "Needs 2 from BOB or CAROL, because two for production: one pair of eyes is not enough" in said
    assert "Each approval needs a second factor" in said
    assert "May not approve, as authors: ANN" in said
    assert "In an emergency, CAROL may override the freeze" in said
    assert "Approved by: BOB" in said


def test_without_rules_the_risk_is_what_decides(settings, capsys):
    main(settings, "explain", "1")

    assert "no rule speaks of it; risk high decides" in capsys.readouterr().out


def test_a_plan_is_named_by_its_number(settings):
    with pytest.raises(SignoffError, match="by its number"):
        main(settings, "explain", "the newest")
    with pytest.raises(SignoffError, match="There is no plan 99"):
        main(settings, "explain", "99")
