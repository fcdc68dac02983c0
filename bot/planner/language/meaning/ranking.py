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
    FLOOR,
    TIE,
    Hit,
    says,
)
from bot.planner.language.meaning.scoring import ARTICLES, Ranked, passive, scored
from bot.planner.runbooks.environments import ENVIRONMENTS

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
    suffered = [hit for hit in ours if _suffered(sentence, hit, ours, world)]
    ours = [hit for hit in ours if hit not in suffered]
    if (_spoken_of(sentence, part, question, world) and not suffered) or any(
        _reported(sentence, part, hit, question) for hit in ours
    ):
        return []
    for key in dict.fromkeys([*(hit.intent for hit in ours), *_by_name(sentence, part, world)]):
        intent = world.grammar.intents[key]
        if question and (intent.changes or not intent.asks.looks):
            continue
        if one := scored(
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
    verb = hit.role == "verb" and (hit.form == "base" or passive(sentence, part, hit))
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


def _as_noun(sentence: Sentence, hit: Hit, world: World) -> Hit:
    """“needs a kick”, “give it a bounce”: behind a light verb, what is done is a noun of it."""
    lead = [word.text for word in sentence.words[max(0, hit.start - 6) : hit.start]]
    lit = lead[-1:] and lead[-1] in ARTICLES and {*lead[:-1]} & world.vocabulary.light
    return replace(hit, role="noun") if lit and hit.form == "base" else hit


MOST = 8  # words of one runbook that are weighed in a clause
SPOKEN_OF = re.compile(
    r"(?:should|shall|must) (?:we|i|you|they)\b|why (?:did|do|would|should) (?:we|i|you|they)\b|"
    r"is it (?:allowed|safe|wise|legal|forbidden|smart|permitted|necessary|normal|right|fair) to\b|"
    r"(?:we|i|they|you) did\b|.*\bwhether to\b"
)


SUPPOSED = re.compile(r"(?:.* )?(?:what (?:would|should|will|could)|what'd|happens?|what) (?:.* )?if\b")


ABLE = frozenset({"can", "could", "may"})
MEANT = re.compile(
    r"what (?:do|does|did) .+ (?:do|mean|stand for)$|(?:will|would|might|should|shall) (?!be (?:so|able))"
)


def _spoken_of(sentence: Sentence, part: Part, question: bool, world: World) -> bool:
    """“should we …”, “why did you …”, “what would you do if …?”: nothing of it is a wish."""
    said = [sentence.words[i].text for i in part.span if sentence.roles.get(i) != "polite"]
    supposed = SUPPOSED.match(" ".join(sentence.words[i].text for i in part.span))
    asked = question and sentence.roles.get(part.span.start) != "polite"
    after = [i for i in part.span if i > part.span.start][:1]
    if asked and said[:1] and said[0] in ABLE and after and sentence.roles.get(after[0]) != "name":
        return True  # “can bob see …?”, “could a restart fix it?”: what may be, not what is
    meant = asked and MEANT.match(
        " ".join(w.text for i in part.span if (w := sentence.words[i]).kind != "mark")
    )
    return bool(
        supposed or meant or SPOKEN_OF.match(" ".join(said[:8])) or _whys(sentence, part, question, world)
    )


def _whys(sentence: Sentence, part: Part, question: bool, world: World) -> bool:
    """“why did carol restart …?”: asks somebody for a reason; “why does checkout restart …” tells trouble."""
    said = [sentence.words[i].text for i in part.span][:2]
    if not question or said[:1] != ["why"] or said[1:] not in (["did"], ["do"], ["does"]):
        return False
    deeds = (
        hit for hit in sentence.hits if (hit.role, hit.form) == ("verb", "base") and hit.start in part.span
    )
    return any(
        world.grammar.intents[hit.intent].changes
        and not nounlike(sentence, hit)
        and hit.start > part.span.start + 2
        and not sentence.roles.get(hit.start - 1)
        and sentence.words[hit.start - 1].bare
        not in {*world.vocabulary.small, "keep", "to", "always", "still"}
        for hit in deeds
    )


def _reported(sentence: Sentence, part: Part, hit: Hit, question: bool) -> bool:
    """“why did you list …”, “we did run …”: speaks of doing it, and does not ask for it."""
    lead = [word.text for word in sentence.words[max(0, hit.start - 2) : hit.start]]
    if question and hit.role == "verb" and hit.form == "ed" and lead and lead[-1] in {*PRONOUNS, "who"}:
        return True
    before = {word.text for word in sentence.words[part.span.start : hit.start]}
    if question and hit.role == "verb" and hit.form == "ed" and {"have", "you"} <= before:
        return True
    someone = lead and lead[-1] in {*PRONOUNS} - {"it", "there"}
    if question and hit.role == "verb" and hit.form == "ing" and someone:
        return True
    if hit.role != "verb" or hit.form != "base" or not lead:
        return False
    asked = question and lead[-1] in PRONOUNS and sentence.roles.get(hit.start - 1) != "polite"
    return (lead[-1] == "did" or asked) and not any(
        one.role == "noun" and part.span.start <= one.start < hit.start for one in sentence.hits
    )


def _suffered(sentence: Sentence, hit: Hit, ours: Sequence[Hit], world: World) -> bool:
    """“why do we see so many 503s”, “we get errors”: nobody did that, and nobody asks for it."""
    seen = hit.role == "verb" and sentence.words[hit.start].text in {"see", "get", "have"}
    after_us = hit.start > 0 and sentence.words[hit.start - 1].text in PRONOUNS
    return (
        seen
        and after_us
        and any(one.role == "noun" and world.grammar.intents[one.intent].trouble for one in ours)
    )


def _by_name(sentence: Sentence, part: Part, world: World) -> list[str]:
    return [
        key for key, intent in world.grammar.intents.items() if intent.asks.by_name and not intent.changes
    ]


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
