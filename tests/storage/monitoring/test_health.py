"""What a monitor sees: whether a process lives, whether it may be relied on, and the figures."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier, Event

import pytest
from sqlalchemy import Engine

from storage.database.engine import open_engine
from storage.errors import BadConfig
from storage.monitoring.health import Health, HealthSettings, Pulse, answering
from storage.monitoring.health_door import THREADS
from storage.monitoring.metrics import Figure, figures, told
from tests.conftest import emptied
from tests.support.doors.monitor import get
from tests.support.fakes import BACKUP, DEPLOY, FakeClock, approved, bad, ok, propose, step, take, tamper
from tests.support.ports import ports
from tests.support.store import Store

SAMPLE = re.compile(r'^[a-z_]+(\{[a-z]+="(\\.|[^"\\\n])*"\})? [0-9.e+-]+$')


def figure(store: Store, line: str) -> float:
    """The value of one line of the figures."""
    found = dict(text.rsplit(" ", 1) for text in told(figures(store)).splitlines() if text[0] != "#")
    return float(found[line])


def test_plans_are_counted_by_state_and_a_state_without_plans_is_zero(store):
    propose(store)
    approved(store, step("s1"))

    assert figure(store, 'signoff_plans{state="proposed"}') == 1
    assert figure(store, 'signoff_plans{state="approved"}') == 1
    assert figure(store, 'signoff_plans{state="stalled"}') == 0


def test_steps_that_run_are_unknown_or_late_are_seen(store, clock):
    approved(store, step("late"))
    clock.advance(7)
    running = approved(store, step("s1"))
    take(store, running, "s1")
    unknown = approved(store, step("s1", DEPLOY))
    store.doubt(take(store, unknown, "s1"), actor="w1", reason="it broke")

    assert figure(store, 'signoff_steps{state="running"}') == 1
    assert figure(store, 'signoff_steps{state="unknown"}') == 1
    assert figure(store, "signoff_start_lateness_seconds") == 7


def test_a_step_that_may_not_start_is_not_late(store, clock):
    approved(store, step("s1", schedule={"not_before": clock() + timedelta(hours=1)}))
    approved(store, step("s2"))
    store.stop("everything", reason="smoke", user="CAROL")
    clock.advance(60)

    assert figure(store, "signoff_start_lateness_seconds") == 0
    assert figure(store, "signoff_stops") == 1


def test_retries_and_recoveries_are_counted(store, clock):
    again = approved(store, step("s1", BACKUP, retries={"attempts": 3, "wait": 1.0}))
    store.retry(take(store, again, "s1"), bad(), actor="w1", wait=1.0)
    lost = approved(store, step("s1"))
    take(store, lost, "s1")
    clock.advance(60)
    store.lose(store.lapsed(owner="w2", alone=False)[0], actor="w2", probe=False)
    store.succeed(take(store, lost, "s1"), ok(), actor="w2")

    assert figure(store, 'signoff_attempts_total{outcome="retry"}') == 1
    assert figure(store, 'signoff_attempts_total{outcome="lost"}') == 1
    assert figure(store, 'signoff_attempts_total{outcome="succeed"}') == 1
    assert figure(store, 'signoff_attempts_total{outcome="fail"}') == 0


def test_what_slack_does_not_show_yet_and_what_the_model_cost_are_seen(store, clock):
    plan_id = propose(store)
    store.book(plan_id, model="model-a", usd=0.25, tokens={})
    store.book(plan_id, model="model-a", usd=0.5, tokens={})
    store.deliver("d1", "click", {})
    clock.advance(90)

    assert figure(store, "signoff_outbox_messages") == len(store.unsent()) > 0
    assert figure(store, "signoff_outbox_lag_seconds") == 90
    assert figure(store, 'signoff_model_usd_total{model="model-a"}') == 0.75
    assert figure(store, "signoff_deliveries_unhandled") == 1


def test_every_line_is_one_that_prometheus_reads(store):
    store.book(propose(store), model='odd "name"\n\\', usd=1e-7, tokens={})
    lines = told(figures(store)).splitlines()
    kinds = [line.split()[2] for line in lines if line.startswith("# TYPE")]

    assert all(SAMPLE.match(line) for line in lines if not line.startswith("#"))
    assert len(kinds) == len(set(kinds)) > 5
    assert all(name.endswith("_total") for name in kinds if f"# TYPE {name} counter" in lines)


def test_a_figure_without_a_label_has_none():
    assert told([Figure("f", "gauge", "F.", {"": 2})]) == "# HELP f F.\n# TYPE f gauge\nf 2\n"


# over HTTP


@pytest.fixture
def door(sqlite_engine: Engine, clock: FakeClock) -> Iterator[tuple[Pulse, str]]:
    pulse = Pulse(turn=60.0)
    health = Health(Store(emptied(sqlite_engine), clock), pulse)
    with answering(health, HealthSettings(port=ports())) as port:
        yield pulse, f"http://127.0.0.1:{port}"


def test_a_process_whose_loops_turn_is_alive_and_ready(door):
    _, url = door

    assert get(f"{url}/healthz") == get(f"{url}/readyz") == (200, "ok\n")
    assert get(f"{url}/metrics?x=1")[1].startswith("# HELP signoff_plans ")
    assert get(f"{url}/etc/passwd")[0] == 404


def test_a_loop_that_stands_still_is_named_until_it_turns_again(door):
    pulse, url = door
    pulse.patience["turn"] = -1.0
    status, text = get(f"{url}/healthz")
    pulse.patience["turn"] = 60.0
    pulse.beating("turn", lambda: None)()

    assert (status, text) == (503, "turn has not turned for 0 s\n")
    assert get(f"{url}/healthz")[0] == 200


def test_a_schema_of_another_release_is_alive_but_not_ready(store):
    health = Health(store, Pulse(turn=60.0))
    newest = health.answer("/readyz")
    with store.read() as t:
        version = t.connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one()
    change = "UPDATE alembic_version SET version_num = :version"
    tamper(store, change, version="0001")
    behind, alive = health.answer("/readyz"), health.answer("/healthz")
    tamper(store, change, version=version)

    assert (newest[0], behind[0], alive[0]) == (200, 503, 200)
    assert behind[1] == f"the schema is at 0001; this release needs {version}\n"


def test_a_database_that_does_not_answer_is_said(clock):
    away = Health(Store(open_engine("postgresql://nobody@127.0.0.1:1/none"), clock), Pulse())

    assert [away.answer(path)[0] for path in ("/healthz", "/readyz", "/metrics")] == [200, 503, 503]
    assert "the database does not answer" in away.answer("/readyz")[1]


def test_a_process_is_alive_while_its_database_keeps_every_monitor_waiting(lite, monkeypatch):
    waiting, go_on = Barrier(THREADS + 1), Event()

    def hang(self: Health) -> tuple[int, str]:
        waiting.wait(10)
        go_on.wait(10)
        return 200, "ok\n"

    monkeypatch.setattr(Health, "_ready", hang)
    with (
        answering(Health(lite, Pulse()), HealthSettings(port=ports())) as port,
        ThreadPoolExecutor(THREADS) as monitors,
    ):
        held = [monitors.submit(get, f"http://127.0.0.1:{port}/readyz") for _ in range(THREADS)]
        waiting.wait(10)
        one_more, alive = get(f"http://127.0.0.1:{port}/readyz"), get(f"http://127.0.0.1:{port}/healthz")
        go_on.set()

    assert (one_more[0], alive) == (503, (200, "ok\n"))
    assert [monitor.result() for monitor in held] == [(200, "ok\n")] * THREADS


def test_a_port_that_is_taken_is_refused_with_the_reason(lite, door):
    taken = HealthSettings(port=int(door[1].rpartition(":")[2]))

    with (
        pytest.raises(BadConfig, match=r"SIGNOFF_HEALTH_PORT=\d+ cannot be used"),
        answering(Health(lite, Pulse()), taken),
    ):
        pass


def test_without_a_port_nobody_listens(lite):
    with answering(Health(lite, Pulse()), HealthSettings()) as port:
        assert port == 0
