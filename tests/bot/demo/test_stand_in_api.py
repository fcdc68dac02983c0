"""`signoff demo --model` without a key: the stand-in answers by the real SDK, and is called what it is."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.demo.run import thinking
from bot.demo.seed import STAND_IN, name_stand_in
from bot.demo.stand_in_api import KEY
from bot.planner.evaluation import config, contracts
from bot.planner.model.calls import connect
from bot.planner.model.claude import claude
from bot.planner.model.usage import prices
from bot.planner.model.wire import Inquiry
from storage.config import read_config

pytestmark = pytest.mark.model
NOW = datetime(2026, 11, 15, 23, tzinfo=UTC)


# What the demo itself asks for: its plans of yesterday, and its stories.
WISHES = (
    "back up auth_prod",
    "run the full tests on staging",
    "scale auth-service to 3 in production",
    "back up auth_prod tonight at 2am ET",
    "deploy auth-service v2.1.4 to production tonight at 2am ET",
)


def test_without_a_key_the_stand_in_plans_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "signoff.toml").write_text('[people]\napprovers = ["U0BOB"]\n')
    name_stand_in(tmp_path, there=True)
    name_stand_in(tmp_path, there=True)
    chosen = read_config(tmp_path / "signoff.toml").model
    with thinking({"PATH": "/bin"}) as env:
        client = connect(env["ANTHROPIC_API_KEY"], url=env["ANTHROPIC_BASE_URL"])
        asked = claude(client, chosen, "plan", prices(chosen), lambda model, usage: None)
        told = [asked.plan(wish, contracts(), config(), NOW) for wish in WISHES]
        look = asked.plan("add 2 replicas to auth-service", contracts(), config(), NOW)
        made = asked.plan("which version of auth-service runs?", contracts(), config(), NOW)
        client.close()

    assert env["ANTHROPIC_API_KEY"] == KEY
    assert [step.worker for plan in told for step in plan.spec.steps][:3] == [
        "db-backup", "test-runner", "k8s-deployer",
    ]  # fmt: skip
    assert all(plan.spec.steps[-1].schedule.at for plan in told[3:])
    assert isinstance(look, Inquiry)
    assert made.note == "planned by stand-in"  # type: ignore[union-attr] # a plan has one
    name_stand_in(tmp_path, there=False)
    assert STAND_IN not in (tmp_path / "signoff.toml").read_text()


def test_with_a_key_the_real_one_plans_and_nothing_stands_in() -> None:
    given = {"ANTHROPIC_API_KEY": "sk-x", "HTTPS_PROXY": "http://proxy", "HOME": "/root"}
    with thinking(given) as env:
        assert env == {"ANTHROPIC_API_KEY": "sk-x", "HTTPS_PROXY": "http://proxy"}
