"""What is refused whatever else was said: what destroys, is only told, says not to, or was taken back."""

from collections.abc import Sequence
from itertools import pairwise

from bot.planner.language.document import Sentence, Understood, World
from bot.planner.language.doubts import leftovers
from bot.planner.language.lexicon.vocabulary import split
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
    told = [one for one in known if _told(sentence, one, world)]
    if any(one.intent.changes for one in told) or len(told) == len(known):
        return TOLD_IT, gate
    no = next((said for one in known if (said := _negated(sentence, one, world))), "")
    said = no or _taken_back(sentence, world)
    return NO_PLAN.format(said=said) if said else "", gate


def _told(sentence: Sentence, one: Understood, world: World) -> bool:
    """“We restarted checkout”, “deploying v2.3 broke logins”: said of what was, not of what shall be."""
    if one.question:
        return False
    if not one.intent.changes:
        return _doing(sentence, one) or (one.form == "noun" and _look_told(sentence, one, world))
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


BEING = frozenset({"was", "were", "been", "am", "is", "are", "i'm", "we're", "they're", "he's", "she's"})
WISHING = frozenset(
    split(
        "need, needs, want, wants, would, could, should, must, can, may, will, wanna, require, wish, love"
        ", like"
    )
)


def _doing(sentence: Sentence, one: Understood) -> bool:
    """“I was checking auth-prod when …”: somebody does or did it already."""
    before = sentence.words[one.core - 1].text if one.core > one.part.span.start else ""
    return one.form == "ing" and before in BEING and sentence.words[one.core].text != "looking"


def _had(sentence: Sentence, one: Understood) -> bool:
    """“we have backups of auth_prod”, “thank you for the status”: of what there is, or was given."""
    said = [sentence.words[i].text for i in range(one.part.span.start, max(one.claimed, default=one.verb))]
    thanked = any(pair in {("you", "for"), ("thanks", "for")} for pair in pairwise(said))
    subject = [n for n, word in enumerate(said[:3]) if word in {"i", "we", "they", "you"}][:1]
    opens = subject and sentence.roles.get(one.part.span.start + subject[0]) != "polite"
    after = said[subject[0] + 1] if opens and len(said) > subject[0] + 1 else ""
    plainly = after.isalpha() and after not in WISHING and "to" not in said
    marvels = said[:2] in (["what", "a"], ["what", "an"])
    return thanked or marvels or bool(opens and plainly)


def _look_told(sentence: Sentence, one: Understood, world: World) -> bool:
    """“The status was …”: what was seen, unless it is trouble."""
    led = {sentence.words[i - 1].text for i in one.claimed if i > one.part.span.start}
    troubled = any(world.grammar.intents[hit.intent].trouble for hit in sentence.hits)
    if one.intent.trouble or (one.intent.asks.looks and troubled):
        return False
    return bool(led & {"was", "were"}) or _so(sentence, one) or _stated(sentence, one) or _had(sentence, one)


STATES = frozenset(
    {"is", "are", "isn't", "aren't", "was", "were", "has", "had", "ist", "sind", "war", "waren", "es", "son"}
)
NEEDED = frozenset({"needed", "required", "due", "wanted", "requested", "necessary", "overdue", "nötig"})


def _so(sentence: Sentence, one: Understood) -> bool:
    """“auth-prod is up”: says what is so of a name."""
    near = {i for index in one.claimed for i in (index - 1, index) if i > one.part.span.start}
    copulas = [i for i in near if sentence.words[i].text in {"is", "are", "ist", "sind"}]
    return any(sentence.roles.get(i - 1) == "name" for i in copulas)


def _stated(sentence: Sentence, one: Understood) -> bool:
    """“The backups of auth_prod are great”: a noun and what is so of it; but not “… is needed”."""
    for index in range(one.verb + 1, one.part.span.stop):
        word = sentence.words[index]
        if word.kind == "mark":
            return False
        after = {later.text for later in sentence.words[index + 1 : one.part.span.stop]}
        relative = sentence.words[index - 1].text in {"that", "which", "who", "what", "how", "if", "whether"}
        if word.text in STATES and not relative:
            return not after & NEEDED
    return False


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
