"""What is said around a request, or inserted into it, is never lost: drawn by Hypothesis.

Around a request stand sentences of ordinary words: its effects stay as they are, or people are asked.
Negations, conditions, exceptions, hedges and second targets are inserted at any place: they are understood or
asked about, and the plan without them never comes about.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bot.planner.evaluation import config, offline
from bot.planner.language.lexicon.plain import plain
from bot.planner.language.times import finding as finding
from bot.planner.runbooks.book import Planned
from tests import conftest as conftest  # names the profile, also where pytest does not

SERVICES, DATABASES = ("auth-service", "checkout", "backup-portal"), ("auth_prod", "orders_prod")
PLACES, VERSIONS = ("production", "staging"), ("v2.1.4", "3.0.2", "4.0.0")
FACTS = {"service": SERVICES, "database": DATABASES, "place": PLACES[:1], "version": VERSIONS, "count": "245"}
WISHES = (
    "restart {service} in {place}", "please bounce {service} in {place}", "back up {database}",
    "deploy {service} {version} to {place}", "ship {version} of {service} to {place}",
    "scale {service} to {count} in {place}", "take a backup of {database}",
    "roll back {service} to {version} in {place}", "test the backup of {database}",
    "remove old backups of {database} but keep {count}", "migrate auth_prod with migrate-auth",
    "restart {service} in {place} tonight at 2am EST", "back up {database} every day at 3am",
    "could you restart {service} in {place}?", "run the full tests, then back up {database}",
)  # fmt: skip
NEGATIONS = (
    "not", "never", "don't", "do not", "no longer", "without telling bob", "by no means", "nicht", "niemals",
    "nunca", "sin avisar", ":x:", "❌", "not yet",
)  # fmt: skip
LEADS = {
    "condition": ("if", "unless", "provided that", "as long as", "only if", "in case", "once", "when",
                  "assuming", "wenn", "falls", "sobald", "si", "cuando"),
    "exception": ("but not", "except", "except for", "instead of", "other than", "außer", "salvo",
                  "only for"),
    "time": ("not before", "before", "after", "until", "bis", "hasta"),
}  # fmt: skip
SUBJECTS = ("bob", "carol", "the build", "the queue", "it", "the customer", "everybody", "the second cluster")
ENDS = ("agrees", "is green", "is empty", "says so", "objects", "", "on sundays", "tomorrow")
HEDGES = ("maybe", "perhaps", "i guess", "vielleicht", "tal vez", "dry run")
JOINS = ("and", "and also", "plus", "or", "as well as", "und", "y")


@dataclass
class Count:
    around: int = 0
    inserted: int = 0
    lost: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"around {self.around} inserted {self.inserted} lost {len(self.lost)}"


@cache
def ordinary() -> tuple[str, ...]:
    """Ordinary words that are no time and no name: those are understood, and so they are effects."""
    known = (Path(__file__).parents[1] / "ordinary.txt").read_text(encoding="utf-8").split()
    windows, names = [*config().windows], {part for table in config().inventory.values() for part in table}
    return tuple(
        word
        for word in known
        if word.isalpha() and word not in names and not finding.find(plain(word).words, {}, windows)
    )


@cache
def effects(request: str) -> str:
    made = offline(request)
    assert isinstance(made, Planned), request
    return _of(made)


def _of(made: Planned) -> str:
    return f"{made.spec.digest()} {made.every.cron if made.every else ''}"


@st.composite
def wishes(draw: st.DrawFn) -> tuple[str, dict[str, str]]:
    """A valid request, and the facts that it names."""
    wish = draw(st.sampled_from(WISHES))
    facts = {name: draw(st.sampled_from(values)) for name, values in FACTS.items()}
    return wish.format(**facts), {name: one for name, one in facts.items() if f"{{{name}}}" in wish}


def sentences() -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(ordinary()), min_size=1, max_size=6).map(" ".join)


@st.composite
def risks(draw: st.DrawFn, facts: dict[str, str]) -> str:
    """Words that change what is asked for: taken away, bound, doubted, or of a second target."""
    seconds = [other for name, one in facts.items() for other in _others(name, one)]
    kinds = ["negation", "hedge", *LEADS, *(["second"] * 2 if seconds else [])]
    kind = draw(st.sampled_from(kinds))
    if kind == "negation":
        return draw(st.sampled_from(NEGATIONS))
    if kind == "hedge":
        return draw(st.sampled_from(HEDGES))
    if kind == "second":
        return f"{draw(st.sampled_from(JOINS))} {draw(st.sampled_from(seconds))}"
    words = (draw(st.sampled_from(listed)) for listed in (LEADS[kind], SUBJECTS, ENDS))
    return " ".join(words).strip()


def _others(name: str, one: str) -> list[str]:
    known = {"service": SERVICES, "database": DATABASES, "place": PLACES, "version": VERSIONS}
    return [other for other in known.get(name, ()) if other != one]


def check_around(request: str, before: str, behind: str) -> str:
    """The text whose effects are others, or ""."""
    text = f"{before}. {request}. {behind}" if before and behind else f"{request} {behind or before}"
    made = offline(text)
    return text if isinstance(made, Planned) and _of(made) != effects(request) else ""


def check_inserted(request: str, risk: str, place: int) -> str:
    """The text that became the plan as if the words had not been said, or ""."""
    words = request.split()
    words.insert(place % (len(words) + 1), risk)
    made = offline(" ".join(words))
    return " ".join(words) if isinstance(made, Planned) and _of(made) == effects(request) else ""


def prove(runs: int, *, fresh: bool = False) -> Count:
    """So many runs: fresh ones draw anew each time, the others are the same every time."""
    count = Count()
    drawn = settings(
        settings.get_profile("signoff"), max_examples=runs // 2, derandomize=not fresh,
        phases=[Phase.generate], suppress_health_check=[*HealthCheck],
    )  # fmt: skip
    for one in (_around(count), _inserted(count)):
        drawn(one)()
    return count


def _around(count: Count) -> Callable[[], None]:
    @given(wishes(), sentences(), st.one_of(st.just(""), sentences()))
    def around(wish: tuple[str, dict[str, str]], before: str, behind: str) -> None:
        count.around += 1
        count.lost += [lost] if (lost := check_around(wish[0], before, behind)) else []

    return around


def _inserted(count: Count) -> Callable[[], None]:
    @given(wishes().flatmap(lambda wish: st.tuples(st.just(wish[0]), risks(wish[1]))), st.integers(0, 20))
    def inserted(said: tuple[str, str], place: int) -> None:
        count.inserted += 1
        count.lost += [lost] if (lost := check_inserted(*said, place)) else []

    return inserted
