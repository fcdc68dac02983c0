"""The three ways to a new version: what they do, what stops them, and what if the worker dies on the way."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.cluster.deploy_crash import crash, die_and_resume, neighbour, steps
from tests.support.cluster.deploy_site import Site
from tests.support.cluster.witness import preview_client, watching
from workers.builtin.kubernetes.strategies import canary_size

pytest_plugins = ("tests.support.cluster.fixtures",)
STRATEGIES = ["rolling", "blue_green", "canary"]


@pytest.mark.crash
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_worker_that_dies_after_any_sub_step_is_resumed_without_a_gap_or_a_second_switch(
    site: Site, strategy: str
) -> None:
    points = range(len(steps(neighbour(site, "whole"), strategy)) + 1)
    with ThreadPoolExecutor(4) as pool:
        sites = [neighbour(site, f"web{point}") for point in points]
        outcomes = list(pool.map(lambda one, point: die_and_resume(one, strategy, point), sites, points))

    assert [fault for outcome in outcomes for fault in outcome.faults(strategy)] == []


@pytest.mark.parametrize("strategy", ["blue_green", "canary"])
def test_old_pods_go_only_after_traffic_has_been_seen_to_reach_the_new_ones(
    site: Site, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.deploy("v1.0.0")
    scale, reached = site.cluster.real.scale, []

    def scale_and_look(name: str, replicas: int, *, dry_run: bool = False) -> None:
        if not replicas:
            reached.append(set(site.reached()))
        scale(name, replicas, dry_run=dry_run)

    monkeypatch.setattr(site.cluster.real, "scale", scale_and_look)
    site.deploy("v1.1.0", strategy)

    assert reached == [{"v1.1.0"}]


def test_a_canary_gets_a_growing_share_before_the_stable_pods_follow(site: Site) -> None:
    site.deploy("v1.0.0")
    seen: list[dict[str, int]] = []
    site.pauses.append(lambda: seen.append(site.sizes()))

    with watching(site) as watched:
        report = site.deploy("v1.1.0", "canary")

    assert report.summary == "web v1.0.0 → v1.1.0 on production, canary, 2/2 ready, all traffic on blue"
    assert {"blue": 2, "blue-canary": 1} in seen
    assert {"blue": 2, "blue-canary": 2} in seen
    assert site.sizes() == {"blue": 2, "blue-canary": 0}
    assert watched.switches == 0
    assert "canary 1 of 3 pods, 1 s to go" in site.said


def test_the_share_of_a_canary_can_be_asked_for(site: Site) -> None:
    site.deploy("v1.0.0")
    sizes: set[int] = set()
    site.pauses.append(lambda: sizes.add(site.sizes().get("blue-canary", 0)))

    report = site.deploy("v1.1.0", "canary", percent=60)

    assert report.status == "succeeded", report.summary
    assert max(sizes) == 3
    assert site.reached() == ["v1.1.0", "v1.1.0"]


@pytest.mark.parametrize(
    ("percent", "stable", "pods"), [(20, 2, 1), (20, 4, 1), (50, 4, 4), (10, 30, 4), (1, 1, 1), (90, 1, 9)]
)
def test_a_share_of_traffic_is_a_number_of_pods_and_never_none(percent: int, stable: int, pods: int) -> None:
    assert canary_size(percent, stable) == pods


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_first_deployment_has_no_canary_and_needs_no_switch(site: Site, strategy: str) -> None:
    report = site.deploy("v1.0.0", strategy)

    assert report.status == "succeeded", report.summary
    assert report.data.strategy == ("blue_green" if strategy == "blue_green" else "rolling")
    assert site.sizes() == {"blue": 2}


@pytest.mark.parametrize("strategy", ["blue_green", "canary"])
def test_a_version_that_is_ready_but_answers_wrongly_never_gets_all_traffic(
    site: Site, strategy: str
) -> None:
    with preview_client(site) as (url, asked):
        site.entry["smoke_url"] = url
        site.deploy("v1.0.0")
        report = site.deploy("v1.1.0-broken", strategy)

    assert report.summary.startswith(
        "The smoke check of v1.1.0-broken failed: it answered 500: the queue is missing (3 tries)"
    )
    assert "On production v1.0.0 serves, 2/2 ready; " in report.summary
    assert report.summary.endswith("is scaled to 0.")
    assert asked == [{"v1.0.0"}, *[{"v1.1.0-broken"}] * 3]
    assert {part: size for part, size in site.sizes().items() if size} == {"blue": 2}


def test_a_rolling_deploy_that_answers_wrongly_is_a_failure_and_can_be_rolled_back(site: Site) -> None:
    with preview_client(site) as (url, _):
        site.entry["smoke_url"] = url
        site.deploy("v1.0.0")
        record = site.before("v1.1.0-broken")
        report = site.deploy("v1.1.0-broken")
        back = site.rollback(previous=record)

    assert report.status == "failed"
    assert "blue stays on v1.1.0-broken until it is rolled back" in report.summary
    assert back.status == "succeeded", back.summary
    assert site.reached() == ["v1.0.0", "v1.0.0"]


def test_a_canary_that_falls_over_is_taken_away_and_the_stable_version_serves(site: Site) -> None:
    site.deploy("v1.0.0")

    report = site.deploy("v2-crash", "canary")

    assert report.summary.startswith("CrashLoopBackOff: ")
    assert "On production v1.0.0 serves, 2/2 ready; the canary is scaled to 0." in report.summary
    assert site.sizes() == {"blue": 2, "blue-canary": 0}


def test_rolling_back_takes_a_canary_away_first(site: Site) -> None:
    site.deploy("v1.0.0")
    record = site.before("v1.1.0")
    died = die_in_trial(site)

    report = site.rollback(previous=record)

    assert died == {"blue": 2, "blue-canary": 1}
    assert report.summary.startswith("web stays at v1.0.0 on production")
    assert site.cluster.changes[0] == "scale"
    assert site.reached() == ["v1.0.0", "v1.0.0"]


def die_in_trial(site: Site) -> dict[str, int]:
    crash(site, "canary", 1, {})
    return site.sizes()
