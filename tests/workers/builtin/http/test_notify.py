"""notify: one message, to an endpoint that takes messages, and no secret anywhere but on the wire."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.fakes import approve, messages, plan_spec, states, step, terms, work
from tests.support.loopback import SECRET, Page, Site, nowhere, serving
from tests.support.ports import ports
from tests.support.scratch import context
from tests.support.store import Store
from workers.base import Permanent, Unsure
from workers.builtin.http.notify import Notify, NotifyParams
from workers.engine.attempt import Attempts
from workers.registry import Registry

HOOK = "T0123456/B0123456/s3cr3t-hook-path"
TEXT = 'auth-service v2.1.4 is out; see "the thread" <!channel>'


def worker(url: str, **entry: Any) -> Notify:
    return Notify({"endpoints": {"ops-hook": {"url": url, "message_field": "text", **entry}}})


def send(scratch: Path, url: str, **entry: Any) -> Any:
    return Notify.send.run(
        worker(url, **entry), NotifyParams(endpoint="ops-hook", message=TEXT), context(scratch)
    )


def test_the_message_arrives_as_it_stands_in_the_plan(site: Site, tmp_path: Path) -> None:
    site.pages["/hook"] = Page("ok")
    report = send(tmp_path, f"{site.url}/hook")

    assert report.summary.startswith("ops-hook took the message (200) in ")
    assert [json.loads(body) for body in site.bodies] == [{"text": TEXT}]
    assert site.asked[0][1]["Idempotency-Key"] == f"test{tmp_path}"


def test_secrets_are_sent_and_stand_nowhere(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPS_HOOK", f"{HOOK}\n")
    monkeypatch.setenv("OPS_TOKEN", SECRET)
    site.pages[f"/services/{HOOK}"] = Page(f"no such hook: {HOOK} or s3cr3t-hook-path, {SECRET}", 404)
    entry = {"path_env": "OPS_HOOK", "headers_env": {"Authorization": "OPS_TOKEN"}}
    report = send(tmp_path, f"{site.url}/services/", **entry)

    assert site.asked[0][1]["Authorization"] == SECRET
    assert report.status == "failed"
    assert report.summary.startswith(
        "ops-hook did not take the message: it answered 404: no such hook: [hidden]"
    )
    assert "s3cr3t-hook-path" not in report.model_dump_json()
    assert nowhere(report, tmp_path)


def test_a_secret_path_stands_in_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPS_HOOK", "s3cr3t/t0ken")
    with serving() as site:
        site.pages["/s3cr3t/t0ken"] = Page(hang=True)
        with pytest.raises(Unsure) as failed:
            send(tmp_path, site.url, path_env="OPS_HOOK", timeout=0.2)

    assert nowhere(failed.value, tmp_path)


@pytest.mark.parametrize("value", ["", "../admin", "a b", "a?b=c", "http://elsewhere.example/"])
def test_a_secret_path_that_is_none_is_refused(
    value: str, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPS_HOOK", value)

    with pytest.raises(Permanent, match="OPS_HOOK"):
        send(tmp_path, site.url, path_env="OPS_HOOK")

    assert site.asked == []


def test_an_endpoint_that_is_only_checked_takes_no_messages(site: Site, tmp_path: Path) -> None:
    with pytest.raises(Permanent, match=r"takes no messages: .* Nothing was sent"):
        send(tmp_path, site.url, message_field="")

    assert site.asked == []


def test_what_was_certainly_not_sent_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(Permanent, match=r"connection refused\. Nothing was sent"):
        send(tmp_path, f"http://127.0.0.1:{ports()}")


def test_a_redirect_is_not_followed(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = Page("", 308, {"Location": "/elsewhere"})
    report = send(tmp_path, site.url)

    assert "it answered 308" in report.summary
    assert len(site.asked) == 1


def sent(store: Store, scratch: Path, url: str, **entry: Any) -> int:
    """A plan whose only step is a message, run by the engine."""
    registry = Registry([worker(url, **entry)])
    store.publish(registry.contracts())
    attempts = Attempts(store, registry, "w1", scratch)
    parameters = {"endpoint": "ops-hook", "message": TEXT}
    made = step("s1", registry.contract("notify", "send"), parameters=parameters)
    plan_id = store.request("tell them", team="T1", user="ANN", channel="C1")
    store.propose(plan_id, plan_spec(made), terms(), author="planner")
    approve(store, plan_id)
    for _ in range(3):
        work(attempts)
    return plan_id


def test_a_message_is_sent_once_and_a_lost_answer_asks_a_person(lite: Store, tmp_path: Path) -> None:
    with serving() as site:
        site.pages["/"] = Page(hang=True)
        plan_id = sent(lite, tmp_path, site.url, timeout=0.2)

    assert states(lite, plan_id) == {"s1": "unknown"}
    assert len(site.bodies) == 1
    assert len(messages(lite, "question")) == 1


def test_a_message_goes_through_the_whole_engine(lite: Store, site: Site, tmp_path: Path) -> None:
    site.pages["/"] = Page("", 204)
    plan_id = sent(lite, tmp_path, site.url)

    assert lite.view(plan_id).outcome == "succeeded"
    assert len(site.bodies) == 1
