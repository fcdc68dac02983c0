"""From a reading to a plan: each wish filled by its runbook, timed and joined; or a form, or why not."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import reduce

from bot.planner.edits.changes import joined, timed, whole
from bot.planner.language.document import Reading, Wish, World
from bot.planner.language.document import world as make_world
from bot.planner.language.lexicon.plain import Doubt, plain
from bot.planner.language.looking import look
from bot.planner.language.meaning.values import facts
from bot.planner.language.reading import read
from bot.planner.language.times import finding as times
from bot.planner.language.times.moment import Time
from bot.planner.runbooks import book as runbooks
from bot.planner.runbooks.book import Planned, Runbook
from bot.planner.runbooks.matching import masked, unplannable
from bot.planner.runbooks.questions import Field, Missing, NoPlan, Offer
from bot.times import recurrence, when
from bot.times.recurrence import Every
from storage.config import SignoffConfig
from storage.contract.capability import Contract
from storage.errors import BadTime

CONFIRMED = "Plan without it"
ALSO = "You also said “{said}”."
SAYINGS = {
    "condition": "I plan no conditions, and you said “{said}”.",
    "time": "When? I could not use “{said}”.",
    "comparison": "You said “{said}”; I need the number itself.",
    "scope": "You said “{said}”; I take one at a time.",
    "manner": "You said “{said}”; I have only one way to do it.",
    "frame": "It begins with “{said}”. Do you want it done?",
    "foreign": "You said “{said}”; that is something else than I would change.",
    "symbols": "It holds “{said}”.",
    "hedge": "You said “{said}”. Do you want it?",
    "retraction": "You said “{said}”. Do you want it?",
    "gate": "You said “{said}”; that is for people and policy to decide.",
}

NOTHING = "I have no runbook for that."  # to words that no runbook understands


def plan(
    text: str,
    books: Sequence[Runbook],
    config: SignoffConfig,
    given: Mapping[str, str] | None = None,
    *,
    contracts: Sequence[Contract] = (),
    now: datetime | None = None,
) -> Planned:
    """The plan that these words ask for. Missing asks in a form; NoPlan says why there is none."""
    if old := _by_pattern(" ".join(text.split()), books, config, given or {}):
        return old
    around = make_world(books, config, contracts, now)
    return planned(read(text, around), {book.id: book for book in books}, around, given or {})


def picked(
    book: Runbook,
    text: str,
    config: SignoffConfig,
    given: Mapping[str, str],
    contracts: Sequence[Contract],
    now: datetime | None,
) -> Planned:
    """The plan of the runbook that a form was about: what its fields say, at the time that was said."""
    if book.triggers:
        return runbooks.fill(book, text, config, given)
    around = make_world([book], config, contracts, now)
    reading = read(text, around)
    if len(reading.wishes) != 1 or reading.refusal:
        reading = replace(
            reading, wishes=(Wish(book.id, {}),), doubts=(), refusal="", every=None, question=False
        )
    if not any(name.startswith("confirm") for name in given):
        reading = replace(reading, doubts=())  # the form had none: the words were shown, and a person picked
    return planned(replace(reading, question=False), {book.id: book}, around, {"when": "", **given})


def form(book: Runbook, text: str, config: SignoffConfig) -> tuple[Field, ...]:
    """Every fact of a runbook that a person picked: what their words say of it is filled in."""
    if book.triggers:
        return runbooks.form(book, text, config)
    around = make_world([book], config)
    sentence = look(plain(text).words, around)
    said = facts(
        sentence.clause(range(len(sentence.words))), book.slots, config, around.lexicon, around.vocabulary
    )
    known = {name: slot.default for name, slot in book.slots.items()} | {
        name: value.meant for name, value in said.values.items()
    }
    when_ = sentence.times[0].words if len(sentence.times) == 1 else "now"
    return (
        *runbooks.fields(book, known, config),
        Field(name="when", label="When?", kind="time", value=when_ or "now"),
    )


def _by_pattern(
    text: str, books: Sequence[Runbook], config: SignoffConfig, given: Mapping[str, str]
) -> Planned | None:
    """A runbook that still has patterns, if exactly one fits and nothing says otherwise."""
    found = [book for book in books if book.triggers and book.triggers.hit(masked(text, config))]
    if len(found) != 1 or unplannable(text):
        return None
    return runbooks.fill(found[0], text, config, given)


def planned(
    reading: Reading, books: Mapping[str, Runbook], around: World, given: Mapping[str, str] = {}
) -> Planned:  # never changed
    """What a reading comes to."""
    if reading.refusal:
        raise NoPlan(reading.refusal)
    if not reading.wishes:
        raise NoPlan(_nothing(reading, books), _offers(reading, books))
    reading = _answered(reading, given)
    fields, times = _fields(reading, books, around, given), _times(reading, around, given)
    unsure = [field for field in (*fields, *times) if not field.value]
    if unsure:
        single = reading.wishes[0].runbook if len(reading.wishes) == 1 else ""
        example = f"For example: `/plan {books[reading.wishes[0].runbook].examples[0]}`"
        raise Missing(f"{' '.join(field.label for field in unsure)} {example}", single, (*fields, *times))
    return _composed(reading, books, around, given)


def _nothing(reading: Reading, books: Mapping[str, Runbook]) -> str:
    meant = [books[key] for key in reading.about_change if key in books]
    if reading.question and meant:
        wish = f"`/plan {meant[0].examples[0]}`"
        return f"That is a question, and nothing changes by one. Said as a wish, I can plan it: {wish}"
    examples = ", ".join(f"`/plan {book.examples[0]}`" for book in [*books.values()][:3])
    if reading.question:
        return f"I can't tell that. Try: {examples}" if examples else "I can't tell that."
    return f"{NOTHING} Try: {examples}" if examples else "No runbooks are configured."


def _offers(reading: Reading, books: Mapping[str, Runbook]) -> tuple[Offer, ...]:
    """What may be meant, when two come out alike; never a change for a question."""
    near = [books[key] for key in reading.near if key in books]
    return tuple(Offer(id=book.id, title=book.title, example=str(book.examples[0])) for book in near[:3])


def _key(reading: Reading, number: int, name: str) -> str:
    return name if len(reading.wishes) == 1 else f"{number}.{name}"


def _answered(reading: Reading, given: Mapping[str, str]) -> Reading:
    """Without the doubts that a form has settled."""
    if not given:
        return reading
    left = tuple(
        doubt
        for n, doubt in enumerate(reading.doubts)
        if given.get(f"confirm{n}") != CONFIRMED and not _settled(reading, doubt, given)
    )
    return replace(reading, doubts=left)


def _settled(reading: Reading, doubt: Doubt, given: Mapping[str, str]) -> bool:
    keys = [_key(reading, n, doubt.field) for n in range(1, len(reading.wishes) + 1)]
    return bool(doubt.field) and any(given.get(key) for key in keys)


def _fields(
    reading: Reading, books: Mapping[str, Runbook], around: World, given: Mapping[str, str]
) -> tuple[Field, ...]:
    """Every fact of every wish as it was understood, the missing ones open, and what must be confirmed."""
    made: list[Field] = []
    doubtful = {doubt.field for doubt in reading.doubts if doubt.field and doubt.field != "when"}
    for number, wish in enumerate(reading.wishes, 1):
        book = books[wish.runbook]
        values = {name: value.meant for name, value in wish.values.items()} | {
            n: s.default for n, s in book.slots.items() if s.default and n not in wish.values
        }
        values |= {
            name: given[_key(reading, number, name)]
            for name in book.slots
            if given.get(_key(reading, number, name))
        }
        for field in runbooks.fields(book, values, around.config):
            made.append(_asked(field, reading, number, wish, doubtful, given))
    return (*made, *_confirmations(reading))


def _asked(
    field: Field, reading: Reading, number: int, wish: Wish, doubtful: set[str], given: Mapping[str, str]
) -> Field:
    key = _key(reading, number, field.name)
    value = "" if field.name in doubtful and not given.get(key) else field.value
    first = [option for option in field.options if option == wish.guesses.get(field.name)]
    options = (*first, *(option for option in field.options if option not in first))  # the likely one first
    why = next((f" {doubt.why}" for doubt in reading.doubts if doubt.field == field.name and doubt.why), "")
    label = f"{field.label}{why}"[:150]
    return field.model_copy(update={"name": key, "value": value, "label": label, "options": options})


def _confirmations(reading: Reading) -> list[Field]:
    """What was said and cannot be done: a person says whether it is wanted without."""
    shown = [(n, doubt) for n, doubt in enumerate(reading.doubts) if not doubt.field]
    return [
        Field(name=f"confirm{n}", label=saying(doubt), kind="confirm", options=(CONFIRMED,))
        for n, doubt in shown
    ]


def saying(doubt: Doubt) -> str:
    """What a person reads about words that could not be used."""
    if doubt.why and doubt.kind not in SAYINGS:
        return doubt.why
    return SAYINGS.get(doubt.kind, ALSO).format(said=doubt.said)


def _times(reading: Reading, around: World, given: Mapping[str, str]) -> tuple[Field, ...]:
    """The field that asks when, if a time was said that cannot be used."""
    if given.get("when"):
        return ()
    doubts = [doubt for doubt in reading.doubts if doubt.field == "when"]
    why = doubts[0].why or saying(doubts[0]) if doubts else _bad_time(reading, around)
    label = why if why.startswith("When") else f"When? {why}"
    return (Field(name="when", label=label[:150], kind="time"),) if why else ()


def _bad_time(reading: Reading, around: World) -> str:
    try:
        if reading.every:
            _every(reading, reading.every, around)
        said = [wish.when.words for wish in reading.wishes if wish.when and not reading.every]
        for words in said:
            when.resolve(
                words, around.now or ANY_TIME, zone=around.config.zone, windows=around.config.windows
            )
    except BadTime as error:
        return str(error)
    return ""


def _every(reading: Reading, every: Time, around: World) -> Every:
    """The recurrence, judged by the one who knows."""
    days, clock = every.days, reading.at.words if reading.at else ""
    hours = days.removesuffix(" hours")
    if hours != days:
        return recurrence.hourly(int(hours), around.config.zone, reading.text)
    clock = clock.removeprefix("at ").strip()
    clock = {"noon": "12:00", "midnight": "00:00"}.get(clock, clock)
    if not clock or clock == "now":
        raise BadTime("At what time? Please name the hour, as in “at 2am”.")
    return recurrence.read(f"{days} at {clock} {WISH}", around.config.zone, around.now or ANY_TIME)


WISH = "do it"  # stands in for what recurs
ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)  # without a clock, only the words are judged


def _composed(
    reading: Reading, books: Mapping[str, Runbook], around: World, given: Mapping[str, str]
) -> Planned:
    """One document of all wishes, each behind the one before."""
    parts = [_filled(reading, n, wish, books, around, given) for n, wish in enumerate(reading.wishes, 1)]
    kept = [part for n, part in enumerate(parts) if not any(_inside(part, later) for later in parts[n + 1 :])]
    spec = reduce(joined, (part.spec for part in kept))
    every = replace(_every(reading, reading.every, around), wish=_bare(reading)) if reading.every else None
    note = (
        kept[0].note
        if len(kept) == 1
        else f"from the runbooks {', '.join(f'“{books[p.runbook].title}”' for p in kept)}"
    )
    slots = kept[0].slots if len(kept) == 1 else ()
    return Planned(
        spec,
        note,
        kept[0].runbook if len(kept) == 1 else "",
        slots,
        every,
        reading.notes,
        reading.unused,
        reading.question,
    )


def _bare(reading: Reading) -> str:
    """The wish without how often."""
    said = reading.text
    for time in (reading.every, reading.at):
        said = _without(said, time) if time else said
    return " ".join(said.split()).strip(" ,")


def _without(text: str, time: Time) -> str:
    return re.sub(r"\s*".join(map(re.escape, time.said.split())), " ", text, count=1, flags=re.I)


def _filled(
    reading: Reading,
    number: int,
    wish: Wish,
    books: Mapping[str, Runbook],
    around: World,
    given: Mapping[str, str],
) -> Planned:
    book = books[wish.runbook]
    values = {name: value.meant for name, value in wish.values.items()}
    values |= {
        name: given[_key(reading, number, name)]
        for name in book.slots
        if given.get(_key(reading, number, name))
    }
    time = given.get("when") or (wish.when.words if wish.when else "now")
    uses = runbooks._uses(book, "when")
    made = runbooks.fill(book, reading.text, around.config, values | {"when": time if uses else "now"})
    if not uses and time != "now":
        made = replace(made, spec=timed(made.spec, whole(made.spec), time))
    return replace(
        made, slots=tuple((n, wish.when.said if n == "when" and wish.when else v) for n, v in made.slots)
    )


def _inside(part: Planned, later: Planned) -> bool:
    """Whether all that a wish would do is done by a later one anyhow, with the same facts."""
    return part.spec.steps != later.spec.steps and all(
        any(_same(step, other) for other in later.spec.steps) for step in part.spec.steps
    )


def _same(step, other) -> bool:  # type: ignore[no-untyped-def]
    fits = all(other.parameters.get(name) == value for name, value in step.parameters.items())
    return (
        (step.worker, step.action) == (other.worker, other.action)
        and fits
        and step.schedule == other.schedule
    )


def is_time(words: str, config: SignoffConfig) -> bool:
    """Whether these words hold a time."""
    return bool(times.find(plain(words).words, {}, [*config.windows]))


def is_verb(phrase: str, books: Sequence[Runbook], config: SignoffConfig) -> bool:
    """Whether a runbook is asked for by exactly these words."""
    known = make_world(books, config).grammar.first.get(phrase.split()[0], ()) if phrase else ()
    return any(" ".join(one.words) == phrase and one.role != "noun" for one, _ in known)
