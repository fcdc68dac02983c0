"""The addresses of the API: each with what it takes, what it answers, and how it is found."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

from pydantic import Field, ValidationError

from bot.board.api.models import (
    EventList,
    FiguresOut,
    FleetOut,
    LaneOut,
    Out,
    PlanList,
    PlanPage,
    TonightOut,
    brief_out,
    event_out,
    figures_out,
    fleet_out,
    plan_out,
)
from bot.board.desk import Desk
from bot.board.evidence import Evidence
from bot.board.pages.tonight import ahead, environment, reach
from bot.board.scope import Scope
from bot.cards.face.lines import subject
from storage.board.happenings import Sought
from storage.board.lines import Filter
from storage.errors import NotFound, SignoffError

Number = Annotated[int, Field(ge=0, le=2**31 - 1)]


class BadQuery(SignoffError):
    """What was asked for cannot be read."""


class PlansQuery(Out):
    """Which plans: below this number, in this state (or `open`), of this channel."""

    before: Number = 0
    state: Annotated[str, Field(max_length=20)] = ""
    channel: Annotated[str, Field(max_length=30)] = ""
    q: Annotated[str, Field(max_length=100)] = ""


class FiguresQuery(Out):
    """Over how many days."""

    days: Annotated[int, Field(ge=1, le=366)] = 30


class NightQuery(Out):
    """Which night, counted from this one."""

    night: Annotated[int, Field(ge=-60, le=60)] = 0


class Nothing(Out):
    """No questions."""


@dataclass(frozen=True)
class Route:
    """One address. A path has at most one number in it."""

    path: str
    summary: str
    query: type[Out]
    answer: type[Out]


ROUTES = (
    Route("/api/plans", "Plans that you may see, newest first", PlansQuery, PlanList),
    Route("/api/plans/{id}", "One plan, whole", Nothing, PlanPage),
    Route("/api/plans/{id}/events", "The journal of one plan", Nothing, EventList),
    Route("/api/fleet", "Processes, their last signs of life, and agents", Nothing, FleetOut),
    Route("/api/tonight", "What is planned for a night", NightQuery, TonightOut),
    Route("/api/figures", "Figures of the plans that ended", FiguresQuery, FiguresOut),
)


@dataclass(frozen=True)
class Documents:
    """Answers them for one person."""

    desk: Desk
    evidence: Evidence

    def answer(self, scope: Scope, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        route, id_ = find(path)
        try:
            asked = route.query.model_validate(dict(query))
        except ValidationError as error:
            told = "; ".join(
                f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
                for one in error.errors(include_input=False)[:5]
            )
            raise BadQuery(told) from None
        makers: dict[type[Out], Callable[[Any], Out]] = {
            PlanList: lambda asked: self.plans(scope, asked),
            PlanPage: lambda _: self.plan(scope, id_),
            EventList: lambda _: self.events(scope, id_),
            FleetOut: lambda _: self.fleet(scope),
            TonightOut: lambda asked: self.tonight(scope, asked),
            FiguresOut: lambda asked: self.figures(scope, asked),
        }
        return makers[route.answer](asked).model_dump(mode="json")

    def plans(self, scope: Scope, asked: PlansQuery) -> PlanList:
        lines, older = self.desk.listed(scope, Filter(asked.before, asked.state, asked.q, asked.channel))
        return PlanList(plans=[brief_out(line) for line in lines], before=older)

    def plan(self, scope: Scope, id_: int) -> PlanPage:
        view = self.evidence.seen(scope, id_)
        return plan_out(view, self.desk.store.approvals(id_, view.revision), self.desk.store.clock())

    def events(self, scope: Scope, id_: int) -> EventList:
        self.evidence.seen(scope, id_)
        found = self.desk.store.events(Sought(plan=id_), 2000)
        return EventList(plan=id_, events=[event_out(one) for one in reversed(found)])

    def fleet(self, scope: Scope) -> FleetOut:
        facts, tell = self.desk.fleet_page(scope)
        return fleet_out(facts, tell.now.at)

    def tonight(self, scope: Scope, asked: NightQuery) -> TonightOut:
        facts, tell = self.desk.tonight_page(scope, asked.night)
        lanes = []
        for view in [*facts.views, *facts.hidden]:
            span, seen = reach(view, tell), view in facts.views
            if span and facts.scale.meets(*span):
                usual = max([one.p50 for one in ahead(view, tell)] or [span[1]])
                lanes.append(
                    LaneOut(
                        plan=view.id if seen else None,
                        title=subject(view) if seen else "",
                        environment=environment(view, tell),
                        start=span[0],
                        usual_end=usual,
                        long_end=span[1],
                    )
                )
        return TonightOut(start=facts.scale.start, end=facts.scale.end, lanes=lanes)

    def figures(self, scope: Scope, asked: FiguresQuery) -> FiguresOut:
        now = self.desk.store.clock()
        return figures_out(self.desk.sums(scope, asked.days), now - timedelta(days=asked.days), now)


def find(path: str) -> tuple[Route, int]:
    """The route of an address, and the number in it."""
    for route in ROUTES:
        wanted, given = route.path.split("/"), path.rstrip("/").split("/")
        if len(wanted) != len(given):
            continue
        numbers = [
            int(got)
            for want, got in zip(wanted, given, strict=True)
            if want == "{id}" and got.isdecimal() and len(got) < 10
        ]
        same = all(
            want == got or (want == "{id}" and got.isdecimal())
            for want, got in zip(wanted, given, strict=True)
        )
        if same:
            return route, numbers[0] if numbers else 0
    raise NotFound("There is no such address; /api/openapi.json lists them.")
