"""What is started runs our code, never that of the folder it is started in: commands, siblings, children."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import bot.cli.supervise
from bot.cli.supervise import GOOD, PATIENCE, Child, Supervisor, lives, siblings, with_health
from bot.demo.seed import plant
from bot.local.server import LocalSlack
from bot.local.shapes import Member
from storage.clock import wall
from storage.database.engine import migrate, open_engine
from storage.errors import BadConfig
from tests.support.fakes import PLAN_JSON
from tests.support.ports import ports
from tests.support.store import Store
from tests.support.world import environment

SIGNOFF = str(Path(sys.executable).with_name("signoff"))
TRAP = "import os, sys\nwith open({mark!r}, 'a') as mark:\n    mark.write(f'{{__name__}} {{sys.argv}}\\n')\n"
# Whole packages, what they and Python itself import by name, and a worker that says it was installed.
PACKAGES = ("bot", "storage", "workers", "workers/practice", "workers/kit", "alembic", "pydantic")
PLANTED = [
    *(f"{top}/{name}.py" for top in PACKAGES for name in ("__init__", "__main__")), "storage/config.py",
    "json.py", "logging.py", "sitecustomize.py", "usercustomize.py", "sqlalchemy.py", "evil.py",
]  # fmt: skip
ENTRY = {
    "METADATA": "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n",
    "entry_points.txt": "[signoff.workers]\nevil = evil:Evil\ntest-runner = evil:Evil\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Somebody's project, with packages that are called as ours."""
    found = tmp_path / "project"
    for name in PLANTED:
        path = found / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TRAP.format(mark=str(tmp_path / "ran")))
    (found / "evil-1.0.dist-info").mkdir()
    for name, text in ENTRY.items():
        (found / "evil-1.0.dist-info" / name).write_text(text)
    return found


def ran(folder: Path) -> str:
    mark = folder.with_name("ran")
    return mark.read_text() if mark.exists() else ""


def typed(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    home = folder.with_name("home")
    if not home.exists():
        plant(home, ports(4))
    env = environment(home)
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)


def until(look: Callable[[], object], what: str) -> None:
    end = time.monotonic() + 60
    while not look():
        assert time.monotonic() < end, f"waited for {what}"
        time.sleep(0.02)


def test_the_trap_snaps(folder: Path) -> None:
    typed(folder, sys.executable, "-m", "workers", "capabilities")

    assert ran(folder).startswith("workers ")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([SIGNOFF, "worker", "check", "workers.builtin.http.wait"], "0 errors"),
        ([SIGNOFF, "plan", "plan.json"], "no problems found"),
        ([SIGNOFF, "runbook", "test"], "as written"),
        ([SIGNOFF, "doctor"], "workers"),
        ([SIGNOFF, "worker", "check", "evil"], "There is no module 'evil'"),
        ([sys.executable, "-P", "-m", "workers", "capabilities"], "run_tests"),
        ([sys.executable, "-P", "-m", "storage", "migrate"], ""),
    ],
    ids=lambda value: " ".join(value[1:]) if isinstance(value, list) else "",
)
def test_a_command_runs_nothing_of_the_folder_it_is_typed_in(
    folder: Path, words: list[str], says: str
) -> None:
    (folder / "plan.json").write_text(PLAN_JSON)
    done = typed(folder, *words)

    assert says in done.stdout, done.stderr
    assert ran(folder) == ""


def test_signoff_up_runs_nothing_of_the_folder_it_is_started_in(folder: Path) -> None:
    home = folder.with_name("home")
    plant(home, ports(4))
    engine = open_engine(f"sqlite:///{home / 'signoff.db'}")
    migrate(engine)
    store = Store(engine, wall)
    with LocalSlack(members=[Member("U0ANN", "ann", "Ann")]) as slack:
        tokens = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        tokens["SIGNOFF_HEALTH_PORT"] = str(ports(2))
        kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
        env = kept | environment(home, **tokens, SLACK_API_URL=slack.api_url)
        with subprocess.Popen([SIGNOFF, "up"], cwd=folder, env=env) as up:
            try:
                slack.client(patience=60.0).wait_for_bot()
                until(lambda: store.processes("workers"), "the workers")
            finally:
                up.terminate()
    engine.dispose()

    assert up.returncode == 0
    assert ran(folder) == ""


def test_the_demo_runs_nothing_of_the_folder_it_is_started_in(folder: Path) -> None:
    home = folder.with_name("state")
    env = environment(home)
    with subprocess.Popen(
        [SIGNOFF, "demo", "--port", str(ports(4))], cwd=folder, env=env, stdout=subprocess.PIPE
    ) as demo:
        try:
            until(lambda: all(is_up(home / "demo", name) for name in ("bot", "workers")), "its processes")
        finally:
            demo.terminate()

    assert ran(folder) == ""


def is_up(home: Path, kind: str) -> bool:
    """Whether this sibling holds its lock: its own code is loaded then."""
    return (home / f"signoff.db.{kind}.lock").exists()


# what becomes of a child

DEAF = (
    "import signal, time\n"
    "signal.signal(15, lambda *_: time.sleep({0}) or exit(0))\n"
    "print('up', flush=True)\n"
    "time.sleep(60)\n"
)
SERVES = (
    "from http.server import *\n"
    "class Door(BaseHTTPRequestHandler):\n"
    "    def do_GET(self): self.send_response({status}); self.end_headers()\n"
    "    def log_message(self, *_): pass\n"
    "HTTPServer(('127.0.0.1', {port}), Door).serve_forever()\n"
)


def child(code: str, **given: object) -> Child:
    return Child("one", ("-c", code), dict(os.environ), **given)


def dead(code: str = "exit(3)", **given: object) -> Child:
    one = child(code, **given)
    one.start()
    assert one.process
    one.process.wait()
    return one


@pytest.mark.parametrize(("lived", "wait"), [(1, 30.0), (GOOD + 1, 0.5)])
def test_a_fall_after_a_good_run_counts_as_the_first(lived: float, wait: float) -> None:
    one = dead()
    one.starts, one.started_at = 9, time.monotonic() - lived
    one.watch()

    assert one.not_before - time.monotonic() == pytest.approx(wait, abs=0.2)


def test_workers_have_the_time_that_they_are_given_to_end() -> None:
    bot, workers = siblings({"SIGNOFF_DRAIN": "120"})
    _, usual = siblings({})

    assert (bot.patience, workers.patience, usual.patience) == (PATIENCE, 120 + PATIENCE, 30 + PATIENCE)


@pytest.mark.parametrize(("patience", "code"), [(20.0, 0), (0.3, -9)])
def test_a_child_that_takes_its_time_is_killed_only_when_that_is_over(
    tmp_path: Path, patience: float, code: int
) -> None:
    one = child(DEAF.format(2), patience=patience, log=tmp_path / "log")
    one.start()
    until(lambda: (tmp_path / "log").read_text(), "it to be up")
    Supervisor([one])._end()

    assert one.process
    assert one.process.returncode == code


def test_a_child_that_is_stopped_is_started_anew_and_one_that_lives_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bot.cli.supervise, "LOOK", 1.0)
    monkeypatch.setattr(bot.cli.supervise, "UNWELL", 4.0)
    monkeypatch.setattr(bot.cli.supervise, "PATIENCE", 0.5)
    port = ports(2)
    one = child(SERVES.format(status=200, port=port), health=f"http://127.0.0.1:{port}/healthz")
    one.watch()
    assert one.process
    first = one.process
    try:
        until(lambda: lives(one.health), "it to be up")
        end = time.monotonic() + 6
        while time.monotonic() < end:
            one.watch()
            time.sleep(0.1)
        kept = one.process is first
        os.kill(first.pid, signal.SIGSTOP)
        until(lambda: one.watch() or one.process is not first, "it to be started anew")
    finally:
        one.process.kill()
        one.process.wait()

    assert kept
    assert first.returncode == -9


def test_a_child_that_is_just_starting_has_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bot.cli.supervise, "LOOK", 0.0)
    monkeypatch.setattr(bot.cli.supervise, "UNWELL", 0.0)
    one = Child(
        "slow", ("-c", "import time; time.sleep(60)"), os.environ, health="http://127.0.0.1:1/healthz"
    )
    one.start()
    assert one.process
    one.watch()
    waited = one.process.poll()
    monkeypatch.setattr(bot.cli.supervise, "STARTING", 0.0)
    one.watch()

    assert (waited, one.process.poll()) == (None, -signal.SIGTERM)


def test_up_asks_for_health_where_the_operator_says_or_else_on_loopback() -> None:
    mine = siblings(with_health({"SIGNOFF_HEALTH_PORT": "9000", "SIGNOFF_HEALTH_HOST": "::"}))
    none, chosen = siblings({}), siblings(with_health({}))

    assert [one.health for one in mine] == [f"http://[::1]:{port}/healthz" for port in (9000, 9001)]
    assert [one.health for one in none] == ["", ""]
    assert all(one.health.startswith("http://127.0.0.1:") for one in chosen)
    assert chosen[0].env["SIGNOFF_HEALTH_PORT"] == chosen[1].env["SIGNOFF_HEALTH_PORT"] != "0"


@pytest.mark.parametrize("name", ["SIGNOFF_HEALTH_PORT", "SIGNOFF_DRAIN", "SIGNOFF_BOARD_PORT"])
def test_a_number_that_is_none_is_a_sentence(name: str) -> None:
    with pytest.raises(BadConfig, match=f"{name} is no number: 'soon'"):
        siblings(with_health({name: "soon"}))
