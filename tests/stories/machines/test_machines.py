"""Machines as they live: a storm of Debian's Alertmanager, a pipeline with curl, tools of MCP servers."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
import urllib3

from tests.support.doors.lending import asked, lending, step
from tests.support.ports import ports
from tests.support.world import World

pytestmark = pytest.mark.machines
ALERTMANAGER = shutil.which("prometheus-alertmanager")
SECRET = "a-secret-of-alertmanager"
HOSTILE = Path(__file__).parents[2] / "support" / "doors" / "hostile_mcp.py"
STORM = int(os.environ.get("STORM", "1000"))
HOOK = """
[hooks.alerts]
kind = "alertmanager"
secret_env = ["SIGNOFF_HOOK_ALERTS"]
channel = "C0OPS"
owner = "U0ANN"

[[hooks.alerts.routes]]
when = { alertname = "HighErrors" }
runbook = "restart-service"
slots = { service = "labels.service" }
values = { environment = "production" }
"""


@contextmanager
def alertmanager(home: Path, url: str) -> Iterator[str]:
    port = ports()
    (home / "secret").write_text(SECRET)
    (home / "am.yml").write_text(f"""
route:
  receiver: signoff
  group_by: [alertname]
  group_wait: 1s
  group_interval: 2s
  repeat_interval: 1m
receivers:
- name: signoff
  webhook_configs:
  - url: {url}/hooks/alerts
    max_alerts: 20
    http_config: {{authorization: {{credentials_file: {home}/secret}}}}
""")
    argv = [str(ALERTMANAGER), f"--config.file={home}/am.yml", f"--storage.path={home}/am",
            f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="]  # fmt: skip
    with (home / "am.log").open("wb") as log:
        started = subprocess.Popen(argv, stdout=log, stderr=log, cwd=home)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        started.kill()
        started.wait()


def storm(url: str, count: int, *, over: bool = False) -> None:
    """So many alerts of one kind; once Alertmanager is there to hear them."""
    ends = {"endsAt": datetime.now(UTC).isoformat()} if over else {}
    labels = {"alertname": "HighErrors", "service": "auth-service", "severity": "page"}
    body = [{"labels": labels | {"instance": f"i{n}"}, "annotations": {"summary": "<!channel> errors"}} | ends
            for n in range(count)]  # fmt: skip
    for _ in range(200):
        try:
            answer = urllib3.request("POST", f"{url}/api/v2/alerts", json=body, retries=False)
        except urllib3.exceptions.HTTPError:
            time.sleep(0.1)
            continue
        assert answer.status == 200, answer.data
        return
    raise AssertionError("Alertmanager does not start")


CI = r"""
set -eu
auth="Authorization: Bearer $SIGNOFF_TOKEN"
post() { curl -sf "$SIGNOFF_URL/api/v1/plans" -H "$auth" -H "Idempotency-Key: $BUILD" -d @"$PLAN"; }
word() { grep -o "\"$1\": *\"*[a-z0-9]*" | head -n 1 | grep -o '[a-z0-9]*$'; }
plan=null
while [ "$plan" = null ]; do plan=$(post | word plan); done
again=$(post | word plan)
[ "$plan" = "$again" ]
state=proposed
while [ "$state" != done ]; do
  found=$(curl -sf "$SIGNOFF_URL/api/v1/plans/$plan?wait=50&seen=$state" -H "$auth")
  state=$(echo "$found" | word state)
  case $state in rejected|expired|cancelled|refused) exit 3 ;; esac
done
echo "$found" | word outcome
"""


@pytest.mark.timeout(300)
def test_a_pipeline_with_curl_has_tools_of_real_and_hostile_servers_called(tmp_path: Path) -> None:
    repository, how, file = tmp_path / "repository", tmp_path / "how", tmp_path / "file"
    own = ("git", "-C", str(repository), "-c", "user.name=Ann", "-c", "user.email=a@example.com")
    repository.mkdir()
    subprocess.run([*own, "init", "-q"], check=True)
    subprocess.run([*own, "commit", "-q", "--allow-empty", "-m", "Begin"], check=True)
    how.write_text("kind")
    servers = {
        "git": {"command": [str(Path(sys.executable).parent / "mcp-server-git"), "-r", str(repository)]},
        "hostile": {"command": [sys.executable, str(HOSTILE), str(how)]},
    }
    with lending(tmp_path / "home", servers, {"git": ("git_create_branch",), "hostile": ("touch",)}) as world:
        (tmp_path / "plan.json").write_text(json.dumps({"plan": {"goal": "Branch", "steps": [
            step("branch", "git", "git_create_branch", repo_path=str(repository), branch_name="from-ci"),
        ]}}))  # fmt: skip
        env = {"SIGNOFF_URL": f"http://127.0.0.1:{world.demo.seed.doors}", "BUILD": "build-7",
               "SIGNOFF_TOKEN": world.demo.token().read_text().strip(), "PATH": os.environ["PATH"],
               "PLAN": str(tmp_path / "plan.json")}  # fmt: skip
        script = subprocess.Popen(["sh", "-c", CI], env=env, stdout=subprocess.PIPE, text=True)
        world.until(lambda plan: plan.card, "the card")
        world.bob.clicks("approve")
        said, _ = script.communicate(timeout=150)

        assert (script.returncode, said.strip()) == (0, "succeeded")
        assert (
            "from-ci" in subprocess.run([*own, "branch"], capture_output=True, text=True, check=True).stdout
        )
        assert len(world.store.recent(9)) == 1

        how.write_text("rug")
        asked(world, "Changed since", step("touch", "hostile", "touch", path=str(file)))
        world.bob.clicks("approve")
        world.until(lambda plan: plan.steps[0].state == "failed", "the refusal")
        world.bob.sees("is not the one that was pinned")
        assert not file.exists()

        how.write_text("dies")
        asked(world, "Lost", step("touch", "hostile", "touch", path=str(file)))
        world.bob.clicks("approve")
        world.until(lambda plan: plan.steps[0].state == "unknown", "what nobody knows")
        world.bob.sees("I cannot tell whether it happened, so it does not run again by itself.")
        assert file.exists()


@pytest.mark.skipif(not ALERTMANAGER, reason="needs Debian's prometheus-alertmanager")
def test_a_storm_of_a_real_alertmanager_is_one_plan_and_one_message(tmp_path: Path) -> None:
    world = World(tmp_path / "home", config=lambda text: text + HOOK)
    world.use({"SIGNOFF_HOOK_ALERTS": SECRET}, only="bot")
    with world, alertmanager(tmp_path, f"http://127.0.0.1:{world.demo.seed.doors}") as url:
        storm(url, STORM)
        view = world.until(lambda plan: plan.alarm and plan.card, "the card of the storm", 60)
        for _ in range(5):
            storm(url, STORM)
        storm(url, STORM, over=True)
        world.until(lambda plan: plan.alarm and not plan.alarm.open, "its end", 60)
        world.ann.sees("This is over, says the hook alerts", thread=view.card)

        assert len(world.store.recent(9)) == 1
        assert view.alarm
        assert view.alarm.count >= STORM
        said = world.workspace.messages("C0OPS")
        ours = [one for one in said if one.get("thread_ts") in ("", None, one["ts"])]
        assert len(ours) == 1
        assert "<!channel>" not in json.dumps(ours)
