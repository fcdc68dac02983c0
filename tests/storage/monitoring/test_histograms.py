"""Distributions as Prometheus reads them; and rules that name only figures that there are."""

import re
import shutil
import subprocess

import pytest

from storage.monitoring.histograms import Histogram, Kept, durations, rungs, waits
from storage.monitoring.metrics import figures, told
from tests.support.fakes import FakeClock, approve, approved, plan_spec, propose, step, succeed, take
from tests.support.places import ROOT
from tests.support.store import Store

pytestmark = pytest.mark.board
RULES = ROOT / "docs" / "deploy" / "alerts.yml"


def whole(store: Store) -> str:
    """What /metrics answers."""
    with store.read() as t:
        distributions = Kept().get(t.connection)
    return told(figures(store)) + distributions


def test_a_histogram_counts_what_is_at_most_each_bound():
    made = [*Histogram("h", "m", (1.0, 5.0), {(("a", 'x"y'),): [0.5, 1.0, 4.0, 9.0]}).lines()]

    assert made[2:] == [
        'h_bucket{a="x\\"y",le="1"} 2',
        'h_bucket{a="x\\"y",le="5"} 3',
        'h_bucket{a="x\\"y",le="+Inf"} 4',
        'h_sum{a="x\\"y"} 14.5',
        'h_count{a="x\\"y"} 4',
    ]


def test_what_ran_and_how_long_people_took(store: Store, clock: FakeClock):
    plan_id = propose(store, plan_spec(step("a")))
    clock.advance(minutes=4)
    approve(store, plan_id)
    take(store, plan_id, "a")
    store.tell_stories()
    with store.read() as t:
        assert durations(t.connection).values == {}
        assert waits(t.connection).values == {(): []}  # it has not ended yet
    done = approved(store, step("a"))
    succeed(store, done, "a")
    store.tell_stories()
    with store.read() as t:
        (key,) = durations(t.connection).values
        assert dict(key) == {"worker": "ops", "action": "check"}
        assert waits(t.connection).values == {(): [0.0]}
        assert set(rungs(t.connection).values()) == {0.0}


def test_they_are_made_once_a_minute(lite: Store):
    now = [0.0]
    kept = Kept(clock=lambda: now[0])
    with lite.read() as t:
        first = kept.get(t.connection)
    succeed(lite, approved(lite, step("a")), "a")
    with lite.read() as t:
        assert kept.get(t.connection) == first
        now[0] = 60.0
        assert kept.get(t.connection) != first


def test_every_rule_names_figures_that_there_are(lite: Store):
    text = whole(lite)
    known = {*re.findall(r"^# TYPE (\w+)", text, re.MULTILINE)}
    named = {name.removesuffix("_bucket") for name in re.findall(r"signoff_\w+", RULES.read_text("utf-8"))}

    assert named
    assert named - known == set()


@pytest.mark.skipif(
    not shutil.which("promtool"), reason="There is no promtool. On Debian: apt-get install prometheus"
)
def test_prometheus_reads_the_rules_and_the_figures(lite: Store):
    succeed(lite, approved(lite, step("a")), "a")
    text = whole(lite)
    rules = subprocess.run(["promtool", "check", "rules", RULES], capture_output=True, text=True, check=False)
    read = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )

    assert rules.returncode == 0, rules.stderr
    assert "error" not in read.stderr.lower(), read.stderr
