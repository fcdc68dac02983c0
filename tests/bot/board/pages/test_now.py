"""Pages, drawn from views: what needs a person stands first, and whatever anybody wrote stays text."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.board.html import Safe
from bot.board.pages.figures import FiguresFacts, figures_page
from bot.board.pages.fleet import FleetFacts, Holding, fleet_page, problems
from bot.board.pages.journal import Asked, JournalFacts, journal_page
from bot.board.pages.now import NowFacts, Vital, now_page, sorted_out
from bot.board.pages.plan import ApprovalFacts, AttemptFacts, PlanFacts, RevisionFacts, plan_page
from bot.board.pages.plans import PlansFacts, plans_page
from bot.board.pages.report import Entry, ReportFacts, report_csv, report_page
from bot.board.pages.tonight import Held, TonightFacts, free, tonight_page
from bot.board.parts.lanes import Scale
from bot.board.parts.telling import Telling
from bot.board.parts.times import Now
from storage.board.happenings import Happening
from storage.board.lines import Filter, PlanLine
from storage.board.spans import Span
from storage.board.sums import Sums
from storage.contract.states import PlanState, StepState
from storage.database.tables import Process, Stop
from storage.reading.plan_view import PlanView, StepView
from tests.support.fakes import NOW, step
from tests.support.samples.cards import hostile, plan_view

pytestmark = pytest.mark.board
SCALE = Scale(NOW - timedelta(hours=2), NOW + timedelta(hours=6))


def telling(text: str = "") -> Telling:
    named = (lambda id_: text or id_), (lambda id_: text or id_)
    return Telling(
        Now(NOW, "America/New_York"), *named, slack=lambda view: "https://acme.slack.com/archives/C1/p1"
    )


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(sorted(name for name, _ in attrs))))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def elements(markup: Safe) -> list[tuple[str, tuple[str, ...]]]:
    parser = Elements()
    parser.feed(markup)
    return parser.found


def text_of(markup: Safe) -> str:
    parser = Elements()
    parser.feed(markup)
    return " ".join(parser.text)


def pages(text: str) -> Iterator[Safe]:
    """Every page, with this text wherever somebody could have written it."""
    tell = telling(text)
    views = [hostile(text, state=state) for state in PlanState]
    line = PlanLine(1, PlanState.done, "succeeded", 1, text, "T1", "UANN", "C1", NOW)
    event = Happening(
        1,
        1,
        1,
        NOW,
        "fail",
        text,
        {"step": text, "summary": text, text[:20] or "x": text},
        "",
        "ab",
        "C1",
        "T1",
    )
    vitals = [Vital(text, text, text, "ask")]
    yield now_page(NowFacts(views, [(line, text)], Sums(), vitals), tell)
    yield plans_page(PlansFacts([line], Filter(words=text), 7, {1: text}), tell)
    yield tonight_page(
        TonightFacts(SCALE, views, views, [Held(text, NOW, NOW + timedelta(hours=1), ())], [], 0), tell
    )
    sums = Sums(outcomes={"succeeded": 1}, rungs={"retry": (1, 2.0)}, wanted=1, waits=(3.0,), usd=1.0)
    yield figures_page(FiguresFacts(sums, 30, NOW, {(text, text): Span(1, 2, 5, 1)}, [(text, 1, 1.0)]), tell)
    process = Process(name=text, kind="workers", release=text, started_at=NOW, seen_at=NOW)
    stop = Stop(scope=text, reason=text, by=text, since=NOW)
    yield fleet_page(FleetFacts([process], {}, [stop], [Holding(text, 1, NOW, unknown=True)], vitals), tell)
    yield journal_page(
        JournalFacts([event], Asked(text, text, text, text, text, text), 7, verdict=text), tell
    )
    entry = Entry(
        1,
        "done",
        "succeeded",
        text,
        NOW,
        text,
        text,
        text,
        (text,),
        text,
        1,
        text,
        ((text, NOW, text, 1, text),),
        text,
        (text,),
        NOW,
        text,
        1,
    )
    yield report_page(ReportFacts([entry], "2026-01-01", "2026-02-01", text), tell)
    spec = views[0].spec
    tries = {"s0": [AttemptFacts(1, text, "fail", NOW, NOW, text, text, text, "/plans/1/log/s0/1")]}
    revision = RevisionFacts(2, text, NOW, "ab", text, spec, None)
    given_ = [ApprovalFacts(text, NOW, text, (text,), text, text)]
    for view in views:
        yield plan_page(PlanFacts(view, [revision], given_, tries, [event], 1, text, text), tell)


@settings(max_examples=25)
@given(st.text(alphabet=st.sampled_from("<>\"'&/= script\n\t`x\u202e\x00"), max_size=40))
def test_nothing_that_anybody_wrote_becomes_markup(text):
    plain = "x" * min(len(text), 3)
    for made, harmless in zip(pages(text), pages(plain), strict=True):
        names = {name for name, _ in elements(made)}
        attributes = {attribute for _, found in elements(made) for attribute in found}
        assert names <= {name for name, _ in elements(harmless)} | {"br", "b", "small"}
        assert not {one for one in attributes if one.startswith("on") or one == "style"}
        assert "script" not in names


def test_what_needs_a_person_comes_first_and_unknown_before_all():
    asks = plan_view(id=1)
    unknown = plan_view(
        StepView(step("a"), state=StepState.unknown, attempt=1), id=2, state=PlanState.approved
    )
    runs = plan_view(
        StepView(step("a"), state=StepState.running, attempt=1, started_at=NOW),
        id=3,
        state=PlanState.approved,
    )
    found = sorted_out([asks, runs, unknown], NOW)
    drawn = now_page(NowFacts([asks, runs, unknown], [], Sums(), []), telling())

    assert [view.id for view in found["ask"]] == [2, 1]
    assert [view.id for view in found["run"]] == [3]
    assert drawn.index('id="p2"') < drawn.index('id="p1"') < drawn.index('id="p3"')


@pytest.mark.parametrize(
    ("view", "kind"),
    [
        (plan_view(), "ask"),
        (plan_view(state=PlanState.stalled), "ask"),
        (plan_view(state=PlanState.planning, form="{}"), "ask"),
        (plan_view(state=PlanState.planning), "run"),
        (plan_view(StepView(step("a"), withheld="a freeze"), state=PlanState.approved), "hold"),
        (plan_view(StepView(step("a"), stopped="everything was stopped"), state=PlanState.approved), "hold"),
        (
            plan_view(StepView(step("a"), not_before=NOW + timedelta(hours=1)), state=PlanState.approved),
            "wait",
        ),
    ],
)
def test_a_plan_stands_where_it_waits(view: PlanView, kind: str):
    assert [name for name, found in sorted_out([view], NOW).items() if found] == [kind]


def test_of_a_hidden_plan_only_the_time_is_drawn():
    later = NOW + timedelta(hours=1)
    view = plan_view(
        StepView(step("a"), not_before=later),
        state=PlanState.approved,
        text="secret words",
        goal="secret goal",
        id=4711,
    )
    drawn = tonight_page(TonightFacts(SCALE, [], [view], [], [], 0), telling())

    assert "a private plan" in text_of(drawn)
    assert "4711" not in drawn
    assert "secret" not in drawn
    assert 'class="k-box"' in drawn


@pytest.mark.parametrize(
    ("busy", "found"),
    [
        ([], 0),
        ([(0, 30)], 30),
        ([(25, 40)], 0),
        ([(10, 30), (40, 60)], 60),
        ([(0, 110)], None),
        ([(0, 40), (30, 110)], None),
    ],
)
def test_where_there_is_room(busy, found):
    def at(minutes: int):
        return NOW + timedelta(minutes=minutes)

    spans = [(at(start), at(end)) for start, end in busy]

    assert free(spans, NOW, at(120)) == (None if found is None else at(found))


def test_a_share_is_never_without_its_whole():
    counts = {"wanted": 4, "approved": 3, "rejected": 1, "approvals": 3, "unopened": 2}
    rungs = {"retry": (2, 4.0), "nobody": (1, None)}
    sums = Sums(outcomes={"succeeded": 3}, rungs=rungs, waits=(10.0, 20.0, 30.0), **counts)
    told = text_of(figures_page(FiguresFacts(sums, 30, NOW, {}, []), telling()))

    for said in (
        "2 of 3 plans with a failure on the way",
        "3 of 4",
        "1 of 4",
        "2 of 3 approvals",
        "median of 3",
    ):
        assert said in told


def test_a_process_that_is_gone_with_steps_in_hand_is_a_problem():
    gone = Process(
        name="workers-b", kind="workers", release="1", started_at=NOW, seen_at=NOW - timedelta(minutes=5)
    )
    alive = replace_seen(gone)
    facts = FleetFacts([gone, alive], {"workers-b": 2}, [], [], [])

    assert [word for _, word, _, _ in problems(facts, NOW)] == ["Gone"]
    assert [word for _, word, _, _ in problems(replace(facts, processes=[gone], running={}), NOW)] == [
        "No workers"
    ]


def replace_seen(one: Process) -> Process:
    return Process(name="workers-a", kind="workers", release=one.release, started_at=NOW, seen_at=NOW)


@pytest.mark.hostile
@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)"])
def test_no_cell_of_a_report_is_a_formula(cell):
    entry = Entry(
        1,
        "done",
        "succeeded",
        cell,
        NOW,
        cell,
        cell,
        cell,
        (cell,),
        cell,
        1,
        cell,
        (),
        cell,
        (cell,),
        NOW,
        cell,
        1,
    )
    lines = report_csv(ReportFacts([entry], "a", "b", ""))

    assert f",{cell}" not in lines
    assert f",'{cell}" in lines
