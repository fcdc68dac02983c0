"""wait: by the plan's clock, or until a source says what is waited for; never past its deadline."""

import itertools
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from storage.contract.spec import holds
from tests.support.loopback import SECRET, Page, Site, nowhere
from tests.support.scratch import context
from workers.base import Permanent
from workers.builtin.http.wait import SecondsParams, UntilParams, Wait

NOON = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


def seconds(home: Path, count: int, *, now: Any, attempt: int = 1, **changes: Any) -> Any:
    ctx = context(home / str(attempt), now=now, attempt=attempt, **changes)
    return Wait.seconds.run(Wait({}), SecondsParams(seconds=count), ctx)


def until(scratch: Path, site: Site, *, entry: Any = None, **options: Any) -> Any:
    worker = Wait({"sources": {"queue": {"url": site.url, **(entry or {})}}})
    changes = {name: options.pop(name) for name in ("cancelled", "progress") if name in options}
    given = {"field": "jobs.waiting", "op": "le", "value": 0, "deadline_seconds": 30, "every_seconds": 0.02}
    return Wait.until.run(worker, UntilParams(source="queue", **given | options), context(scratch, **changes))


def jobs(waiting: Any) -> Page:
    return Page(json.dumps({"jobs": {"waiting": waiting}}))


def test_the_time_is_waited_for_by_the_plans_clock(tmp_path: Path) -> None:
    clock = (NOON + timedelta(seconds=step) for step in itertools.count(0, 200))
    said: list[str] = []
    report = seconds(tmp_path, 600, now=lambda: next(clock), progress=said.append)

    assert report.summary == "waited 600 s"
    assert said == ["about 400 s left", "about 200 s left"]


def test_after_a_restart_only_the_rest_is_waited_for(tmp_path: Path) -> None:
    stopped = seconds(tmp_path, 600, now=lambda: NOON, cancelled=lambda: True)
    later = NOON + timedelta(seconds=600)

    assert stopped.summary == "The wait was stopped 600 s before its end."
    assert seconds(tmp_path, 600, now=lambda: later, attempt=2).status == "succeeded"


def test_a_step_of_a_new_revision_waits_anew(tmp_path: Path) -> None:
    seconds(tmp_path, 600, now=lambda: NOON, cancelled=lambda: True)
    later = NOON + timedelta(seconds=600)
    again = seconds(tmp_path, 600, now=lambda: later, cancelled=lambda: True)

    assert again.summary == "The wait was stopped 600 s before its end."


def test_a_condition_is_waited_for(site: Site, tmp_path: Path) -> None:
    site.pages["/stats?team=a"] = [Page("starting", 503), Page("{"), jobs(None), jobs(7), jobs(0)]
    said: list[str] = []
    report = until(tmp_path, site, path="/stats", query={"team": "a"}, progress=said.append)

    (met,) = Wait.until.criteria["condition_met"]
    assert report.status == "succeeded"
    assert report.summary.startswith("queue /stats: jobs.waiting le 0 after ")
    assert (report.data.tries, report.data.value) == (5, 0)
    assert holds(met, report.data.model_dump())
    assert said == [
        "queue answered 503",
        "queue did not answer with JSON",
        "jobs.waiting is missing",
        "jobs.waiting is 7",
    ]


def test_a_deadline_that_passes_says_what_stood_there_last(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = jobs(7)
    report = until(tmp_path, site, deadline_seconds=1, every_seconds=0.4)

    assert report.status == "failed"
    assert report.summary.startswith(
        "jobs.waiting is 7, not as wanted (queue /: jobs.waiting le 0); the deadline was 1 s, "
    )
    assert report.data.met is False


def test_a_source_that_hangs_cannot_stretch_the_deadline(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = Page(hang=True)
    report = until(tmp_path, site, deadline_seconds=1, every_seconds=1)

    assert report.summary.startswith("queue did not answer: no answer in time, not as wanted")
    assert len(site.asked) == 1


def test_a_wait_that_nobody_wants_any_more_ends(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = jobs(7)
    report = until(
        tmp_path, site, every_seconds=600, deadline_seconds=3500, cancelled=lambda: bool(site.asked)
    )

    assert "; the wait was stopped, " in report.summary


def test_a_source_that_leads_elsewhere_is_not_followed(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = Page("", 302, {"Location": "http://elsewhere.example/"})

    with pytest.raises(Permanent, match="outside its origin"):
        until(tmp_path, site)


def test_a_value_that_repeats_a_secret_is_not_shown(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEUE_TOKEN", SECRET)
    site.pages["/"] = jobs(SECRET)
    entry = {"headers_env": {"Authorization": "QUEUE_TOKEN"}}
    report = until(tmp_path, site, entry=entry, op="contains", value="Bearer")

    assert report.status == "succeeded"
    assert nowhere(report, tmp_path)


@pytest.mark.parametrize("count", [0, 3501])
def test_a_wait_is_bounded(count: int) -> None:
    with pytest.raises(ValidationError):
        SecondsParams(seconds=count)
