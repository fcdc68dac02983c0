"""Pushing what was integrated, and asking a forge for a pull request: a real git remote, and a fake forge."""

import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.fleet.ground import Ground
from tests.support.scratch import at
from workers.base import Permanent, Transient
from workers.builtin.code.publish.code_publish import CodePublish, PullParams, PushParams

pytestmark = pytest.mark.fleet
PUSH = PushParams(repository="shop", branch="signoff/plan-1")


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(remote)], check=True)  # a constant
    return Ground(tmp_path, push=str(remote))


def integrated(ground: Ground, name: str = "Integrate") -> str:
    git = ground.git()
    base = git.fetch()
    commit = git.commit(f"{base}^{{tree}}", [base], name)
    git.move("refs/heads/signoff/1/integrated", commit, git.tip("refs/heads/signoff/1/integrated"))
    return commit


def push(ground: Ground) -> Any:
    return CodePublish.push.run(CodePublish(ground.inventory), PUSH, at(ground.home / "attempts", "push"))


def seen(ground: Ground) -> Any:
    return CodePublish.push.hooks["preview"](
        CodePublish(ground.inventory), PUSH, at(ground.home / "attempts", "push")
    )


def test_what_is_integrated_is_pushed_and_again_changes_nothing(ground: Ground) -> None:
    commit = integrated(ground)
    assert seen(ground).text == "signoff/plan-1 is new there"
    assert push(ground).data.commit == commit
    assert push(ground).data.commit == commit
    assert seen(ground).was == commit[:8]


def test_nothing_is_pushed_before_something_is_integrated(ground: Ground) -> None:
    with pytest.raises(Permanent, match="Nothing of this plan is integrated"):
        push(ground)


def test_what_somebody_else_pushed_is_never_overwritten(ground: Ground) -> None:
    integrated(ground, "first")
    push(ground)
    integrated(ground, "second, beside it")
    with pytest.raises(Permanent, match="Nothing was overwritten"):
        push(ground)


def test_a_credential_that_is_missing_is_said(ground: Ground) -> None:
    ground.raw["push_token_env"] = "SHOP_PUSH_TOKEN"
    integrated(ground)
    with pytest.raises(Permanent, match="SHOP_PUSH_TOKEN is not set"):
        push(ground)


class Forge(BaseHTTPRequestHandler):
    """Pull requests of one repository, as a forge has them; it refuses who brings no token."""

    pulls: list[dict[str, Any]]
    broken = False

    def do_GET(self) -> None:
        self._send(200, [one for one in self.pulls if self.path.endswith(f":{one['head']}")])

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert set(body) == {"title", "head", "base", "body"}
        self.pulls.append(body | {"number": len(self.pulls) + 1, "html_url": "https://forge/1"})
        self._send(201, self.pulls[-1])

    def _send(self, status: int, said: Any) -> None:
        status = (
            503 if self.broken else status if self.headers.get("authorization") == "Bearer t0ken" else 401
        )
        text = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def forge(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Forge]]:
    made = type("Made", (Forge,), {"pulls": []})
    server = HTTPServer(("127.0.0.1", 0), made)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    ground.raw |= {
        "forge": f"http://127.0.0.1:{server.server_port}/repos/acme/shop",
        "forge_token_env": "FORGE_TOKEN",
    }
    monkeypatch.setenv("FORGE_TOKEN", "t0ken")
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


def open_pr(ground: Ground) -> Any:
    params = PullParams(repository="shop", branch="signoff/plan-1", title="All prices")
    return CodePublish.open_pr.run(CodePublish(ground.inventory), params, at(ground.home / "attempts", "pr"))


def test_a_pull_request_is_opened_once(ground: Ground, forge: type[Forge]) -> None:
    assert open_pr(ground).data.number == 1
    assert open_pr(ground).data.number == 1
    assert [one["base"] for one in forge.pulls] == ["main"]


def test_a_forge_that_refuses_or_rests_is_said(
    ground: Ground, forge: type[Forge], monkeypatch: pytest.MonkeyPatch
) -> None:
    forge.broken = True
    with pytest.raises(Transient, match="HTTP 503"):
        open_pr(ground)
    forge.broken = False
    monkeypatch.setenv("FORGE_TOKEN", "another")
    with pytest.raises(Permanent, match="HTTP 401"):
        open_pr(ground)
