"""Which intent each clause means, and what goes on with the clause before."""

import re
from collections.abc import Sequence
from dataclasses import replace

from bot.planner.language.document import Sentence, Understood, World
from bot.planner.language.doubts import leftovers
from bot.planner.language.meaning import clauses, values
from bot.planner.language.meaning.asking import PRONOUNS, asks_something
from bot.planner.language.meaning.clauses import Part
from bot.planner.language.meaning.intents import (
    BY_NAME,
    ENTITY,
    FLOOR,
    FOREIGN,
    FRONT,
    LOOSE,
    MISSING,
    MISSING_TARGET,
    NOUN,
    PASSIVE,
    TIE,
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


NOUN_LEADS = leftovers.DETERMINERS - {"that", "this", "la"} | frozenset(
    [
        "of",
        "from",
        "for",
        "with",
        "on",
        "in",
        "via",
        "after",
        "before",
        "during",
        "by",
        "latest",
        "last",
        "first",
        "next",
        "full",
        "nightly",
        "previous",
        "recent",
        "current",
        "fresh",
        "no",
        "another",
    ]
)


IT = frozenset({"it", "them", "that", "this", "both", "es", "ihn", "lo", "la"})


def understand(
    sentence: Sentence, parts: Sequence[Part], world: World
) -> tuple[list[Understood | None], dict[str, float]]:
    found: list[Understood | None] = []
    scores: dict[str, float] = {}
    asked = {part.span.start: asks_something(sentence, part, parts, world) for part in parts}
    for said in parts:
        before = next((one for one in reversed(found) if one), None)
        # “Merge the PR. If it's done, …”: it hangs on something that was not read, so it is no “then”
        part = replace(said, strong=said.strong and (not found or found[-1] is not None))
        ranked = rank(sentence, part, asked[part.span.start], world)
        for intent, score, *_ in ranked:
            scores[intent.id] = max(score, scores.get(intent.id, 0.0))
        if ranked and ranked[0][1] >= FLOOR and not _tied(ranked):
            found.append(_made(sentence, part, ranked[0], asked[part.span.start], world))
        elif (before and not ranked and _adds(sentence, part, before, world)) or (
            before and not ranked and _continues(sentence, part, before)
        ):
            found.append(_inherit(sentence, part, before, world))
        else:
            found.append(None)
    return found, scores


def _tied(ranked: Sequence[Ranked]) -> bool:
    return (
        len(ranked) > 1
        and ranked[0][1] - ranked[1][1] < TIE
        and (ranked[0][0].changes or ranked[1][0].changes)
    )


def rank(sentence: Sentence, part: Part, question: bool, world: World) -> list[Ranked]:
    """Every intent that a clause speaks of, best first. A question is never a change."""
    made = []
    here = [hit for hit in sentence.hits if hit.claimed <= {*part.span}]
    spoken = [_as_noun(sentence, hit, world) if nounlike(sentence, hit) else hit for hit in here]
    spoken = [hit for hit in spoken if not nounlike(sentence, hit)]
    spoken = [hit for hit in spoken if question or not _asking_phrase(sentence, hit)]
    spoken = [hit for hit in spoken if not _plural(hit, world)]
    ours = [hit for hit in spoken if not all(sentence.roles.get(i) == "reason" for i in hit.claimed)]
    if question and _who(sentence, part):
        ours = [hit for hit in ours if hit.role == "loose"]
    if _spoken_of(sentence, part) or any(_reported(sentence, part, hit, question) for hit in ours):
        return []
    for key in dict.fromkeys([*(hit.intent for hit in ours), *_by_name(sentence, part, world)]):
        intent = world.grammar.intents[key]
        if question and (intent.changes or not intent.asks.looks):
            continue
        if one := _scored(
            sentence, part, intent, [hit for hit in ours if hit.intent == key][:MOST], question, world
        ):
            made.append(one)
    proposed = question and any(_proposed(sentence, part, hit, world) for hit in here)
    if proposed or (not question and any(_plainly_changes(sentence, part, hit, world) for hit in ours)):
        made = [one for one in made if not _only_looks(one)]
    asked = [one for one in made if question and one[1] >= FLOOR and not _lacks(one)]
    return sorted(asked or made, key=lambda one: (-one[1], one[0].id))


def _lacks(one: Ranked) -> bool:
    """Whether a question would have to be answered with one: “which service?”."""
    intent, *_, facts = one
    targets = (name for name in intent.needs() if intent.slots[name].inventory not in {"", ENVIRONMENTS})
    return any(name not in facts.values for name in targets)


def _plural(hit: Hit, world: World) -> bool:
    """“backups auth_prod”, “restarts of checkout”: nobody asks for a change in the third person."""
    return hit.role == "verb" and hit.form == "s" and world.grammar.intents[hit.intent].changes


def _asking_phrase(sentence: Sentence, hit: Hit) -> bool:
    """“was … deployed”: only a question says that; “checkout was deployed” tells it."""
    first = sentence.words[hit.start].text
    said = hit.role == "verb" and hit.size > 1 and sentence.roles.get(hit.start) != "polite"
    return said and first in {"is", "was", "were", "has", "have", "are", "did"}


def _only_looks(one: Ranked) -> bool:
    intent, _, hit, *_ = one
    return intent.asks.looks and not intent.changes and not intent.trouble and hit.role == "noun"


def _plainly_changes(sentence: Sentence, part: Part, hit: Hit, world: World) -> bool:
    """“have the pods restarted”: a verb of a change, told or passive, is more than a noun of a read."""
    verb = hit.role == "verb" and (hit.form == "base" or _passive(sentence, part, hit))
    return verb and world.grammar.intents[hit.intent].changes


def _proposed(sentence: Sentence, part: Part, hit: Hit, world: World) -> bool:
    """“is it ok to deploy …?”: asks about a change, and not how something stands."""
    before = sentence.words[hit.start - 1].text if hit.start > part.span.start else ""
    leads = {"with", "of", "about", "for", "by"} if hit.form == "ing" else {*PRONOUNS, "to", "i'd", "we'd"}
    verb = hit.role == "verb" and hit.form in {"base", "ing"} and before in leads
    return verb and world.grammar.intents[hit.intent].changes


def _who(sentence: Sentence, part: Part) -> bool:
    """“who is on call for auth-service?”: no state of a thing answers it."""
    said = (sentence.words[i].text for i in part.span if sentence.words[i].kind == "word")
    return next(said, "") in {"who", "who's", "whose", "whom", "wer", "wessen", "quién", "quien"}


def nounlike(sentence: Sentence, hit: Hit) -> bool:
    """A verb of one word behind “the” or “a” is a noun: “the deploy of checkout”."""
    before = sentence.words[hit.start - 1].text if hit.start else ""
    return hit.role == "verb" and hit.size == 1 and before in NOUN_LEADS


BY_NOUN = 0.3  # a verb of its own says a little more than a light one with a noun
ARTICLES = frozenset({"a", "an", "another", "one"})


def _as_noun(sentence: Sentence, hit: Hit, world: World) -> Hit:
    """“needs a kick”, “give it a bounce”: behind a light verb, what is done is a noun of it."""
    lead = [word.text for word in sentence.words[max(0, hit.start - 6) : hit.start]]
    lit = lead[-1:] and lead[-1] in ARTICLES and {*lead[:-1]} & world.vocabulary.light
    return replace(hit, role="noun") if lit and hit.form == "base" else hit


MOST = 8  # words of one runbook that are weighed in a clause
SPOKEN_OF = re.compile(
    r"(?:should|shall|must) (?:we|i|you|they)\b|why (?:did|do|would|should) (?:we|i|you|they)\b|"
    r"(?:we|i|they|you) did\b"
)


SUPPOSED = re.compile(r"(?:.* )?(?:what (?:would|should|will|could)|what'd|happens?|what) (?:.* )?if\b")


def _spoken_of(sentence: Sentence, part: Part) -> bool:
    """“should we …”, “why did you …”, “what would you do if …?”: nothing of it is a wish."""
    said = [sentence.words[i].text for i in part.span if sentence.roles.get(i) != "polite"]
    supposed = SUPPOSED.match(" ".join(sentence.words[i].text for i in part.span))
    return bool(supposed or SPOKEN_OF.match(" ".join(said[:4])))


def _reported(sentence: Sentence, part: Part, hit: Hit, question: bool) -> bool:
    """“why did you list …”, “we did run …”: speaks of doing it, and does not ask for it."""
    lead = [word.text for word in sentence.words[max(0, hit.start - 2) : hit.start]]
    if question and hit.role == "verb" and hit.form == "ed" and lead and lead[-1] in {*PRONOUNS, "who"}:
        return True
    if hit.role != "verb" or hit.form != "base" or not lead:
        return False
    asked = question and lead[-1] in PRONOUNS and sentence.roles.get(hit.start - 1) != "polite"
    return (lead[-1] == "did" or asked) and not any(
        one.role == "noun" and part.span.start <= one.start < hit.start for one in sentence.hits
    )


def _by_name(sentence: Sentence, part: Part, world: World) -> list[str]:
    return [
        key for key, intent in world.grammar.intents.items() if intent.asks.by_name and not intent.changes
    ]


def _scored(
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
        round(score + _entities(sentence, part, intent, facts, world), 2),
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
            VERB + more + front - (0.0 if hit.form == "base" or _passive(sentence, part, hit) else 0.6),
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


def _passive(sentence: Sentence, part: Part, hit: Hit) -> bool:
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


def _entities(sentence: Sentence, part: Part, intent: Intent, facts: Facts, world: World) -> float:
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
    foreign += sum(FOREIGN for i in part.span if sentence.roles.get(i) == "value" and i not in facts.used)
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


def _made(sentence: Sentence, part: Part, best: Ranked, question: bool, world: World) -> Understood:
    intent, score, hit, claimed, facts = best
    return Understood(
        part,
        intent,
        facts,
        hit.start,
        claimed,
        score,
        question=question,
        form=hit.form if hit.role != "noun" else "noun",
        core=hit.core if hit.core >= 0 else hit.start,
    )


def _continues(sentence: Sentence, part: Part, before: Understood) -> bool:
    """Whether a clause without a verb goes on with the one before: it names another target of its."""
    said = [name for name in sentence.names if name.start in part.span]
    tables = before.intent.tables() - {ENVIRONMENTS}
    first = sentence.words[part.span.start].text
    joined = first in clauses.JOINS or first in clauses.STRONG
    return joined and any(m.table in tables for name in said for m in name.meanings)


def _adds(sentence: Sentence, part: Part, before: Understood, world: World) -> bool:
    """“…, keep the last 3”: a verb of the same runbook, with a fact that is still open."""
    ours = any(hit.intent == before.intent.id and hit.claimed <= {*part.span} for hit in sentence.hits)
    return ours and completes(before, _inherit(sentence, part, before, world))


def completes(one: Understood, more: Understood) -> bool:
    """“clean up the backups of X, keep the last 3”: the same wish, with a fact that was still open."""
    targets = [
        name for name in more.facts.values if more.intent.slots[name].inventory not in {"", ENVIRONMENTS}
    ]
    open_ = [name for name in one.intent.needs() if name not in one.facts.values]
    return (
        one.intent.id == more.intent.id and not targets and any(name in more.facts.values for name in open_)
    )


def _inherit(sentence: Sentence, part: Part, before: Understood, world: World) -> Understood:
    facts = values.facts(
        sentence.clause(part.span), before.intent.slots, world.config, world.lexicon, world.vocabulary
    )
    about = {
        i
        for span in says(sentence.words, part.span, {*before.intent.about, *before.intent.nouns})
        for i in span
    }
    start = next((name.start for name in sentence.names if name.start in part.span), part.span.start)
    return Understood(
        part,
        before.intent,
        facts,
        start,
        frozenset(about),
        before.score,
        inherited=True,
        question=before.question,
    )
