"""python -m tests.bench.light: what an installation without extras weighs: name value limit ok|short.

Installed (MB on the disk, as pip does it by default); idle (MB of PSS: SQLite, no key, each process alone
with its workspace, without and with a health port); from a process's start until it is there. Medians.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from sqlite3 import OperationalError, connect
from statistics import median

from bot.local.server import LocalSlack
from bot.local.shapes import Member
from tests.bench.say import say
from tests.support.ports import ports

ROOT = Path(__file__).parents[2]
INSTALLED, BOT, WORKERS, READY = 150, 90, 80, 0.8
NOT_OURS = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence")  # a venv's own
# Every worker that needs no extra.
LIGHT = (
    "test-runner", "db-backup", "gitops-deployer", "approval-gate", "command", "http-check", "data-retrieval",
    "summary", "wait", "notify", "code", "code-agent", "code-publish",
)  # fmt: skip
CONFIG = f'workers = {[*LIGHT]}\n[people]\napprovers = ["U0BOB"]\n'.replace("'", '"')
SETTLED = 5.0  # seconds after it is ready
PATIENCE = 60.0

Ready = Callable[[], bool]


def install(home: Path) -> Path:
    """Signoff without extras, in the versions of the lock file, as `pip install` leaves it."""
    versions = home / "versions.txt"
    versions.write_text("\n".join(re.findall(r"^\S+==\S+", (ROOT / "requirements.lock").read_text(), re.M)))
    wheel = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(home), str(ROOT)]
    subprocess.run(wheel, check=True, stdout=subprocess.DEVNULL)
    venv.create(home / "venv", with_pip=True)
    (built,) = home.glob("*.whl")
    pip = [str(home / "venv" / "bin" / "pip"), "install", "--quiet", "-c", str(versions), str(built)]
    subprocess.run(pip, check=True)
    return home / "venv"


def weights(place: Path) -> dict[str, int]:
    """kB of each thing in this environment's site-packages, as du counts, without what every venv has."""
    (packages,) = place.glob("lib/python*/site-packages")
    told = subprocess.run(
        ["du", "-sk", *packages.iterdir()], capture_output=True, text=True, check=True
    ).stdout
    found = {Path(path).name: int(size) for size, path in (line.split("\t") for line in told.splitlines())}
    return {name: size for name, size in found.items() if not name.startswith(NOT_OURS)}


def installed(place: Path) -> None:
    found = weights(place)
    for name, size in sorted(found.items(), key=lambda one: -one[1])[:12]:
        say(f"installed_{name}_mb", size / 1024)
    say("installed_mb", sum(found.values()) / 1024, INSTALLED)


def environment(home: Path, slack: LocalSlack, port: int) -> dict[str, str]:
    strange = ("SLACK_", "SIGNOFF_", "ANTHROPIC_", "PYTHON")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(strange) and "proxy" not in k.lower()}
    return kept | {
        "SIGNOFF_STATE": str(home / "state"), "SIGNOFF_CONFIG": str(home / "signoff.toml"),
        "SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token,
        "SLACK_API_URL": slack.api_url, "SIGNOFF_LOG_LEVEL": "ERROR",
    } | ({"SIGNOFF_HEALTH_PORT": str(port)} if port else {})  # fmt: skip


@contextmanager
def process(python: Path, words: list[str], env: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([str(python), "-P", *words], env=env) as child:
        try:
            yield child
        finally:
            child.terminate()
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                child.kill()


def seen(database: Path, pid: int) -> bool:
    """Whether the workers process has said in the database that it is there, and what it can do."""
    try:
        with closing(connect(f"file:{database}?mode=ro", uri=True)) as look:
            one = look.execute("SELECT 1 FROM process WHERE name LIKE ?", (f"%-{pid}",))
            return bool(one.fetchone() and look.execute("SELECT 1 FROM capability").fetchone())
    except OperationalError:
        return False


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def pss(pid: int) -> float:
    """MB that it has for itself, with its part of what it shares."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def computed(pid: int) -> float:
    """Seconds of a processor that it has taken: more honest than a clock on a machine that is busy."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def until(ready: Ready, child: subprocess.Popen[bytes]) -> float:
    began = time.monotonic()
    while not ready():
        assert child.poll() is None, "it ended"
        assert time.monotonic() < began + PATIENCE, "waited in vain"
        time.sleep(0.01)
    return time.monotonic() - began


def once(python: Path, name: str, home: Path, port: int) -> tuple[float, float, float]:
    """Seconds until it is ready, those that it computed, and MB when it has been idle for a while."""
    with LocalSlack(members=[Member("U0BOB", "bob", "Bob")]) as slack:
        words = ["-m", "bot", "bot"] if name == "bot" else ["-m", "workers"]
        with process(python, words, environment(home, slack, port)) as child:
            client = slack.client(patience=PATIENCE)
            there: Ready = partial(seen, home / "state" / "signoff.db", child.pid)
            took = until((lambda: client.state()["links"] > 0) if name == "bot" else there, child)
            busy = computed(child.pid)
            if port:
                until(partial(answers, port), child)
            time.sleep(SETTLED)
            return took, busy, pss(child.pid)


def idle(python: Path, home: Path, rounds: int) -> None:
    (home / "signoff.toml").write_text(CONFIG)
    once(python, "bot", home, 0)  # makes the database
    for name, limit in (("bot", BOT), ("workers", WORKERS)):
        found = [once(python, name, home, 0) for _ in range(rounds)]
        took, busy, memory = (median(figures) for figures in zip(*found, strict=True))
        say(f"{name}_ready_seconds", took, READY)
        say(f"{name}_ready_computed_seconds", busy)
        say(f"{name}_idle_pss_mb", memory, limit)
        say(f"{name}_idle_pss_mb_with_health", once(python, name, home, ports(1))[2])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--here", action="store_true", help="measure this environment, and install nothing")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="signoff-bench-") as place:
        made = Path(sys.prefix) if given.here else install(Path(place))
        installed(made)
        idle(made / "bin" / "python", Path(place), given.rounds)


if __name__ == "__main__":
    main()
