"""Understand a request: every word gets a role, and the result is one document. Pure, and no model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.planner.language.document import Reading, Sentence, Understood, Wish, World
from bot.planner.language.doubts import leftovers, moments
from bot.planner.language.doubts.comments import remarks
from bot.planner.language.doubts.refusals import refused
from bot.planner.language.lexicon import plain, words
from bot.planner.language.lexicon.plain import Doubt
from bot.planner.language.looking import look, split_up
from bot.planner.language.meaning.asking import asks_something
from bot.planner.language.meaning.clauses import Part
from bot.planner.language.meaning.intents import FLOOR
from bot.planner.language.meaning.ranking import completes, understand
from bot.planner.language.meaning.values import Value
from bot.planner.language.meaning.wholeness import completed, notes_on, shared_facts
from bot.planner.language.times.moment import Time
from bot.planner.runbooks.environments import ENVIRONMENTS

MOST = 6  # wishes of one plan
LONGEST = words.MOST


def read(text: str, world: World) -> Reading:
    """Understand a request."""
    bare = plain.plain(text)
    if any(doubt.kind == "hidden" for doubt in bare.doubts):
        return Reading(text, refusal=plain.HIDDEN)
    if len(bare.words) >= LONGEST:
        return Reading(text, refusal=f"That is {LONGEST} words or more. In fewer words, please.")
    sentence = look(bare.words, world)
    parts = split_up(sentence, world)
    sentence = _ended(sentence, parts)
    found, scores = understand(sentence, parts, world)
    made = Reading(
        bare.text, doubts=bare.doubts, scores=scores, notes=sentence.notes, mentioned=_mentioned(sentence)
    )
    why, gate = refused(sentence, found, world)
    if why:
        return replace(made, refusal=why)
    if gate:
        made = replace(made, doubts=(*made.doubts, Doubt("gate", gate)))
    return _finish(sentence, parts, found, world, made)


def _ended(sentence: Sentence, parts: Sequence[Part]) -> Sentence:
    """A reason ends where the next wish begins: “because it leaks and restart it”."""
    begun = [part.span for part in parts if sentence.roles.get(part.span.start) == "reason"]
    later = {i for span in begun if sentence.roles.get(span.start - 1) == "reason" for i in span}
    roles = {i: role for i, role in sentence.roles.items() if not (i in later and role == "reason")}
    return replace(sentence, roles=roles)


def _mentioned(sentence: Sentence) -> dict[str, Value]:
    return {m.table: Value(name.said, m.name, m.how) for name in sentence.names for m in name.meanings}


def _finish(
    sentence: Sentence, parts: Sequence[Part], found: Sequence[Understood | None], world: World, made: Reading
) -> Reading:
    """The wishes with their times, what is doubtful, and what was not used."""
    known = _merged([one for one in found if one])
    if not known:
        asks = any(asks_something(sentence, part, parts, world) for part in parts)
        verbs = [hit.intent for hit in sentence.hits if hit.role == "verb"]
        changing = (*dict.fromkeys(key for key in verbs if world.grammar.intents[key].changes),)
        return replace(made, question=asks, about_change=changing, near=() if asks else _near(made.scores))
    every = next((time for time in sentence.times if time.kind == "every"), None)
    shared = shared_facts(sentence, known)
    wishes: list[Wish] = []
    doubts, unused, notes = [*made.doubts], [*made.unused], [*made.notes]
    last: dict[str, Value] = {}
    for one in known:
        facts = completed(sentence, one, last, shared, world)
        doubts += [*facts.doubts]
        notes += [*notes_on(one, facts)]
        last |= {
            one.intent.slots[name].inventory: value
            for name, value in facts.values.items()
            if one.intent.slots[name].inventory
        }
        wish = Wish(
            one.intent.id, facts.values, None, one.part.strong, one.intent.changes, one.score, facts.guesses
        )
        if _again(wish, one, wishes, doubts):
            continue
        wishes.append(wish)
    told = remarks(sentence, parts, known, world)
    doubts += told.doubts
    if len(wishes) > MOST:
        doubts.append(
            Doubt(
                "many",
                f"{len(wishes)} wishes",
                why=f"That is {len(wishes)} wishes; at most {MOST} in one plan, please.",
            )
        )
    timed, more = _timed(sentence, known, wishes, every)
    at = next((time for time in sentence.times if time.kind == "at"), None) if every else None
    question = all(one.question for one in known)
    if not any(wish.changes for wish in timed):
        recurs = every or any(time.recurs for time in sentence.times)
        more = more if recurs else moments.postponed(known, more)
    return replace(
        made,
        wishes=tuple(timed),
        every=every,
        at=at,
        doubts=leftovers.merged([*doubts, *more]),
        question=question,
        unused=(*dict.fromkeys([*unused, *told.unused]),),
        notes=(*dict.fromkeys(notes),),
        near=_near(made.scores),
    )


def _merged(known: Sequence[Understood]) -> list[Understood]:
    """Without clauses that only go on with the one before, and reads that were only alluded to."""
    made: list[Understood] = []
    for one in known:
        if made and completes(made[-1], one):
            facts = replace(
                made[-1].facts,
                values={**made[-1].facts.values, **one.facts.values},
                used=made[-1].facts.used | one.facts.used,
            )
            span = range(made[-1].part.span.start, one.part.span.stop)
            made[-1] = replace(
                made[-1],
                facts=facts,
                claimed=made[-1].claimed | one.claimed,
                part=replace(made[-1].part, span=span),
            )
        else:
            made.append(one)
    asked = [one for one in made if _meant(one, made)]
    return asked or made[:1]


def _meant(one: Understood, made: Sequence[Understood]) -> bool:
    """Whether a clause is a wish: what was only alluded to is none beside another."""
    if one.intent.asks.by_name and any(value.how == "part" for value in one.facts.values.values()):
        return len(made) == 1
    if _nudges(one, made):
        return False
    targets = [name for name in one.intent.needs() if one.intent.slots[name].inventory != ENVIRONMENTS]
    asks = one.question and not any(other.intent.changes for other in made)
    return one.form != "noun" or asks or all(name in one.facts.values for name in targets)


def _nudges(one: Understood, made: Sequence[Understood]) -> bool:
    """“… seems slow, can you check?”: a read that names nothing, beside one that does."""
    reads = [other for other in made if other is not one and other.facts.values]
    return not one.intent.changes and one.intent.asks.looks and not one.facts.values and any(
        not other.intent.changes for other in reads
    )  # fmt: skip


def _near(scores: Mapping[str, float]) -> tuple[str, ...]:
    return tuple(key for key, score in sorted(scores.items(), key=lambda pair: -pair[1]) if score >= FLOOR)[
        :3
    ]


def _again(wish: Wish, one: Understood, wishes: Sequence[Wish], doubts: list[Doubt]) -> bool:
    """The same wish twice: what reads is read once; of a change it is asked whether it is meant."""
    same = [
        w
        for w in wishes
        if w.runbook == wish.runbook
        and {n: v.meant for n, v in w.values.items()} == {n: v.meant for n, v in wish.values.items()}
    ]
    if not same:
        return False
    if wish.changes:
        doubts.append(
            Doubt("twice", "the same wish twice", why="You said the same thing twice; I plan it once.")
        )
    return True


def _timed(
    sentence: Sentence, known: Sequence[Understood], wishes: Sequence[Wish], every: Time | None
) -> tuple[list[Wish], list[Doubt]]:
    """Each wish with its own time; one before all of them, or behind what “and” joins, is everybody's."""
    doubts = [Doubt("time", time.said, "when", time.why) for time in sentence.times if time.kind == "doubt"]
    plain_ = [time for time in sentence.times if time.kind == "at"]
    unsure = [*moments.doubtful(sentence, plain_, known)]
    doubts += [moments.doubt(sentence, time) for time in unsure if not moments.past(sentence, time)]
    plain_ = [time for time in plain_ if time not in unsure]
    if every:
        return [*wishes], [*doubts, *_recurring(plain_, known, every)]
    spans = [one.part.span for one in known]
    homes: dict[int, list[Time]] = {}
    for time in plain_:
        home = next((n for n, span in enumerate(spans) if time.start in span), None)
        if home is None:
            home = next((n for n, span in enumerate(spans) if span.start >= time.start), len(spans) - 1)
        homes.setdefault(min(home, len(wishes) - 1), []).append(time)
    made = [*wishes]
    for home, said in homes.items():
        listed = _tonight(said)
        if len({time.words for time in listed}) > 1:
            doubts.append(
                Doubt("time", " and ".join(time.said for time in listed), "when", "You said two times.")
            )
        made[home] = replace(made[home], when=listed[0])
    only = next(iter(homes)) if len(homes) == 1 else -1
    if only > 0 and not any(wish.follows for wish in made[: only + 1]):
        made[0] = replace(made[0], when=made[only].when)
    return made, doubts


def _tonight(listed: Sequence[Time]) -> list[Time]:
    """“tonight in the maintenance window”: the window says the hour of the night."""
    window = [time for time in listed if time.words.endswith("window")]
    night = [time for time in listed if time.words == "tonight"]
    return window if len(window) == 1 and len(window) + len(night) == len(listed) else [*listed]


def _recurring(said: Sequence[Time], known: Sequence[Understood], every: Time) -> list[Doubt]:
    """What recurs has one time of the day; said inside one of several wishes, it may be that one's alone."""
    clocks, doubts = [time for time in said if time.words != "now"], list[Doubt]()
    if len(clocks) > 1:
        doubts.append(Doubt("time", clocks[1].said, "when", "What recurs has one time of the day."))
    inside = known[0].part.span.start < every.start < known[-1].part.span.start
    if len(known) > 1 and inside and known[0].verb < every.start:
        doubts.append(
            Doubt("recurs", every.said, why=f"Shall all of it be done {every.said}, or only a part?")
        )
    return doubts
