"""The doctor tries what it claims, changes nothing, and tells nobody to overwrite their file."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from cryptography.fernet import Fernet
from sqlalchemy import text

from bot.cli.doctor import SCOPES
from bot.local.server import LocalSlack
from bot.local.shapes import Member
from bot.policy.totp import Safe
from storage.clock import wall
from storage.database.engine import migrate, open_engine
from tests.support.places import ROOT
from tests.support.samples.without import without
from tests.support.store import Store
from tests.support.terminal import typed
from tests.support.world import environment

CONFIG = 'workers = []\n[people]\napprovers = ["U0BOB"]\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "signoff.toml").write_text(CONFIG)
    return tmp_path


def database(home: Path) -> Store:
    engine = open_engine(f"sqlite:///{home / 'signoff.db'}")
    migrate(engine)
    return Store(engine, wall)


def test_it_makes_nothing_where_nothing_is(home: Path) -> None:
    said = typed(home, "doctor").stdout

    assert "signoff.db is not there yet; the first start makes it" in said
    assert [one.name for one in home.iterdir()] == ["signoff.toml"]


@pytest.mark.parametrize(
    "words", [["plans"], ["show", "1"], ["stats"], ["policy", "test"], ["audit", "export"],
              ["audit", "verify", "1"], ["factor", "list"], ["approve", "1"]],
)  # fmt: skip
def test_nor_does_any_command_that_only_looks(home: Path, words: list[str]) -> None:
    ran = typed(home, *words)

    assert ran.returncode == 1
    assert ran.stderr.startswith("There is no database at ")
    assert [one.name for one in home.iterdir()] == ["signoff.toml"]


@pytest.mark.parametrize(("version", "code"), [("0001", "•"), ("9999", "✗")])
def test_it_leaves_another_releases_schema_as_it_is(home: Path, version: str, code: str) -> None:
    store = database(home)
    with store.engine.begin() as c:
        c.execute(text("UPDATE alembic_version SET version_num = :v"), {"v": version})
    said = typed(home, "doctor").stdout
    with store.engine.begin() as c:
        found = c.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
    store.engine.dispose()

    assert f"{code} database: " in said
    assert found == version


@pytest.mark.parametrize(("token", "told"), [("", True), ("xoxb-board", False)])
def test_a_board_that_cannot_ask_who_people_are_is_told(home: Path, token: str, told: bool) -> None:
    said = typed(home, "doctor", SIGNOFF_BOARD_PORT="8790", SIGNOFF_BOARD_TOKEN=token).stdout

    assert ("✗ board: SIGNOFF_BOARD_TOKEN is not set" in said) is told


def test_it_never_tells_to_overwrite_a_file_that_is_there(home: Path) -> None:
    (home / "signoff.toml").write_text("[peple]\n")
    broken = typed(home, "doctor").stdout
    (home / "signoff.toml").unlink()
    absent = typed(home, "doctor").stdout

    assert "cp" not in broken
    assert "→ mend it there" in broken
    assert "→ signoff init" in absent


def test_ids_of_the_example_are_found(home: Path) -> None:
    (home / "signoff.toml").write_text((ROOT / "signoff.example.toml").read_text("utf-8"))
    ran = typed(home, "doctor")

    assert "✗ ids: U0123456788, U0123456789 only stand for yours" in ran.stdout
    assert ran.returncode == 1


@pytest.mark.parametrize(
    "entry",
    [
        '[hooks.x]\nkind = "standard"\nsecret_env = ["SIGNOFF_HOOK_X"]\nchannel = "C0OPS"\nowner = "U0BOB"\n'
        '[[hooks.x.routes]]\nrunbook = "service-status"\n',
        '[events.x]\nurl = "https://listener.example.com"\nsecret_env = "SIGNOFF_EVENTS_X"\n',
        '[oncall.x]\nprovider = "pagerduty"\ntoken_env = "SIGNOFF_ONCALL_X"\nschedule = "P1"\n',
    ],
)
def test_a_secret_without_which_the_bot_does_not_start_is_missed(home: Path, entry: str) -> None:
    (home / "signoff.toml").write_text(CONFIG + entry)
    (name,) = re.findall(r"SIGNOFF_[A-Z_]+", entry)
    without, given = (typed(home, "doctor", **{name: secret}).stdout for secret in ("", "a" * 16))

    assert "✗ secrets: [" in without
    assert name in without
    assert "secrets" not in given


def test_checkpoints_that_could_not_be_written_are_missed(home: Path) -> None:
    usual = typed(home, "doctor").stdout
    (home / "a-file").touch()
    with (home / "signoff.toml").open("a") as config:
        config.write(f'[audit]\nfile = "{home}/a-file/checkpoints.jsonl"\n')

    assert f"• checkpoints: {home}/a-file/checkpoints.jsonl cannot be written" in typed(home, "doctor").stdout
    assert "• checkpoints" not in usual


def test_a_key_that_does_not_open_what_is_enrolled_is_said(home: Path) -> None:
    key, other = (Fernet.generate_key().decode() for _ in range(2))
    store = database(home)
    store.enrol("U0BOB", Safe(key).seal("U0BOB", b"x"), 1, actor="me")
    store.engine.dispose()

    assert "✓ second factors: the key opens all 1" in typed(home, "doctor", SIGNOFF_FACTOR_KEY=key).stdout
    assert (
        "✗ second factors: The second factor of U0BOB"
        in typed(home, "doctor", SIGNOFF_FACTOR_KEY=other).stdout
    )


def test_scopes_that_were_not_granted_are_named(home: Path) -> None:
    manifest = yaml.safe_load((ROOT / "manifest.yml").read_text("utf-8"))
    with LocalSlack(members=[Member("U0BOB", "bob", "Bob")], scopes=SCOPES - {"files:write"}) as slack:
        tokens = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        lacks = typed(home, "doctor", SLACK_API_URL=slack.api_url, **tokens)

    assert frozenset(manifest["oauth_config"]["scopes"]["bot"]) == SCOPES
    assert "✗ Slack scopes: not granted: files:write" in lacks.stdout


def test_what_the_workers_need_is_tried_by_them(home: Path) -> None:
    there = home / "auth.db"
    database(home).engine.dispose()
    (home / "signoff.db").rename(there)
    (home / "signoff.toml").write_text(
        CONFIG.replace("workers = []", 'workers = ["db-backup"]')
        + f'[inventory.databases.auth]\nkind = "sqlite"\npath = "{there}"\ndirectory = "{home}/backups"\n'
        + f'[inventory.databases.gone]\nkind = "sqlite"\npath = "{home}/none"\ndirectory = "{there}/x"\n'
        + '[inventory.databases.far]\nkind = "postgres"\nurl_env = "FAR"\ndirectory = "."\n'
    )
    said = typed(home, "doctor", FAR="postgresql://nobody@127.0.0.1:1/none").stdout

    assert "✓ database auth: can be used" in said
    assert "✓ backups of auth: can be used" in said
    assert "✗ database gone: The database file" in said
    assert f"✗ backups of gone: The workers may not write to {there}" in said
    assert "✗ database far: " in said
    assert "What needs this would fail: database gone, backups of gone, database far." in said


def test_it_names_every_extra_that_this_configuration_misses(home: Path) -> None:
    clusters = '[inventory.clusters.main]\nkind = "kubernetes"\n'
    (home / "signoff.toml").write_text(
        CONFIG.replace("[]", '["k8s-deployer", "data-processing"]', 1) + clusters
    )
    extras = without(home / "site", "kubernetes", "duckdb", "PIL", "cryptography")
    env = environment(home, SIGNOFF_FACTOR_KEY=Fernet.generate_key().decode(), **extras)

    ran = subprocess.run(
        [sys.executable, "-m", "bot", "doctor"],
        env=env,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (
        "✗ worker k8s-deployer: The client for Kubernetes is not installed. Install signoff[kubernetes]."
        in ran.stdout
    )
    assert "✗ worker data-processing: DuckDB is not installed. Install signoff[data]." in ran.stdout
    assert (
        "• pictures: finished plans are told without one. Pillow is not installed. Install signoff[demo]."
        in ran.stdout
    )
    assert "✗ second factors: SIGNOFF_FACTOR_KEY cannot be used" in ran.stdout
    assert "Install signoff[factors]." in ran.stdout
    assert ran.stderr == ""


def test_a_system_without_time_zones_is_told_of_the_extra_and_not_to_mend_the_file(home: Path) -> None:
    env = environment(home, PYTHONTZPATH="", **without(home / "site", "tzdata"))
    command = [sys.executable, "-m", "bot", "doctor"]
    ran = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)

    told = "This system has no time zones. The package tzdata is not installed. Install signoff[zones]."
    assert ran.stdout.splitlines()[0] == f"✗ configuration: {told}"
    assert "mend it there" not in ran.stdout
