"""The board over HTTP, as people, programs and attackers come to it. The server and the rows are real."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert

from bot.board.door import FETCHES
from bot.board.streams import Watch
from storage.config import SignoffConfig
from storage.database.tables import Opened, Revision
from tests.support.fakes import (
    CONTRACTS,
    approve,
    approved,
    ask,
    plan_spec,
    propose,
    step,
    succeed,
    tamper,
    terms,
)
from tests.support.samples.board import Board, board, said
from tests.support.store import Store

pytestmark = pytest.mark.board
PAGES = ("/", "/tonight", "/plans", "/fleet", "/figures", "/journal", "/report")
CONFIG = SignoffConfig.model_validate(
    {"people": {"approvers": ["BOB"], "admins": ["CAROL"]}, "board": {"auditors": ["AUDREY"]}}
)
SECRET = "drop the secret database"


@pytest.fixture
def site(on_disk: Store, tmp_path: Path) -> Iterator[Board]:
    with board(on_disk, tmp_path, CONFIG) as made:
        yield made


def private(store: Store, channel: str = "G1") -> int:
    """A plan of DAVE's in a private channel, which needs nobody's approval."""
    store.publish(CONTRACTS.values())
    plan_id = store.request(SECRET, team="T1", user="DAVE", channel=channel)
    store.propose(plan_id, plan_spec(step("hidden")), terms(0, authors=("DAVE",)), author="planner")
    return plan_id


def test_without_a_link_nobody_sees_anything(site: Board):
    plan_id = propose(site.store)
    found = {
        site.gets(path)[0] for path in (*PAGES, f"/plans/{plan_id}", "/api/plans", "/stream", "/nothing")
    }

    assert found == {401}


def test_a_link_shows_whom_it_lets_in_and_is_used_by_a_button(site: Board):
    ticket = site.link("BOB")
    for _ in range(3):  # as previews and scanners do
        status, headers, text = site.gets(f"/enter?t={ticket}")
        assert (status, "Open the board as BOB" in text, headers["Referrer-Policy"]) == (
            200,
            True,
            "no-referrer",
        )
    first, second = (site.posts("/enter", {"t": ticket}) for _ in range(2))

    assert first[0] == 303
    assert (second[0], "used already" in second[2]) == (403, True)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_answered_with_strict_headers(site: Board, page: str):
    succeed(site.store, approved(site.store, step("a")), "a")
    propose(site.store)
    site.store.tell_stories()
    status, headers, text = site.enters("ANN").gets(page, "ANN")

    assert status == 200
    assert "script-src 'self'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert (headers["X-Content-Type-Options"], headers["Cache-Control"], headers["Vary"]) == (
        "nosniff",
        "no-cache",
        "Cookie",
    )
    assert " style=" not in text
    assert "<script>" not in text


def test_a_page_that_has_not_changed_is_not_sent_again(site: Board):
    site.enters("ANN")
    headers = site.gets("/plans", "ANN", X_Part="main")[1]

    assert site.gets("/plans", "ANN", X_Part="main", If_None_Match=headers["ETag"])[0] == 304


def test_a_private_plan_is_not_there_for_who_cannot_read_its_channel(site: Board):
    hidden, plan_id = private(site.store), propose(site.store)
    site.enters("ANN").enters("DAVE")
    site.people.rooms["DAVE"] = ["G1"]
    for path in (
        f"/plans/{hidden}",
        f"/api/plans/{hidden}",
        f"/api/plans/{hidden}/events",
        f"/plans/{hidden}/log/hidden/1",
    ):
        status, _, text = site.gets(path, "ANN")
        assert (status, SECRET in text) == (404, False)
    for page in (
        *PAGES,
        f"/journal?plan={hidden}",
        "/plans?q=secret",
        "/journal/export?form=csv",
        "/report?form=csv",
        "/api/plans",
        "/api/tonight",
    ):
        text = site.gets(page, "ANN")[2]
        assert SECRET not in text, page
        assert f"#{hidden}<" not in text, page

    assert site.gets(f"/plans/{hidden}", "DAVE")[0] == 200
    assert [one["id"] for one in site.document("/api/plans", "ANN")["plans"]] == [plan_id]
    assert [one["id"] for one in site.document("/api/plans", "DAVE")["plans"]] == [plan_id, hidden]


@pytest.mark.hostile
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE revision SET spec = replace(spec, '\"a\"', '\"zebra\"')",
        "UPDATE plan SET text = 'look at zebra'",
        "UPDATE step SET report = replace(report, 'it is done', 'zebra')",
    ],
)
def test_words_that_were_changed_behind_our_back_are_on_no_page_an_alarm_is(site: Board, statement: str):
    made = plan_spec(step("s1"), step("s2", depends_on=("s1",)))
    open_, ended = (propose(site.store, spec) for spec in (made, plan_spec(step("s1"))))
    for plan_id in (open_, ended):
        approve(site.store, plan_id)
        succeed(site.store, plan_id, "s1")
    site.store.tell_stories()
    site.enters("ANN")
    tamper(site.store, statement)
    for page in (*PAGES, "/api/plans", "/api/tonight", "/report?form=csv"):
        assert "zebra" not in site.gets(page, "ANN")[2], page
    for page in (f"/plans/{open_}", f"/plans/{ended}", f"/api/plans/{open_}", f"/api/plans/{ended}"):
        status, _, text = site.gets(page, "ANN")
        assert (status, "zebra" in text, "behind the bot" in text) == (200, False, True), page
    with site.store.read() as t:
        assert t.rows(Opened) == []  # nobody has read it


def test_a_wish_that_is_not_planned_yet_has_a_page(site: Board):
    plan_id = ask(site.store)

    assert site.enters("ANN").gets(f"/plans/{plan_id}", "ANN")[0] == 200


def test_a_hidden_plan_is_not_told_apart_from_none(site: Board):
    hidden = private(site.store)
    site.enters("ANN")

    assert site.gets(f"/plans/{hidden}", "ANN")[2] == site.gets("/plans/4711", "ANN")[2]
    assert site.gets(f"/api/plans/{hidden}", "ANN")[2] == site.gets("/api/plans/4711", "ANN")[2]


def test_what_is_hidden_is_not_counted_in_figures(site: Board):
    hidden = private(site.store)
    site.store.cancel(hidden, user="DAVE", reason="x")
    succeed(site.store, approved(site.store, step("a")), "a")
    site.store.tell_stories()

    assert site.enters("ANN").document("/api/figures", "ANN")["plans"] == 1
    assert site.enters("DAVE").document("/api/figures", "DAVE")["plans"] == 2
    assert site.enters("AUDREY").document("/api/figures", "AUDREY")["plans"] == 2


@pytest.mark.hostile
@pytest.mark.parametrize(
    "path",
    [
        "/plans/0",
        "/plans/-1",
        "/plans/99999999999",
        "/plans/1%2F2",
        "/plans/../etc",
        "/static/../board.py",
        "/plans/1;x",
        "/api/plans/x",
        "/%00",
        "/plans/1/log/..%2F..%2Fetc/1",
    ],
)
def test_guessed_addresses_lead_nowhere(site: Board, path: str):
    propose(site.store)
    status, headers, _ = site.enters("ANN").gets(path, "ANN")

    assert status == 404
    assert "Content-Security-Policy" in headers


@pytest.mark.hostile
def test_who_calls_us_by_another_name_gets_nothing(site: Board):
    site.enters("ANN")
    status, _, text = site.gets("/", "ANN", Host="evil.example")

    assert (status, "Needs a person" in text) == (421, False)


@pytest.mark.hostile
@pytest.mark.parametrize("site_", ["cross-site", "same-site", "none"])
def test_a_form_from_elsewhere_does_nothing(site: Board, site_: str):
    site.enters("ANN")

    assert site.posts("/leave", {}, "ANN", Sec_Fetch_Site=site_)[0] == 403
    assert site.posts("/enter", {"t": site.link("BOB")}, Sec_Fetch_Site=site_)[0] == 403
    assert site.gets("/", "ANN")[0] == 200


@pytest.mark.hostile
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_is_done_here(site: Board, method: str):
    site.enters("ANN")
    headers = {"Cookie": site.cookies["ANN"], "Sec-Fetch-Site": "same-origin"}

    assert site.asks(method, "/plans/1", b"", headers)[0] == 405


def test_who_leaves_is_out(site: Board):
    site.enters("ANN")

    assert site.posts("/leave", {}, "ANN")[0] == 200
    assert site.gets("/", "ANN")[0] == 401


def test_who_is_barred_is_out_for_good(site: Board):
    site.enters("ANN")
    site.people.barred["ANN"] = "This account is deactivated."
    status, _, text = site.gets("/", "ANN")
    del site.people.barred["ANN"]

    assert (status, "deactivated" in text) == (403, True)
    assert site.gets("/", "ANN")[0] == 401


def test_where_slack_does_not_say_who_it_is_nothing_is_shown(site: Board):
    site.enters("ANN")
    site.people.silent = True

    assert site.gets("/", "ANN")[0] == 503


@pytest.mark.hostile
def test_who_asks_too_often_waits(site: Board):
    site.enters("ANN")
    found = [site.gets("/plans", "ANN")[0] for _ in range(FETCHES[0] + 10)]

    assert found.count(200) == FETCHES[0]
    assert found[-1] == 429


@pytest.mark.hostile
def test_links_are_not_guessed_by_trying(site: Board):
    found = [site.posts("/enter", {"t": f"{n}.{'0' * 32}"})[0] for n in range(15)]

    assert found[:10] == [403] * 10
    assert set(found[10:]) == {429}


def test_a_token_reads_documents_and_no_page(site: Board):
    plan_id = propose(site.store)
    bearer = {"Authorization": f"Bearer {site.link('ANN', token='report')}"}

    assert [one["id"] for one in json.loads(site.gets("/api/plans", **bearer)[2])["plans"]] == [plan_id]
    assert site.gets("/", **bearer)[0] == 401
    assert site.gets("/api/plans", Authorization=f"Bearer {site.link('ANN')}")[0] == 401  # a link is no token


def test_what_goes_wrong_is_told_as_a_problem(site: Board):
    site.enters("ANN")
    status, headers, text = site.gets("/api/plans?before=x", "ANN")

    assert (status, headers["Content-Type"]) == (400, "application/problem+json")
    assert json.loads(text)["status"] == 400


def test_the_stream_tells_numbers_to_who_sees_them_and_nothing_else(site: Board):
    hidden, plan_id = private(site.store), propose(site.store)
    site.enters("ANN").enters("DAVE")
    watch = Watch(site.server.answers.desk.store)
    watch.begin()
    ann, dave = site.streams("ANN"), site.streams("DAVE")
    assert said(ann, 1) == said(dave, 1) == ["hello {}"]
    site.store.cancel(hidden, user="DAVE", reason="x")
    site.moved(watch)
    site.store.cancel(plan_id, user="ANN", reason="x")
    site.moved(watch)

    assert said(dave, 2) == [f'moved {{"plans": [{hidden}]}}', f'moved {{"plans": [{plan_id}]}}']
    assert said(ann, 1) == [f'moved {{"plans": [{plan_id}]}}']  # and of the other one it has heard nothing


def test_a_session_has_six_streams_and_no_seventh(site: Board):
    site.enters("ANN")
    open_ = [site.streams("ANN") for _ in range(6)]
    for one in open_:
        said(one, 1)

    assert site.streams("ANN").status == 429


def test_who_goes_from_page_to_page_is_not_counted_twice(site: Board):
    site.enters("ANN")
    for _ in range(10):
        said(site.streams("ANN"), 1)
        site.closes()
        until(lambda: site.server.hub.count("") == 0 and not site.server.hub.streams)


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_it_stops_at_once_with_open_streams(on_disk: Store, tmp_path: Path):
    with board(on_disk, tmp_path, CONFIG) as site:
        stream = site.enters("ANN").streams("ANN")
        said(stream, 1)
        began = time.monotonic()
        site.server.hub.end()
        assert said(stream, 1) == ["bye {}"]

    assert time.monotonic() - began < 5.0


def test_what_is_running_moves_without_an_event(site: Board):
    watch = Watch(site.server.answers.desk.store)
    plan_id = approved(site.store, step("a"))
    watch.begin()
    from tests.support.fakes import take

    take(site.store, plan_id, "a")
    watch.moved()
    with site.store.write() as t:
        from sqlalchemy import text

        t.execute(text("UPDATE step SET progress = '3 of 8'"))

    assert watch.moved() == {plan_id}
    assert watch.moved() == set()


def test_an_event_that_appears_behind_a_newer_one_is_not_missed(lite: Store):
    class Late:
        """A journal as PostgreSQL may show it: 8 is committed after 9 was seen."""

        def __init__(self) -> None:
            self.found = [(7, 1)]

        def moved(self, after: int) -> list[tuple[int, int]]:
            return [one for one in self.found if one[0] > after]

        def last_event(self) -> int:
            return 7

        def progress(self, states: Any) -> dict[int, Any]:
            return {}

    late: Any = Late()
    watch = Watch(late)
    watch.begin()
    late.found = [(7, 1), (9, 3)]
    first = watch.moved()
    late.found = [(7, 1), (8, 2), (9, 3)]

    assert (first, watch.moved(), watch.moved()) == ({3}, {2}, set())


def test_opening_a_plan_is_kept_for_the_figures(site: Board):
    plan_id = propose(site.store)
    site.enters("BOB").gets(f"/plans/{plan_id}", "BOB")
    from storage.board.stories import all_opened

    assert [(one.plan_id, one.user) for one in all_opened(site.store)] == [(plan_id, "BOB")]


def test_what_was_added_under_a_mandate_names_the_approval_that_it_is_under(site: Board):
    """The report is evidence: an epic that runs was not approved by nobody."""
    plan_id = propose(site.store, plan_spec(step("a")))
    approve(site.store, plan_id)
    with site.store.write() as t:
        (row,) = t.rows(Revision)
        t.execute(insert(Revision).values(**row.model_dump() | {"number": 2, "parent": 1}))
    looking = site.server.answers.desk.store

    for revision in (1, 2):
        found = looking.approvals(plan_id, revision)
        assert [(one.user, one.revision) for one in found] == [("BOB", 1)]
