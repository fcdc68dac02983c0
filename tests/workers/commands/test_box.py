"""What a boxed command can reach: its folder, and nothing of ours. Tried as root and as a plain user."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fleet.ground import boxed
from tests.support.places import ROOT
from tests.support.ports import ports
from workers.base import Permanent
from workers.commands import box, process
from workers.commands.box import Box

PROBE = """
import json, os, pathlib, socket
def tried(do):
    try:
        do()
        return "done"
    except Exception as error:
        return type(error).__name__
status = pathlib.Path("/proc/self/status").read_text()
found = {
    "env": dict(os.environ), "uid": os.getuid(),
    "caps": status.partition("CapEff:")[2].split()[0], "privs": status.partition("NoNewPrivs:")[2].split()[0],
    "pids": [name for name in os.listdir("/proc") if name.isdigit()], "etc": os.listdir("/etc"),
    "outside": tried(lambda: open(%(outside)r, "w")), "usr": tried(lambda: open("/usr/x", "w")),
    "secret": tried(lambda: open(%(secret)r).read()),
    "tcp": tried(lambda: socket.create_connection(("127.0.0.1", %(port)d), 1)),
    "dns": tried(lambda: socket.getaddrinfo("example.com", 80)),
    "inside": tried(lambda: open("kept", "w").close()),
    "again": os.system("unshare --user true 2>/dev/null"),
    "git": os.path.exists(".git"),
}
print(json.dumps(found))
"""
pytestmark = [boxed, pytest.mark.fleet]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What a program in the box sees and may do."""
    home = tmp_path_factory.mktemp("box")
    place, secret = home / "place", home / "secret"
    place.mkdir()
    secret.write_text("s3cret")
    os.environ["ANTHROPIC_API_KEY"] = "a-key"
    with socket.create_server(("127.0.0.1", port := ports())):
        program = PROBE % {"outside": str(home / "witness"), "secret": str(secret), "port": port}
        done = process.run(
            [sys.executable, "-I", "-B", "-c", program],
            cwd=place, env={"TOKEN": "another"}, timeout=60, scratch=home, key="box",
            box=Box(place, box.interpreter()),
        )  # fmt: skip
    assert done.returncode == 0, done.text()
    assert not (home / "witness").exists()  # what it wrote there was written to a folder of the box's own
    assert (place / "kept").exists()
    return dict(json.loads(done.text()))


@pytest.mark.parametrize(
    ("what", "is_"),
    [
        ("uid", 65534), ("caps", "0000000000000000"), ("privs", "1"), ("inside", "done"), ("git", False),
        ("secret", "FileNotFoundError"), ("usr", "OSError"), ("tcp", "ConnectionRefusedError"),
        ("dns", "gaierror"),
    ],
)  # fmt: skip
def test_a_boxed_command_reaches_its_folder_and_nothing_else(
    found: dict[str, object], what: str, is_: object
) -> None:
    assert found[what] == is_


def test_it_sees_no_variable_of_ours_and_no_key(found: dict[str, object]) -> None:
    assert set(found["env"]) <= {"PATH", "HOME", "LANG", "PWD", "LC_CTYPE"}
    assert "a-key" not in json.dumps(found)


def test_it_sees_no_process_but_its_own(found: dict[str, object]) -> None:
    assert len(found["pids"]) <= 3


def test_it_cannot_make_a_namespace_again(found: dict[str, object]) -> None:
    assert found["again"] != 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become a plain user")
def test_a_plain_user_is_boxed_alike(tmp_path: Path) -> None:
    if not os.access("/usr/bin/python3", os.X_OK):
        pytest.skip("there is no Python that everybody may run")
    place = Path("/var/tmp") / tmp_path.name  # noqa: S108 # a plain user reaches no folder of root's
    place.mkdir(exist_ok=True)
    try:
        shutil.chown(place, 65534, 65534)
        words = [
            *Box(place).argv(),
            "/usr/bin/python3",
            "-I",
            "-c",
            "import os; print(os.getuid(), os.listdir('/etc'))",
        ]
        user = {"user": 65534, "group": 65534, "extra_groups": []}
        done = subprocess.run(words, capture_output=True, text=True, check=False, **user)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("65534 ")
    finally:
        shutil.rmtree(place)


def test_where_there_is_no_box_nothing_runs_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box, "kind", lambda: "none")
    assert box.said().startswith("no box: coding agents are off")
    with pytest.raises(Permanent, match="No box"):
        box.demand()


def test_what_ci_installs_has_the_box() -> None:
    assert "bubblewrap" in (ROOT / ".ci" / "run").read_text()
