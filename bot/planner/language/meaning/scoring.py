"""How well words fit a runbook: what they say of it, which of its facts are there, and what is foreign."""

from collections.abc import Sequence
from dataclasses import replace

from bot.planner.language.document import Sentence, World
from bot.planner.language.meaning import clauses, values
from bot.planner.language.meaning.clauses import Part
from bot.planner.language.meaning.intents import (
    BY_NAME,
    ENTITY,
    FOREIGN,
    FRONT,
    LOOSE,
    MISSING,
    MISSING_TARGET,
    NOUN,
    PASSIVE,
    TROUBLE,
    VERB,
    WORD_MORE,
    Hit,
    Intent,
    says,
)
from bot.planner.language.meaning.values import Facts, Value
from bot.planner.runbooks.environments import ENVIRONMENTS

Ranked = tuple[Intent, float, Hit, frozenset[int], Facts]

IT = frozenset({"it", "them", "that", "this", "both", "es", "ihn", "lo", "la"})

BY_NOUN = 0.3  # a verb of its own says a little more than a light one with a noun
ARTICLES = frozenset({"a", "an", "another", "one"})


def scored(
    sentence: Sentence, part: Part, intent: Intent, ours: Sequence[Hit], question: bool, world: World
) -> Ranked | None:
    clause = sentence.clause(part.span)
    facts = values.facts(clause, intent.slots, world.config, world.lexicon, world.vocabulary)
    wanted = says(sentence.words, _reach(sentence, part, facts), intent.requires)
    if (intent.requires and not wanted and not _named_alone(intent, facts, world)) or _makes_one(
        sentence, part, intent, wanted, question, world
    ):
        return None
    best = max(
        (_weight(sentence, part, intent, hit, facts, question, world) for hit in ours),
        default=(0.0, None, frozenset[int]()),
        key=lambda one: one[0],
    )
    score, hit, claimed = best
    if hit is None and intent.asks.by_name and facts.values:
        said = {i for i in facts.used if i in part.span}
        shown = question or _asks_to_see(sentence, part, world) or _only_named(sentence, part, facts, world)
        if shown and _alluded(sentence, part, intent, facts, world):
            score, hit, claimed = BY_NAME, Hit(intent.id, "noun", frozenset(said)), frozenset(said)
    if hit is None or score <= 0:
        return None
    if hit.role == "loose":  # “needs to go to production”: all of them say the same
        claimed |= {i for one in ours if one.role == "loose" for i in one.claimed}
    about = says(sentence.words, part.span, {*intent.about, *intent.nouns, *intent.requires})
    about = [span for span in about if not _commented(sentence, span, hit, facts)]
    known = {i for span in about for i in span}
    carried = facts.used | claimed
    claimed |= {i for span in about if _lifted(sentence, part, span, known, carried, world) for i in span}
    return (
        intent,
        round(score + _entities(sentence, part, intent, facts, question), 2),
        hit,
        frozenset(claimed),
        facts,
    )


def _reach(sentence: Sentence, part: Part, facts: Facts) -> range:
    """“run the full and the smoke tests”: behind a target, the noun may come with the next one."""
    stop = part.span.stop
    joined = stop < len(sentence.words) and sentence.words[stop].text in clauses.JOINS
    last = max(facts.used, default=-1) == stop - 1
    return range(part.span.start, min(stop + 5, len(sentence.words))) if joined and last else part.span


def _named_alone(intent: Intent, facts: Facts, world: World) -> bool:
    """“run smoke”: the exact name of a thing that no other runbook takes."""
    small = world.vocabulary.small
    exact = {
        n: value for n, value in facts.values.items() if value.how == "exact" and value.said not in small
    }
    tables = {intent.slots[n].inventory for n in exact}
    others = [one for one in world.grammar.intents.values() if one.id != intent.id]
    return any(table and not any(table in one.tables() for one in others) for table in tables)


def _commented(sentence: Sentence, span: frozenset[int], hit: Hit, facts: Facts) -> bool:
    """“… - see the release notes”: behind a dash or a bracket, with no fact of the wish behind it."""
    marks = {sentence.words[i].text for i in range(max(hit.claimed), min(span))}
    return bool(marks & {"-", "–", "—", "("}) and not any(i > max(span) for i in facts.used)


def _lifted(
    sentence: Sentence, part: Part, span: frozenset[int], known: set[int], used: frozenset[int], world: World
) -> bool:
    """A word of risk means nothing only where it leads to a fact that was read: “only the newest 5”."""
    word = sentence.words[min(span)].text
    if len(span) > 1 or not _risky(word, world):
        return True
    place = min(span) + 1
    while place in part.span and place not in used:
        if place not in known and sentence.words[place].bare not in values.SKIPPED:
            return False
        place += 1
    return place in used


def _risky(word: str, world: World) -> bool:
    return any(word in known for known in world.vocabulary.risk.values())


def _makes_one(
    sentence: Sentence,
    part: Part,
    intent: Intent,
    wanted: Sequence[frozenset[int]],
    question: bool,
    world: World,
) -> bool:
    """“get me a backup of …”: what is not there yet is made, and not looked at."""
    if question or intent.changes or not intent.asks.looks or not wanted:
        return False
    leads = {sentence.words[min(span) - 1].text for span in wanted if min(span) > part.span.start}
    lit = {sentence.words[i].text for i in part.span} & {"get", "have", "give", "need", "want", "grab"}
    return bool(leads & (ARTICLES | {"fresh", "new"}) and lit)


def _alluded(sentence: Sentence, part: Part, intent: Intent, facts: Facts, world: World) -> bool:
    """Whether a part of a name may stand for it: “how much disk is left”, not “the CPU usage of node-3”."""
    if all(value.how != "part" for value in facts.values.values()):
        return True
    about = {word for phrase in intent.about for word in phrase}
    known = world.vocabulary.small | about | {word for one in world.vocabulary.asking.known for word in one}
    return all(
        i in facts.used or sentence.roles.get(i) or word.kind == "mark" or word.bare in known
        for i in part.span
        for word in [sentence.words[i]]
    )


def _weight(
    sentence: Sentence, part: Part, intent: Intent, hit: Hit, facts: Facts, question: bool, world: World
) -> tuple[float, Hit | None, frozenset[int]]:
    front = FRONT if _front(sentence, part, hit.start) else 0.0
    more = WORD_MORE * (hit.size - 1)
    if hit.role == "verb":
        return (
            VERB + more + front - (0.0 if hit.form == "base" or passive(sentence, part, hit) else 0.6),
            hit,
            hit.claimed,
        )
    if hit.role == "loose":
        said = {*facts.values, *(doubt.field for doubt in facts.doubts)}
        whole = all(name in said for name in intent.needs()) or _own_name(intent, facts, world)
        return (LOOSE + more + front, hit, hit.claimed) if whole else (0.0, None, frozenset())
    light = _light(sentence, part, hit, intent, question, world)
    if light:
        front = FRONT if _front(sentence, part, min(hit.start, min(light))) else 0.0
        return VERB - BY_NOUN + more + front, replace(hit, claimed=hit.claimed | light), hit.claimed | light
    return (TROUBLE if intent.trouble else NOUN) + more / 2 + front, hit, hit.claimed


def _own_name(intent: Intent, facts: Facts, world: World) -> bool:
    """“run migrate-auth”: the exact name of a thing that only this runbook changes anything with."""
    tables = {intent.slots[n].inventory for n, value in facts.values.items() if value.how == "exact"}
    others = [one for one in world.grammar.intents.values() if one.changes and one.id != intent.id]
    return any(table and not any(table in one.tables() for one in others) for table in tables)


def passive(sentence: Sentence, part: Part, hit: Hit) -> bool:
    return hit.form == "ed" and any(
        sentence.words[i].text in PASSIVE for i in range(part.span.start, hit.start)
    )


MOVES = frozenset({"change", "set", "bring", "put"})  # what is there: only a number is set that way


def _light(
    sentence: Sentence, part: Part, hit: Hit, intent: Intent, question: bool, world: World
) -> frozenset[int]:
    """The light verb or the asking word that makes a wish of a noun."""
    if intent.trouble:
        return frozenset()
    known, asking = world.vocabulary.lights, world.vocabulary.asking
    found: set[int] = set()
    phrased = {i for one in sentence.hits if one.role == "verb" and one.size > 1 for i in one.claimed}
    for index in part.span:
        if index in hit.claimed or index in phrased or sentence.roles.get(index) in {"name", "value", "time"}:
            continue
        works = intent.changes or not intent.asks.looks
        length = (known if works else asking).at(sentence.words, index)
        moves = sentence.words[index].text in MOVES and not any(slot.number for slot in intent.slots.values())
        if length and not moves and sentence.words[index].text not in IT:
            found |= {*range(index, index + length)}
    return frozenset(found)


def _front(sentence: Sentence, part: Part, start: int) -> bool:
    """Whether only courtesy and small words stand before it."""
    return all(
        sentence.roles.get(i) in {"polite", "mention", "time", "emoji", "ticket", "link"}
        or sentence.words[i].kind == "mark"
        or sentence.words[i].text in {"the", "a", "an", "and", "then", "also"}
        for i in range(part.span.start, start)
    )


def _asks_to_see(sentence: Sentence, part: Part, world: World) -> bool:
    return any(
        world.vocabulary.asking.at(sentence.words, i) or sentence.words[i].text in {"run", "execute"}
        for i in part.span
        if sentence.roles.get(i) != "name"
    )


def _only_named(sentence: Sentence, part: Part, facts: Facts, world: World) -> bool:
    """“disk-usage please”: the exact name of a read, and nothing else."""
    exact = all(value.how == "exact" for value in facts.values.values())
    return exact and all(
        i in facts.used or sentence.roles.get(i) in {"polite", "mention", "emoji"} or word.kind == "mark"
        for i in part.span
        for word in [sentence.words[i]]
    )


def _entities(sentence: Sentence, part: Part, intent: Intent, facts: Facts, question: bool) -> float:
    """Names that it needs count for it; those that it cannot use count against it."""
    needed = intent.needs()
    present = sum(
        ENTITY * _fit(sentence, part, facts.values[name]) for name in needed if name in facts.values
    )
    present += sum(ENTITY / 2 for name in facts.values if name not in needed)
    missing = sum(
        MISSING if intent.slots[name].inventory in {"", ENVIRONMENTS} else MISSING_TARGET
        for name in needed
        if name not in facts.values
    )
    foreign = 0.0
    for name in sentence.names:
        if name.start in part.span and not any(i in facts.used for i in range(name.start, name.end)):
            real = [m for m in name.meanings if m.table != ENVIRONMENTS and not m.table.startswith("=")]
            foreign += (
                FOREIGN
                if real and (name.end - name.start > 1 or not sentence.words[name.start].text.isalpha())
                else MISSING
                if real
                else 0.0
            )
    if not question:  # “is checkout on 3.0.1?”: what stands there answers it
        values_ = (i for i in part.span if sentence.roles.get(i) == "value" and i not in facts.used)
        foreign += sum(FOREIGN for _ in values_)
    return present - missing - foreign


def _fit(sentence: Sentence, part: Part, value: Value) -> float:
    """How surely a value is meant: a variant of what is exactly something else counts little."""
    if value.how == "exact":
        return 1.0
    named = [name for name in sentence.names if name.said == value.said and name.start in part.span]
    return (
        0.25
        if any(m.how == "exact" for name in named for m in name.meanings)
        else 1.0
        if value.how == "variant"
        else 0.5
    )
