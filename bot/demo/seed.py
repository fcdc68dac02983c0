"""What the demo starts with: a configuration, a sample service, a database. All in one named directory."""

import json
import secrets
import shutil
import socket
import sqlite3
import sys
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

SAMPLE = Path(__file__).parent / "sample"
USERS = 2000

CONFIG = """\
# The demo's configuration. Delete the directory, or run `signoff demo --reset`, to start anew.
zone = "America/New_York"
workers = [
  "test-runner", "db-backup", "k8s-deployer", "command", "http-check", "data-retrieval", "data-processing",
  "summary", "wait", "notify", "approval-gate", "code", "code-agent", "code-publish",
]
runbooks = ["{home}/runbooks"]

[people]
approvers = ["U0BOB", "U0CAROL"]
admins = ["U0CAROL"]
logins = {{ demo = "U0ANN" }}

[windows.nightly]
start = 02:00:00
hours = 2
zone = "America/New_York"
environments = ["production"]

[inventory.suites.full]
command = ["pytest", "-q"]
directory = "{home}/auth-service"
environments = ["staging"]

[inventory.databases.auth_prod]
environment = "production"
kind = "sqlite"
path = "{home}/auth_prod.db"
directory = "{home}/backups"

[inventory.services.auth-service]
cluster = "practice"
environment = "production"
image = "registry.example/auth-service"
replicas = 2
port = 8080
database = "auth_prod"
endpoint = "auth-prod"

[inventory.clusters.practice]
kind = "practice"
url = "http://127.0.0.1:{practice}"

[inventory.endpoints.auth-prod]
url = "http://127.0.0.1:{practice}/version"
environment = "production"

[inventory.endpoints.ops-hook]
url = "http://127.0.0.1:{practice}/hook"
message_field = "text"

[inventory.repositories.shop]
source = "{home}/shop"
pool = "{home}/fleet"
push = "{home}/shop"
suite = ["{python}", "-I", "-B", "tests/run.py"]
subtasks = "{home}/subtasks"
api = "http://127.0.0.1:{practice}"
key_env = ""
models = [{{ name = "a script" }}, {{ name = "a second script" }}]  # no model thinks in the demo

[inventory.sources.metrics]
url = "http://127.0.0.1:{practice}/metrics"

[inventory.commands.migrate-auth]
argv = ["{python}", "{home}/auth-service/migrate.py", "{home}/auth_prod.db"]
environment = "production"
"""


@dataclass(frozen=True)
class Seed:
    """What must stay the same from one start to the next."""

    port: int
    practice: int
    token: str
    doors: int = 0  # for machines
    board: int = 0  # Signoff in the browser


def plant(home: Path, port: int | None) -> Seed:
    """Make the directory ready; what is there already stays."""
    home.mkdir(parents=True, exist_ok=True)
    seed = _seed(home, port)
    config = CONFIG.format(home=home, practice=seed.practice, python=sys.executable)
    (home / "signoff.toml").write_text(config, encoding="utf-8")
    for part in SAMPLE.iterdir():
        if not (home / part.name).exists():
            shutil.copytree(part, home / part.name, ignore=shutil.ignore_patterns("__pycache__"))
    if not (home / "auth_prod.db").exists():
        _database(home / "auth_prod.db")
    return seed


def break_tests(home: Path, broken: bool) -> None:
    """Plant a real bug in the sample service, or mend it."""
    source = home / "auth-service" / "auth.py"
    good, bad = "return age > LIFETIME", "return age < LIFETIME"
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace(good, bad) if broken else text.replace(bad, good), encoding="utf-8")


def tests_broken(home: Path) -> bool:
    return "return age < LIFETIME" in (home / "auth-service" / "auth.py").read_text(encoding="utf-8")


def _seed(home: Path, port: int | None) -> Seed:
    path = home / "demo.json"
    known = Seed(**json.loads(path.read_text())) if path.exists() else None
    token = known.token if known else secrets.token_urlsafe(16)
    wanted = port if port is not None else known.port if known else 8700
    before = (known.practice, known.doors, known.board) if known else (0, 0, 0)
    others = (old or (wanted and wanted + number) for number, old in enumerate(before, 1))
    own, practice, doors, board = free_ports(wanted, *others)
    seed = Seed(own, practice, token, doors, board)
    path.touch(mode=0o600)
    path.write_text(json.dumps(asdict(seed)))
    return seed


def free_ports(*wanted: int) -> list[int]:
    """These ports, each replaced by another one when it is taken; all held until the last is found."""
    with ExitStack() as held:
        found = [held.enter_context(_listener(port)) for port in wanted]
        return [int(one.getsockname()[1]) for one in found]


def _listener(port: int) -> socket.socket:
    for wanted in (port, 0):
        with suppress(OSError):
            return socket.create_server(("127.0.0.1", wanted))
    raise OSError("no free port on 127.0.0.1")


def _database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT)")
        connection.execute("CREATE TABLE sessions (id INTEGER PRIMARY KEY, user_id INTEGER, token TEXT)")
        people = [(i, f"user {i}", f"user{i}@example.com") for i in range(1, USERS + 1)]
        connection.executemany("INSERT INTO users VALUES (?, ?, ?)", people)
        connection.executemany(
            "INSERT INTO sessions VALUES (?, ?, ?)",
            [(i, i, secrets.token_hex(8)) for i in range(1, USERS + 1)],
        )
    connection.close()


STAND_IN = """
[model]  # of `signoff demo --model` without a key
name = "stand-in"
reviewer = ""
fallback = ""
[model.prices.stand-in]
input = 0
output = 0
"""


def name_stand_in(home: Path, *, there: bool) -> None:
    """Let the configuration call the stand-in what it is, for as long as it plans."""
    file = home / "signoff.toml"
    bare = file.read_text(encoding="utf-8").replace(STAND_IN, "")
    file.write_text(bare + (STAND_IN if there else ""), encoding="utf-8")
