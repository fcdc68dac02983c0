"""What is refused whatever else was said: what destroys, is only told, says not to, or was taken back."""

from collections.abc import Sequence

from bot.planner.language.document import Sentence, Understood, World
from bot.planner.language.doubts import leftovers
from bot.planner.language.meaning.intents import PASSIVE

NO_PLAN = "“{said}” says not to, so nothing is planned."


TOLD_IT = "That tells me what happened; it asks for nothing, so nothing is planned."


DESTROYS = "I have no runbook that may “{said}” anything, and I make none up."


GATED = "“{said}” is not for words to decide: people approve by the button, and policy stays as it is."


ENDED = frozenset(
    [
        "was",
        "were",
        "is",
        "went",
        "did",
        "failed",
        "broke",
        "worked",
        "caused",
        "took",
        "finished",
        "completed",
        "succeeded",
        "happened",
        "looks",
        "seems",
        "has",
        "had",
        "isn't",
        "wasn't",
    ]
)


def refused(sentence: Sentence, found: Sequence[Understood | None], world: World) -> tuple[str, str]:
    """Why nothing is planned whatever else was said, or ""; and words of the gate, to be asked about."""
    known = [one for one in found if one]
    claimed = {i for one in known for i in {*one.claimed, *one.facts.used}}
    guarded = "gate" in world.rules
    wipes, gate = (
        leftovers.gates(sentence.words, sentence.roles, claimed, world.vocabulary) if guarded else ("", "")
    )
    if wipes:
        return DESTROYS.format(said=wipes), gate
    if not known:
        return GATED.format(said=gate) if gate else "", gate
    told = [one for one in known if _told(sentence, one)]
    if any(one.intent.changes for one in told) or len(told) == len(known):
        return TOLD_IT, gate
    no = next((said for one in known if (said := _negated(sentence, one, world))), "")
    said = no or _taken_back(sentence, world)
    return NO_PLAN.format(said=said) if said else "", gate


def _told(sentence: Sentence, one: Understood) -> bool:
    """“We restarted checkout”, “deploying v2.3 broke logins”: said of what was, not of what shall be."""
    if one.question:
        return False
    if not one.intent.changes:
        return one.form == "noun" and _look_told(sentence, one)
    if one.form == "base":
        return _was(sentence, one)
    before = [sentence.words[i].text for i in range(one.part.span.start, one.core)]
    if one.form == "ed":
        return _done(sentence, one, before)
    inside = {sentence.words[i].text for i in one.part.span if i not in one.claimed}
    if one.form == "ing":
        return not {*before} & STARTING and (not before or bool(inside & ENDED))
    after = {sentence.words[i].text for i in range(one.verb, one.part.span.stop)}
    return one.form == "noun" and bool(after & ENDED) and not {*before} & WANTING


STARTING = frozenset({"mind", "start", "begin", "suggest", "consider", "about"})
WANTING = frozenset({"need", "needs", "want", "like"})
DID = frozenset({"have", "has", "had", "i", "we", "they", "already"})


def _look_told(sentence: Sentence, one: Understood) -> bool:
    """“The status was …”: what was seen, unless it is trouble."""
    led = {sentence.words[i - 1].text for i in one.claimed if i > one.part.span.start}
    return bool(led & {"was", "were"}) and not one.intent.trouble


def _done(sentence: Sentence, one: Understood, before: Sequence[str]) -> bool:
    """“We restarted …”, but not “I want … restarted” nor “I'd appreciate it if you restarted …”."""
    if before and sentence.roles.get(one.core - 1) == "polite":
        return False
    if before and before[-1] in DID:
        return True
    was = {*before} & {"was", "were", "been", "has", "had"} and "to" not in before
    return not ({*before} & PASSIVE) or bool(was)


def _was(sentence: Sentence, one: Understood) -> bool:
    """“Restart … in production was a mistake”: behind the wish itself, before any comma."""
    for index in range(one.core, one.part.span.stop):
        word = sentence.words[index]
        if word.text in {",", "-", "–", "—", "("} or sentence.roles.get(index) == "reason":
            return False
        if word.text in {"was", "were", "went", "failed", "broke", "caused"}:
            return True
    return False


def _negated(sentence: Sentence, one: Understood, world: World) -> str:
    """A negation that stands before the verb is about all of it."""
    if one.intent.trouble and one.form != "base":
        return ""
    clause = sentence.clause(one.part.span)
    for index in range(one.part.span.start, one.core):
        word = sentence.words[index]
        quiet = sentence.roles.get(index) in {"polite", "name", "time", "reason"}
        if quiet or (index in one.claimed and one.intent.trouble):
            continue
        if world.vocabulary.risk["negation"].at(sentence.words, index) or word.text.endswith("n't"):
            return leftovers.phrase_at(clause, index)
    return ""


def _taken_back(sentence: Sentence, world: World) -> str:
    """“… Scratch that”: a sentence of its own that takes everything back."""
    known = world.vocabulary.risk["retraction"]
    for index, word in enumerate(sentence.words):
        alone = index > 0 and sentence.words[index - 1].text in {".", "!", "?", "\n", "-", "—", ","}
        length = known.at(sentence.words, index)
        if alone and length and word.text != "wait":
            return " ".join(w.said for w in sentence.words[index : index + length])
    return ""
