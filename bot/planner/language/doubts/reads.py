"""Leftovers of what only reads: shown as not used, unless the words order something else, or bind it."""

from collections.abc import Iterator, Sequence

from bot.planner.language.document import Sentence, Understood, World
from bot.planner.language.doubts import leftovers
from bot.planner.language.doubts.taken import quiet, used
from bot.planner.language.lexicon.plain import Doubt
from bot.planner.language.lexicon.vocabulary import split
from bot.planner.language.lexicon.words import Word
from bot.planner.language.meaning import clauses
from bot.planner.language.meaning.ranking import nounlike
from bot.planner.language.meaning.scoring import MOVES
from bot.planner.runbooks.environments import ENVIRONMENTS


def of_read(sentence: Sentence, one: Understood, world: World) -> leftovers.Judged:
    clause = sentence.clause(one.part.span)
    left = [*leftovers.open_words(clause, {*one.claimed, *one.facts.used})]
    open_ = [i for i in left if sentence.words[i].kind != "mark"]
    doubts = [] if one.question else [*_ordered(sentence, one, open_, world)]
    doubts += [] if one.question or one.intent.trouble else [*_unread(sentence, one, left)]
    doubts += [] if one.question or one.form != "base" else [*_bound(sentence, one, open_, world)]
    doubts += [] if one.question else [*_changes_left(sentence, one, world)][:1]
    doubts += [*second_wish(sentence, one.part.span, open_, world), *_joined(sentence, one, world)]
    return leftovers.Judged(tuple(doubts), (*leftovers.quoted(sentence.words, open_, world.vocabulary),))


def _ordered(sentence: Sentence, one: Understood, open_: Sequence[int], world: World) -> Iterator[Doubt]:
    """What stands before the words of a read may usher them in, or tell trouble; else it is an order."""
    known, lead = world.vocabulary, [i for i in open_ if i < one.verb]
    telling = one.intent.trouble and one.form == "noun"
    odd = [i for i in lead if sentence.words[i].text in known.frames]
    odd += [i for i in lead[:1] if one.form == "noun" and _order(sentence, one, i, open_, world)]
    odd += [i for i in lead if not (telling or _ushers(sentence.words[i], world))]
    odd += _for_others(sentence, one)
    for i in odd[:1]:
        yield Doubt("frame", leftovers.phrase_at(sentence.clause(one.part.span), i))


WANTS = frozenset(split("have, need, needs, want, wants, get, give, grab, could use, pull, do, run, perform"))
WHOM = frozenset({"me", "us", "mir", "uns"})
ALL = frozenset({"everyone", "everybody", "team", "all", "channel", "folks"})
GIVING = frozenset({"give", "show", "get", "bring", "send"})
COUNTING = ("quantity", "comparison", "scope", "time")  # “latest checkout is slow” tells
OTHERS = WHOM | {"him", "her", "them", "it", "you"}


def _for_others(sentence: Sentence, one: Understood) -> list[int]:
    """“give bob the status of …”: an answer goes to whoever asks; who else shall have it is asked about."""
    said, found = sentence.words, []
    for i in one.part.span:
        after = [n for n in range(i + 1, one.part.span.stop) if said[n].text not in leftovers.DETERMINERS][:1]
        for n in after if said[i].text in GIVING | {"tell"} else ():
            given = said[min(n + 1, one.part.span.stop - 1)].text in leftovers.DETERMINERS
            if given and said[n].text not in WHOM | ALL and sentence.roles.get(n) in {None, "mention"}:
                found.append(i)
    return found


def _order(sentence: Sentence, one: Understood, index: int, open_: Sequence[int], world: World) -> bool:
    """“configure an alert for …”, “silence auth-service alerts”: another verb, with its object."""
    before = (i for i in range(one.part.span.start, index) if sentence.words[i].kind != "mark")
    if any(sentence.roles.get(i) not in {"polite", "mention", "emoji", "ticket", "time"} for i in before):
        return False
    word, known = sentence.words[index], world.vocabulary
    after = sentence.words[index + 1] if index + 1 < len(sentence.words) else word
    given = sentence.words[index + 2 : index + 3]
    if word.text in GIVING and given and given[0].text in leftovers.DETERMINERS:
        return after.text not in WHOM and index + 1 in open_
    if word.text in known.light and word.text not in known.asking:
        return not _governs(sentence, one, index, world)
    if word.text in {"tell", "ask"}:
        return after.text not in WHOM and not sentence.roles.get(index + 1)
    told = word.text.endswith(("ing", "ed", "s")) or not word.text.isalpha() or _ushers(word, world)
    object_ = after.text in leftovers.DETERMINERS | OTHERS or sentence.roles.get(index + 1) == "name"
    return not told and object_ and not any(word.text in known.risk[kind] for kind in COUNTING)


def _governs(sentence: Sentence, one: Understood, index: int, world: World) -> bool:
    """“run a health check”, “need the status of”; but not “create a dashboard for the errors”."""
    word = sentence.words[index].text
    if word in MOVES or (one.intent.trouble and word not in WANTS):
        return False
    between = (sentence.words[i] for i in range(index + 1, one.verb) if not sentence.roles.get(i))
    return all(said.bare in world.vocabulary.small | leftovers.DETERMINERS for said in between)


def _ushers(word: Word, world: World) -> bool:
    """Whether a word may lead to a wish to see something."""
    known = world.vocabulary
    leads = word.bare in known.small or word.text in known.asking or word.text in known.light
    return leads or word.bare in leftovers.AUXILIARY or word.text in clauses.JOINS | clauses.STRONG


def _unread(sentence: Sentence, one: Understood, left: Sequence[int]) -> Iterator[Doubt]:
    """A sign of code, or beside a mere noun a version: “build checkout 3.0.2” asks for something else."""
    for i in left:
        word = sentence.words[i]
        if word.kind == "mark" and word.text in leftovers.SYMBOLS:
            yield Doubt("symbols", leftovers.glued(sentence.clause(one.part.span), i))
    versions = [i for i in one.part.span if sentence.roles.get(i) == "value" and i not in one.facts.used]
    for i in versions[:1] if one.form == "noun" else ():
        yield Doubt("target", sentence.words[i].said)
    named = any(one.intent.slots[name].inventory not in {"", ENVIRONMENTS} for name in one.facts.values)
    urls = [i for i in left if sentence.words[i].kind == "url"]
    for i in urls[:1] if not named else ():
        yield Doubt("target", sentence.words[i].said)


DOING = frozenset(
    split(
        "take, make, create, do, run, perform, start, trigger, produce, store, generate, set, "
        "change, put, then, afterwards"
    )
)


def second_wish(sentence: Sentence, span: range, open_: Sequence[int], world: World) -> list[Doubt]:
    """“list the backups and take a new one”: a wish that was not read, joined to one that only looks."""
    joins = clauses.JOINS | clauses.STRONG
    odd = [i for i in open_ if i - 1 in span and sentence.words[i - 1].text in joins]
    wishes = [i for i in odd if sentence.words[i].text in DOING] if "argument" in world.rules else []
    return [Doubt("verb", leftovers.phrase_at(sentence.clause(span), i)) for i in wishes[:1]]


def _joined(sentence: Sentence, one: Understood, world: World) -> list[Doubt]:
    """“… and the backups of auth_prod”: a second thing, joined, that the read has not taken."""
    found = []
    for name in sentence.names:
        inside = name.start in one.part.span and not one.facts.used & {*range(name.start, name.end)}
        real = [m for m in name.meanings if m.table != ENVIRONMENTS and not m.table.startswith("=")]
        place = name.start - 1
        while place > one.part.span.start and not sentence.roles.get(place) and (
            sentence.words[place].bare in world.vocabulary.small - clauses.JOINS
            or any(place in hit.claimed for hit in sentence.hits if hit.role == "noun")
        ):  # fmt: skip
            place -= 1
        joined = sentence.words[place].text in clauses.JOINS | {"or", "oder", "o"}
        plainly = sentence.words[name.start].text in world.vocabulary.small
        if inside and real and joined and not plainly and place > one.part.span.start:
            found.append(Doubt("target", name.said, why=f"I do not know what “{name.said}” means here."))
    return found[:1]


def _changes_left(sentence: Sentence, one: Understood, world: World) -> Iterator[Doubt]:
    """A verb of a change in what would only be read: it was not understood, and so it is asked about."""
    known = used(sentence, one, world)
    for hit in sentence.hits:
        changing = (hit.role, hit.form) == ("verb", "base") and world.grammar.intents[hit.intent].changes
        apart = not one.claimed & {hit.start - 1, hit.start + 1} and not hit.claimed & known
        meant = not quiet(sentence, hit) and not nounlike(sentence, hit)
        if changing and apart and meant and hit.claimed <= {*one.part.span}:
            yield Doubt("verb", sentence.words[hit.start].said)


UNTIL = frozenset({"every", "each", "until", "till", "bis", "hasta"})


def _bound(sentence: Sentence, one: Understood, open_: Sequence[int], world: World) -> Iterator[Doubt]:
    """A read that shall run only sometimes: “every time a PR merges”, “if the build is green”."""
    condition, span = world.vocabulary.risk["condition"], one.part.span
    inner = [i for i in open_ if one.verb + 1 < i < span.stop - 1] if "risk" in world.rules else []
    tied = [i for i in inner if sentence.words[i].text in UNTIL or condition.at(sentence.words, i)]
    for i in tied[:1]:
        yield Doubt("condition", leftovers.phrase_at(sentence.clause(span), i))
