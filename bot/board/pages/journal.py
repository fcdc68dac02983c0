"""Journal: every event that somebody may see, filters, the verdict over the chains, and exports."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from bot.board.html import Safe, joined, tag
from bot.board.parts.frame import button, empty, heading, panel, shell
from bot.board.parts.happening import kind, said
from bot.board.parts.status import status
from bot.board.parts.telling import Telling
from storage.board.happenings import Happening

VERBS = (
    "request",
    "propose",
    "amend",
    "approve",
    "reject",
    "refuse",
    "permit",
    "claim",
    "succeed",
    "fail",
    "retry",
    "lose",
    "stall",
    "answer",
    "resolve",
    "cancel",
    "finish",
    "stop",
    "resume",
    "policy",
    "admit",
    "leave",
    "export",
)


@dataclass(frozen=True)
class Asked:
    """The filters, as they were typed."""

    words: str = ""
    verb: str = ""
    who: str = ""
    plan: str = ""
    since: str = ""
    until: str = ""

    def query(self, **more: str | int) -> str:
        given = {
            "q": self.words,
            "verb": self.verb,
            "who": self.who,
            "plan": self.plan,
            "since": self.since,
            "until": self.until,
        }
        return urlencode({key: value for key, value in (given | more).items() if value})


@dataclass(frozen=True)
class JournalFacts:
    events: Sequence[Happening]
    asked: Asked
    older: int = 0
    whole: bool = True
    verdict: str = ""


def journal_page(facts: JournalFacts, tell: Telling) -> Safe:
    asked = facts.asked
    acts = [
        button("Lines", f"/journal/export?{asked.query(form='jsonl')}"),
        button("CSV", f"/journal/export?{asked.query(form='csv')}"),
        button("OCSF", f"/journal/export?{asked.query(form='ocsf')}"),
        button("Report", "/report"),
        button("Verify now", f"/journal?{asked.query(verify=1)}", main=True),
    ]
    about = "Every verb, refusal and model call, linked by hashes. What you may not see is not counted here."
    return shell(
        joined(
            heading("Journal", about, *acts), _verdict(facts), tag("div", _list(facts, tell), class_="stack")
        )
    )


def _verdict(facts: JournalFacts) -> Safe | None:
    if not facts.verdict:
        return None
    mark = status("ok", "Whole") if facts.whole else status("bad", "Broken")
    return tag(
        "p",
        mark,
        tag("span", facts.verdict),
        class_=f"panel note {'good' if facts.whole else 'warn'} verdict",
    )


def _list(facts: JournalFacts, tell: Telling) -> Safe:
    names = (f"Time ({tell.now.letters})", "Plan", "Verb", "Who", "What", "Hash")
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in names)))
    rows = [_row(one, tell) for one in facts.events]
    table = tag(
        "div",
        tag("table", head, tag("tbody", *rows), class_="ev"),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label="Events",
    )
    older = button("Older ›", f"/journal?{facts.asked.query(before=facts.older)}") if facts.older else None
    count = tag("span", f"{len(facts.events)} events", class_="mute")
    body = table if rows else empty("There is no such event that you may see.")
    return panel(
        "Events",
        _filters(facts.asked, tell),
        body,
        tag("div", count, older, class_="more"),
        aside="newest first",
    )


def _row(one: Happening, tell: Telling) -> Safe:
    plan = tag("a", f"#{one.plan}", href=f"/plans/{one.plan}") if one.plan else "–"
    cells = [
        tag("td", tell.now.exact(one.at), class_="nw mono"),
        tag("td", plan),
        tag("td", status(kind(one), one.verb)),
        tag("td", tell.who(one.actor), class_="nw"),
        tag("td", said(one, tell.who)),
        tag("td", f"{one.hash[:4]}…{one.hash[-4:]}", class_="mono nw hash", title=one.hash),
    ]
    return tag("tr", *cells, id=f"v{one.id}")


def _filters(asked: Asked, tell: Telling) -> Safe:
    verbs = [
        tag("option", verb or "every verb", value=verb, selected=verb == asked.verb) for verb in ("", *VERBS)
    ]
    fields = (
        ("q", "search", "words, a hash", asked.words),
        ("who", "text", "who (a Slack id)", asked.who),
        ("plan", "text", "plan", asked.plan),
        ("since", "date", "from", asked.since),
        ("until", "date", "until", asked.until),
    )
    parts = [
        joined(
            tag("label", hint, class_="sr", for_=f"j-{name}"),
            tag(
                "input",
                id=f"j-{name}",
                type=kind_,
                name=name,
                value=value,
                placeholder=hint,
                maxlength="100",
                size=size,
            ),
        )
        for (name, kind_, hint, value), size in zip(fields, (None, "14", "6", None, None), strict=True)
    ]
    choice = joined(
        tag("label", "Verb", class_="sr", for_="j-verb"), tag("select", *verbs, name="verb", id="j-verb")
    )
    return tag(
        "form",
        parts[0],
        choice,
        *parts[1:],
        tag("button", "Filter", class_="btn", type="submit"),
        class_="filters",
        role="search",
        aria_label="Filter the journal",
        action="/journal",
    )
