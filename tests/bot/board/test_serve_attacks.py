"""Words of strangers in every text and every question, and people who come for what is not theirs."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from bot.board.answers import PAGES
from bot.board.html import Safe
from bot.board.streams import Watch
from storage.config import SignoffConfig
from tests.conftest import emptied
from tests.support.fakes import CONTRACTS, FakeClock, plan_spec, propose, step, terms
from tests.support.samples.board import Board, board, role, said
from tests.support.samples.evening import evening
from tests.support.store import Store

pytestmark = [pytest.mark.board, pytest.mark.hostile]
CONFIG = SignoffConfig.model_validate(
    {"people": {"approvers": ["BOB"], "admins": ["CAROL"]}, "board": {"auditors": ["AUDREY"]}}
)
ADDRESSES = ("/", "/tonight", "/plans", "/fleet", "/figures", "/journal", "/report")
DOCUMENTS = ("/api/plans", "/api/tonight", "/api/fleet", "/api/figures")
QUESTIONS = (
    "q",
    "verb",
    "who",
    "plan",
    "since",
    "until",
    "state",
    "target",
    "before",
    "night",
    "days",
    "verify",
)
NASTY = st.text(alphabet=st.sampled_from("<>\"'&/= scriptonerrorimg\n\t`x\u202e\u200b%;:{}$1#-"), max_size=60)
GIVEN = st.one_of(
    NASTY, st.sampled_from(['"><script>x</script>', "javascript:x", "'onload=x", "1e9", "2026-99-99"])
)


@pytest.fixture
def site(on_disk: Store, tmp_path: Path) -> Iterator[Board]:
    with board(on_disk, tmp_path, CONFIG) as made:
        yield made


class Tree(HTMLParser):
    """Elements with the names of their attributes, and where links lead."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements = set[tuple[str, str]]()
        self.links = list[str]()
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements |= {(tag, name) for name, _ in attrs} | {(tag, "")}
        self.links += [value or "" for name, value in attrs if name in {"href", "src", "action"}]


def quiet_plan(store: Store, channel: str, user: str = "DAVE") -> int:
    """A plan that nobody is asked about, in that channel."""
    store.publish(CONTRACTS.values())
    plan_id = store.request("drop the quiet database", team="T1", user=user, channel=channel)
    store.propose(plan_id, plan_spec(step("quiet")), terms(0, authors=(user,)), author="planner")
    return plan_id


@settings(max_examples=60)
@given(page=st.sampled_from([*PAGES]), asked=st.dictionaries(st.sampled_from(QUESTIONS), GIVEN, max_size=4))
def test_no_question_becomes_markup(quiet: Board, page: str, asked: dict[str, str]):
    scope = quiet.server.scopes.of(quiet.people.actor("CAROL"))
    plain = dict.fromkeys(asked, "x") | {key: "1" for key in asked if key in {"plan", "before", "verify"}}
    found, harmless = (
        Tree(quiet.server.answers.page(scope, f"/{page}", given_, part=False).body.decode())
        for given_ in (asked, plain)
    )

    # What is shown differs with what is found: only elements that some page of ours is made of may appear.
    assert found.elements - harmless.elements <= quiet.known  # type: ignore[attr-defined]
    assert all(
        link.startswith(("/", "#", "https://acme.slack.com/")) and link[:2] != "//" for link in found.links
    )


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """A board that nobody writes to, with every element that its pages are made of."""
    from storage.database.engine import migrate, open_engine
    from tests.support.fakes import FakeClock as Clock

    home = tmp_path_factory.mktemp("quiet")
    engine = open_engine(f"sqlite:///{home / 'signoff.db'}")
    migrate(engine)
    store, clock = Store(engine, clock := Clock()), clock
    evening(store, clock)
    propose(store)
    store.tell_stories()
    with board(store, home, CONFIG) as made:
        scope = made.server.scopes.of(made.people.actor("CAROL"))
        shown = (made.server.answers.page(scope, f"/{page}", {}, part=False).body for page in PAGES)
        made.known = set[tuple[str, str]]().union(*(Tree(body.decode()).elements for body in shown))  # type: ignore[attr-defined]
        yield made
    engine.dispose()


@settings(max_examples=25)
@given(text=NASTY)
def test_what_anybody_wrote_stays_text_on_the_page_of_a_plan(quiet: Board, text: str):
    """Stored: the wish, the goal, parameters, a reason, a report; through the rows, as it really goes."""
    store = quiet.store
    store.publish(CONTRACTS.values())
    trees = []
    for words in ("plain words", text or " "):
        plan_id = store.request(words, team="T1", user="ANN", channel="C1")
        store.propose(plan_id, plan_spec(step("a"), goal=words[:100] or "x"), terms(), author="planner")
        store.reject(plan_id, 1, user="BOB", reason=words)
        scope = quiet.server.scopes.of(quiet.people.actor("ANN"))
        body = quiet.server.answers.page(scope, f"/plans/{plan_id}", {}, part=False).body.decode()
        trees.append(Tree(body))

    assert trees[1].elements <= trees[0].elements
    assert all(link.startswith(("/", "#", "https://acme.slack.com/")) for link in trees[1].links)


ROOMS = {"public": "C1", "joined": "G1", "closed": "G2", "direct": "D1"}
SEES = {
    "CAROL": {"public"},  # an admin sees the journal's own chain, and no more of what people said
    "AUDREY": {*ROOMS},
    "DAVE": {*ROOMS},  # who asked for them
    "ANN": {"public", "joined"},
    "GUS": set[str](),
}


@pytest.mark.parametrize("who", SEES)
def test_each_person_sees_what_they_could_read_and_nothing_else(site: Board, who: str):
    plans = {name: quiet_plan(site.store, channel) for name, channel in ROOMS.items()}
    site.people.rooms["ANN"] = ["G1"]
    site.enters(who)
    watch = Watch(site.server.answers.desk.store)
    watch.begin()
    stream = site.streams(who)
    said(stream, 1)
    if who == "GUS":
        site.people.barred["GUS"] = "Guests may not ask for or decide plans."
        assert {site.gets(path, who)[0] for path in (*ADDRESSES, *DOCUMENTS, "/plans/1")} == {401, 403}
        return
    mine = {plans[name] for name in SEES[who]} if who != "CAROL" else {*plans.values()} & admins(site, plans)
    found = {one["id"] for one in site.document("/api/plans", who)["plans"]}
    shown = {plan for plan in plans.values() if site.gets(f"/plans/{plan}", who)[0] == 200}
    read = {plan for plan in plans.values() if site.gets(f"/api/plans/{plan}/events", who)[0] == 200}
    for plan_id in plans.values():
        site.store.cancel(plan_id, user="DAVE", reason="x")
    site.moved(watch)

    assert found == shown == read == mine
    assert {*map(int, re.findall(r"\d+", said(stream, 1)[0]))} == mine


def admins(site: Board, plans: dict[str, int]) -> set[int]:
    """What `/plan list` shows an admin: the same function is asked."""
    scope = site.server.scopes.of(site.people.actor("CAROL"))
    return {plan for plan in plans.values() if scope.may(site.store.view(plan))}


def test_a_page_that_was_made_for_one_person_is_not_another_ones(site: Board):
    hidden = quiet_plan(site.store, "G1")
    site.people.rooms["DAVE"] = ["G1"]
    for user in ("DAVE", "ANN", "AUDREY", "BOB"):
        site.enters(user)
    answers = [{user: site.gets(page, user, X_Part="main")[2] for user in ("DAVE", "AUDREY", "ANN", "BOB")}
               for page in ADDRESSES]  # fmt: skip

    for found in answers:
        assert f"#{hidden}<" not in found["ANN"]
        assert "quiet" not in found["ANN"]
        assert found["ANN"] == found["BOB"]
    assert any("quiet database" in found["DAVE"] for found in answers)


def test_a_page_is_made_once_for_all_who_may_see_the_same(site: Board, monkeypatch: pytest.MonkeyPatch):
    propose(site.store)
    made: list[str] = []
    answers = site.server.answers
    monkeypatch.setattr(type(answers), "_made", lambda self, scope, path, query: [
        made.append(scope.actor.user), PAGES[path.strip("/")](self, scope, query)][1])  # fmt: skip
    for user in ("ANN", "DAVE", "BOB", "ANN"):
        answers.page(site.server.scopes.of(site.people.actor(user)), "/plans", {}, part=True, seq=7)

    assert made == ["ANN"]


def test_a_list_goes_on_past_what_somebody_does_not_see(site: Board):
    mine = propose(site.store)
    for _ in range(60):
        quiet_plan(site.store, "G1")
    site.enters("ANN")

    assert [one["id"] for one in site.document("/api/plans", "ANN")["plans"]] == [mine]
    assert f"#{mine}<" in site.gets("/plans", "ANN")[2]
    assert f"#{mine}<" in site.gets("/", "ANN")[2]
    assert f"#{mine}<" in site.gets("/journal", "ANN")[2]


def test_good_links_are_not_counted_as_guesses(site: Board):
    for n in range(15):
        site.enters(f"U{n}")

    assert site.posts("/enter", {"t": "x.y"})[0] == 403


def test_who_was_barred_is_told_why_also_later(site: Board):
    site.enters("ANN")
    site.people.barred["ANN"] = "This account is deactivated."

    assert [site.gets("/", "ANN")[0] for _ in range(2)] == [403, 401]
    assert "This account is deactivated." in site.gets("/", "ANN")[2]


@pytest.mark.postgres
def test_the_boards_own_role_is_enough_for_every_page(
    postgres_engine: Engine, tmp_path: Path, clock: FakeClock
):
    store = Store(emptied(postgres_engine), clock)
    ended = evening(store, clock)["well"]
    open_ = propose(store)
    store.tell_stories()
    config = CONFIG
    with board(store, tmp_path, config, url=role(postgres_engine)) as site:
        site.enters("AUDREY")
        pages = (
            *ADDRESSES,
            *DOCUMENTS,
            f"/plans/{open_}",
            f"/plans/{ended}",
            f"/api/plans/{open_}",
            "/plans?q=deploy",
        )
        files = (
            "/journal/export?form=csv",
            "/report?form=csv",
            "/journal?verify=1",
            "/journal?q=ab&verb=propose",
        )
        found = {
            path: site.gets(path, "AUDREY")[0] for path in (*pages, *files, f"/api/plans/{ended}/events")
        }

    assert {path: status for path, status in found.items() if status != 200} == {}


def test_figures_on_the_page_are_those_of_a_hand_count(on_disk: Store, tmp_path: Path, clock: FakeClock):
    evening(on_disk, clock)
    on_disk.tell_stories()
    with board(on_disk, tmp_path, CONFIG) as site:
        page = site.enters("ANN").gets("/figures?days=7", "ANN")[2]
        document = site.document("/api/figures?days=7", "ANN")
    words = " ".join(re.sub(r"<[^>]+>", " ", page).split())

    for told in (
        "Plans ended 7 4 well · 1 failed · 1 rejected · 1 cancelled",
        "0 of 2 plans with a failure on the way",
        "a person answered 1 of 2 50 % 10 min",
        "not recovered 1 of 2 50 %",
        "Approved 5 of 7 71 %",
        "Rejected 1 of 7 14 %",
        "Abandoned: nobody decided 1 of 7 14 %",
        "Edited before it was decided 1 of 7 14 %",
        "Approved without opening the whole plan 4 of 5 approvals 80 %",
        "median of 5; p95 4 min",
        "Cost of thinking $0.25",
    ):
        assert told in words, told
    assert (document["plans"], document["approved"], document["approvals_unopened"]) == (7, 5, 4)


def test_no_page_that_is_not_there_repeats_what_was_asked(site: Board):
    site.enters("ANN")
    _, _, text = site.gets("/%3Cscript%3Ealert(1)%3C/script%3E?q=%3Cimg%3E", "ANN")

    assert "script>alert" not in text
    assert "<img" not in text


def test_safe_is_made_in_few_places():
    """Whoever could make it elsewhere could write markup past the builder."""
    root = Path(__file__).parents[3] / "bot" / "board"
    makers = [path.name for path in root.rglob("*.py") if re.search(r"\bSafe\(", path.read_text("utf-8"))]

    assert makers == ["html.py"]
    assert isinstance(Safe("x"), str)
