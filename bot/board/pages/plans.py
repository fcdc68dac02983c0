"""Plans: all of them, newest first, by state and by words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from bot.board.html import Safe, joined, tag
from bot.board.parts.frame import button, empty, heading, panel, shell
from bot.board.parts.status import ENDS, status
from bot.board.parts.telling import Telling, line_title
from storage.board.lines import Filter, PlanLine

STATES = {
    "": "every state",
    "open": "open",
    "planning": "planning",
    "proposed": "to be approved",
    "approved": "approved, under way",
    "stalled": "to be answered",
    "succeeded": "done",
    "failed": "failed",
    "rolled_back": "rolled back",
    "incomplete": "incomplete",
    "rejected": "rejected",
    "expired": "expired",
    "cancelled": "cancelled",
}
OPEN = {
    "planning": ("run", "Planning"),
    "proposed": ("ask", "Approve"),
    "approved": ("run", "Under way"),
    "stalled": ("ask", "Answer"),
}


@dataclass(frozen=True)
class PlansFacts:
    """One page of the list."""

    lines: Sequence[PlanLine]
    wanted: Filter
    older: int = 0  # the number below which there are more; 0 when there are none
    subjects: Mapping[int, str] | None = None


def plans_page(facts: PlansFacts, tell: Telling) -> Safe:
    rows = [_row(line, facts, tell) for line in facts.lines]
    body = tag("ol", *rows, class_="rows") if rows else empty("There is no such plan that you may see.")
    list_ = panel("Plans", _filters(facts.wanted), body, _more(facts), aside="newest first")
    return shell(
        joined(heading("Plans", "Every plan that you may see; what you may not see is not counted."), list_)
    )


def _row(line: PlanLine, facts: PlansFacts, tell: Telling) -> Safe:
    kind, word = OPEN.get(line.state) or ENDS.get(line.outcome or line.state, ("skip", line.state))
    said = (facts.subjects or {}).get(line.id, "")
    about = f"“{line.text}”" if said and said != line.text else ""
    where = tag(
        "div",
        f"{tell.who(line.requester)} in {tell.where(line.channel)}",
        tag("br"),
        tell.now.clock(line.created_at),
        class_="w mute",
    )
    what = tag(
        "div", line_title(line, said), tag("small", about, class_="quote") if about else None, class_="m"
    )
    return tag("li", status(kind, word), what, where, tag("span", class_="go"), id=f"p{line.id}")


def _filters(wanted: Filter) -> Safe:
    options = [tag("option", said, value=key, selected=key == wanted.state) for key, said in STATES.items()]
    return tag(
        "form",
        tag("label", "Words, a number, a target", class_="sr", for_="q"),
        tag(
            "input",
            id="q",
            type="search",
            name="q",
            value=wanted.words,
            placeholder="words, a number, a target",
            maxlength="100",
        ),
        tag("label", "State", class_="sr", for_="state"),
        tag("select", *options, name="state", id="state"),
        tag("button", "Filter", class_="btn", type="submit"),
        class_="filters",
        role="search",
        aria_label="Filter",
        action="/plans",
    )


def _more(facts: PlansFacts) -> Safe | None:
    wanted = {"q": facts.wanted.words, "state": facts.wanted.state}
    kept = {key: value for key, value in wanted.items() if value}
    first = (
        button("Newest", f"/plans?{urlencode(kept)}" if kept else "/plans") if facts.wanted.before else None
    )
    older = button("Older ›", f"/plans?{urlencode(kept | {'before': facts.older})}") if facts.older else None
    return tag("div", first, older, class_="more") if first or older else None
