"""The commands as a person types them; those that serve, in their own processes."""

import argparse
import json
import socket
import subprocess
import sys
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import pytest

from bot.__main__ import parser
from bot.cli.supervise import siblings
from bot.demo.seed import plant
from bot.local.server import LocalSlack
from bot.local.shapes import Member
from storage.clock import wall
from storage.config import Settings
from storage.database.engine import migrate, open_engine
from tests.support.fakes import PLAN_JSON
from tests.support.places import ROOT
from tests.support.ports import ports
from tests.support.samples.second_factor import KEY
from tests.support.samples.without import forget
from tests.support.store import Store
from tests.support.terminal import typed
from tests.support.world import environment

OURS = json.loads(PLAN_JSON)
WELL_KNOWN = {
    "plan_id": "deploy-auth-2.1.4", "goal": "Deploy authentication service update to production",
    "steps": [
        {"id": "step-1", "action": "run_tests", "worker": "test-runner",
         "parameters": {"test_suite": "full", "environment": "staging"},
         "success_criteria": "all_tests_pass", "failure_action": "abort_deployment"},
        {"id": "step-2", "action": "backup_database", "worker": "db-manager",
         "parameters": {"database": "auth_prod", "backup_type": "full"}, "depends_on": ["step-1"]},
        {"id": "step-3", "action": "deploy_service", "worker": "k8s-deployer",
         "parameters": {"service": "auth-service", "version": "v2.1.4", "strategy": "blue_green"},
         "depends_on": ["step-2"], "rollback_plan": "rollback_to_previous"}],
    "estimated_duration": "15 minutes", "risk_level": "low",
}  # fmt: skip


def signoff(home: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "bot", *words]
    env = environment(home, **more)
    return subprocess.run(argv, env=env, cwd=home, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    plant(tmp_path, ports(4))
    return tmp_path


def checked(home: Path, document: object) -> subprocess.CompletedProcess[str]:
    (home / "plan.json").write_text(document if isinstance(document, str) else json.dumps(document))
    return typed(home, "plan", "plan.json")


@pytest.mark.parametrize("document", [OURS, WELL_KNOWN], ids=["ours", "well-known"])
def test_both_forms_of_a_plan_load_with_digest_and_computed_risk(home: Path, document: object) -> None:
    ran = checked(home, document)

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "digest: " in ran.stdout
    assert "risk: high" in ran.stdout
    assert "no problems found" in ran.stdout
    assert '"worker": "db-backup"' in ran.stdout
    assert '"failure_action": "abort"' in ran.stdout
    assert '"action": "rollback_service"' in ran.stdout


def test_the_well_known_form_says_what_was_computed_instead(home: Path) -> None:
    ran = checked(home, WELL_KNOWN)

    assert "risk_level: ignored" in ran.stdout
    assert "estimated_duration: ignored" in ran.stdout
    assert "'abort_deployment' is understood as 'abort'" in ran.stdout
    assert "rollback 'rollback_to_previous'" in ran.stdout


def test_every_problem_of_a_plan_is_named_with_its_place(home: Path) -> None:
    bad = json.loads(json.dumps(OURS))
    bad["steps"][0] |= {"worker": "test-runer", "depends_on": ["step-3"]}
    bad["steps"][1]["parameters"]["database"] = "auth_prd"
    bad["steps"][2]["schedule"] = {"window": "sometime"}
    ran = checked(home, bad)

    assert ran.returncode == 1
    assert "steps[0].worker: there is no worker 'test-runer' (did you mean 'test-runner'?)" in ran.stdout
    assert "steps: these steps wait for each other" in ran.stdout
    assert (
        "steps[1].parameters.database: 'auth_prd' is not in the inventory (did you mean 'auth_prod'?)"
        in ran.stdout
    )
    assert "steps[2].schedule: there is no window 'sometime'; known: nightly" in ran.stdout


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "a plan is a JSON object"),
        ('{"goal": "x"}', "steps"),
        ("\\ud800", "is not JSON"),
    ],
)
def test_a_file_that_is_no_plan_gets_a_sentence(home: Path, document: str, said: str) -> None:
    ran = checked(home, document)

    assert ran.returncode == 1
    assert said in ran.stdout
    assert "Traceback" not in ran.stdout + ran.stderr


def test_doctor_says_what_is_missing_and_how_to_mend_it(home: Path) -> None:
    ran = typed(home, "doctor")

    assert ran.returncode == 1
    assert "✓ approvers: U0BOB, U0CAROL" in ran.stdout
    assert "✗ Slack bot token: SLACK_BOT_TOKEN is not set" in ran.stdout
    assert "→ install the app from manifest.yml" in ran.stdout
    assert "The bot cannot run yet: Slack bot token, Slack app token." in ran.stdout


def test_doctor_is_content_when_the_bot_could_run(home: Path) -> None:
    with LocalSlack(members=[Member("U0BOB", "bob", "Bob")]) as slack:
        tokens = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        ran = typed(home, "doctor", SLACK_API_URL=slack.api_url, **tokens)
        wrong = typed(home, "doctor", SLACK_API_URL=slack.api_url, **tokens | {"SLACK_BOT_TOKEN": "xoxb-no"})

    assert ran.returncode == 0, ran.stdout
    assert "✓ Slack bot token: signoff in" in ran.stdout
    assert "The bot can run." in ran.stdout
    assert wrong.returncode == 1
    assert "not accepted: invalid_auth" in wrong.stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('approvers = ["U0BOB", "U0CAROL"]', "approvers = []"), "names no approvers"),
        (('zone = "America/New_York"', 'zone = "Mars/Base"'), "there is no time zone 'Mars/Base'"),
        (("hours = 2", "hours = 0"), "windows.nightly.hours"),
        (('"db-backup", ', '"db-bakup", '), "SLACK_BOT_TOKEN is not set"),
        (("[people]", "[people"), "cannot be read"),
    ],
)
def test_a_bot_that_must_not_run_says_why(home: Path, change: tuple[str, str], said: str) -> None:
    path = home / "signoff.toml"
    path.write_text(path.read_text().replace(*change))
    ran = signoff(home, "up")

    assert ran.returncode == 1
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr


def test_workers_refuse_a_name_that_is_not_installed(home: Path) -> None:
    path = home / "signoff.toml"
    path.write_text(path.read_text().replace('"db-backup", ', '"db-bakup", '))
    ran = subprocess.run([sys.executable, "-m", "workers"], env=environment(home), capture_output=True,
                         text=True, timeout=60, check=False)  # fmt: skip

    assert ran.returncode == 1
    assert "names the worker 'db-bakup', which is not installed" in ran.stderr


def test_plans_and_show_read_what_happened(home: Path) -> None:
    engine = open_engine(Settings(state=home).database)
    migrate(engine)
    Store(engine, wall).request("deploy it", team="T", user="U0ANN", channel="C")
    engine.dispose()

    assert "deploy it" in typed(home, "plans").stdout
    assert "request" in typed(home, "show", "1").stdout
    assert typed(home, "show", "7").stderr == "There is no plan 7.\n"
    assert json.loads(typed(home, "stats", "--json").stdout)["outcomes"] == {"open": 1}
    assert "recovered without a person" in typed(home, "stats").stdout


def test_the_demo_finds_another_port_and_a_second_demo_finds_the_first(tmp_path: Path) -> None:
    port = str(ports(4))
    with socket.create_server(("127.0.0.1", int(port))):
        env = environment(tmp_path)
        argv = [sys.executable, "-m", "bot", "demo", "--port", port]
        with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True) as first:
            shown = next(line for line in first.stdout or () if "demo:" in line)
            second = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=False)
            first.terminate()
            code = first.wait(30)

    address = shown.split()[-1]
    assert f":{port}/" not in address
    assert second.returncode == 1
    assert second.stderr == f"The demo runs already: {address}\n"
    assert code == 0


def test_the_samples_tests_run_whatever_is_configured_above_them(tmp_path: Path) -> None:
    """The demo lies inside a checkout, whose own pytest options may name plugins that are not installed."""
    (tmp_path / "pyproject.toml").write_text("[tool.pytest]\nstrict = true\nno_such_option = 1\n")
    plant(tmp_path / "demo", ports(4))
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        argv, cwd=tmp_path / "demo" / "auth-service", capture_output=True, text=True, check=False
    )

    assert "9 passed" in ran.stdout


def test_the_demo_does_not_start_beside_real_tokens(tmp_path: Path) -> None:
    ran = typed(tmp_path, "demo", SLACK_BOT_TOKEN="xoxb-real")

    assert ran.returncode == 1
    assert "does not start beside real Slack tokens" in ran.stderr


def test_a_reset_demo_has_forgotten_everything(tmp_path: Path) -> None:
    home = tmp_path / "demo"
    home.mkdir()
    (home / "signoff.db").write_text("old")
    argv = [sys.executable, "-m", "bot", "demo", "--reset", "--port", str(ports(4))]
    env = environment(tmp_path, SSH_CONNECTION="x")
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True) as ran:
        lines = []
        for line in ran.stdout or ():
            lines.append(line)
            if "Ctrl-C" in line:
                break
        ran.terminate()

    assert (home / "signoff.db").read_bytes().startswith(b"SQLite")
    assert any("ssh -L" in line for line in lines)


def test_neither_sibling_gets_the_secrets_of_the_other() -> None:
    environ = {
        "PATH": "/bin",
        "SLACK_BOT_TOKEN": "b",
        "ANTHROPIC_API_KEY": "a",
        "AUTH_PROD_URL": "p",
        "KUBECONFIG": "k",
    }
    bot, workers = siblings(environ)

    assert bot.env.keys() & {"AUTH_PROD_URL", "KUBECONFIG"} == set()
    assert workers.env.keys() & {"SLACK_BOT_TOKEN", "ANTHROPIC_API_KEY"} == set()
    assert bot.env["SLACK_BOT_TOKEN"] == "b"
    assert workers.env["AUTH_PROD_URL"] == "p"


# Each command, as somebody types it who has nothing yet; without a configuration what serves does not begin.
TYPED = {
    "plan": ["nope.json"], "plans": [], "show": ["1"], "approve": ["1"], "factor": ["enrol", "U1"],
    "doctor": [], "stats": [], "stop": [], "resume": [], "audit": ["verify", "nope"], "eval": ["--offline"],
    "runbook": ["test"], "worker": ["check", "nope"], "policy": ["explain", "7"], "bot": [], "up": [],
    "demo": ["--port", "99999"], "understand": ["x"], "token": ["list"], "mcp": ["serve"], "hooks": ["list"],
    "propose": ["x", "--channel", "C1"], "init": ["--dry-run"], "board": [],
}  # fmt: skip


def ended(home: Path, *words: str, **more: str) -> str:
    """What it says in the end; argparse ends a command by itself."""
    try:
        ran = typed(home, *words, **more)
    except SystemExit as end:
        return f"exit {end.code}"
    assert ran.returncode in (0, 1, 2)
    assert "Traceback" not in ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def test_every_command_is_tried() -> None:
    (commands,) = [a for a in parser()._actions if isinstance(a, argparse._SubParsersAction)]

    assert set(commands.choices) == set(TYPED)


@pytest.mark.parametrize("stdin", [None, StringIO()], ids=["closed", "empty"])
@pytest.mark.parametrize("name", TYPED)
def test_no_command_needs_a_terminal_to_say_what_is_wrong(tmp_path: Path, name: str, stdin: object) -> None:
    nothing = str(tmp_path / "no.toml")
    with patch.object(sys, "stdin", stdin):
        ended(tmp_path, name, *TYPED[name], SIGNOFF_CONFIG=nothing, SIGNOFF_FACTOR_KEY=KEY)


def test_where_there_are_no_plans_it_says_so(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'signoff.db'}")
    migrate(engine)
    engine.dispose()

    assert ended(tmp_path, "plans") == "There are no plans yet.\n"


def test_a_secret_is_shown_to_nobody_where_there_is_no_terminal(tmp_path: Path) -> None:
    said = ended(tmp_path, "factor", "enrol", "U1", SIGNOFF_FACTOR_KEY=KEY)

    assert "needs a terminal" in said
    assert "otpauth" not in said


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"SIGNOFF_STATE": "/dev/null/x"}, "There is no database"),
        ({"SIGNOFF_DATABASE_URL": "nonsense"}, "The database cannot be used"),
        ({"SIGNOFF_DATABASE_URL": "postgresql://127.0.0.1:1/x"}, "The database does not answer"),
        ({"SIGNOFF_HTTP_PORT": "abc"}, "SIGNOFF_HTTP_PORT: "),
    ],
)
def test_what_is_broken_outside_is_said_in_a_sentence(
    tmp_path: Path, broken: dict[str, str], said: str
) -> None:
    assert said in ended(tmp_path, "plans", **broken)


@pytest.mark.parametrize(
    ("scope", "said"),
    [("plan 7", "There is no plan 7."), ("environment prodution", "no environment “prodution”")],
)
def test_nothing_is_stopped_by_a_name_that_there_is_not(tmp_path, scope, said):
    (tmp_path / "signoff.toml").write_text('[inventory.services.a]\nenvironment = "production"\n')

    assert said in ended(tmp_path, "stop", *scope.split(), "it", "burns")
    assert "Stopped" in ended(tmp_path, "stop", "environment", "production", "it", "burns")


def modules(code: str) -> set[str]:
    """What a process of its own has imported after that."""
    command = [sys.executable, "-c", f"{code}\nprint(*sys.modules)"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {*ran.stdout.splitlines()[-1].split()}


def test_help_needs_no_database_and_no_settings() -> None:
    asked = "import sys; sys.argv = ['signoff', '--help']\nfrom bot.__main__ import main\n"

    found = modules(f"{asked}try:\n    main()\nexcept SystemExit:\n    pass")

    assert "argparse" in found
    assert {"sqlalchemy", "sqlmodel", "pydantic", "slack_sdk", "yaml"} & found == set()


def test_a_bot_imports_nothing_heavy_before_it_is_used() -> None:
    heavy = {"aiohttp", "alembic", "anthropic", "cryptography", "mcp", "PIL", "psycopg", "pytest", "segno"}

    found = modules("import sys, bot.process")

    assert "slack_bolt" in found
    assert heavy & found == set()


def test_nobody_looks_for_garbage_among_what_a_bot_has_imported(tmp_path: Path) -> None:
    asked = "import sys; sys.argv = ['signoff', 'bot']\nfrom bot.__main__ import main\nmain()\nimport gc\n"
    frozen = "{id(bot.process.run), id(bot.process.live)}.isdisjoint(map(id, gc.get_objects()))"
    code = f"{asked}import bot.process\nprint(gc.isenabled(), {frozen})"
    env = environment(tmp_path, SIGNOFF_CONFIG=str(tmp_path / "no.toml"))
    ran = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert ran.stdout.split() == ["True", "True"]


def test_commands_name_the_extra_that_they_miss(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget(monkeypatch, "mcp", "PIL", "cryptography")

    assert "Install signoff[mcp]." in typed(home, "mcp", "serve").stderr
    assert "Install signoff[demo]." in typed(home, "demo").stderr
    assert "Install signoff[factors]." in typed(home, "factor", "key").stderr
