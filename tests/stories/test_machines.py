"""Machines as they live: a storm of Debian's Alertmanager."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
import urllib3

from tests.support.ports import ports
from tests.support.world import World

pytestmark = pytest.mark.machines
ALERTMANAGER = shutil.which("prometheus-alertmanager")
SECRET = "a-secret-of-alertmanager"
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
