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
    doubts += [] if one.question or one.intent.trouble else [*_unexplained(sentence, one, open_, world)]
    doubts += [] if one.question else [*_changes_left(sentence, one, world)][:1]
    doubts += [*second_wish(sentence, one.part.span, open_, world), *_joined(sentence, one, world)]
    return leftovers.Judged(tuple(doubts), (*leftovers.quoted(sentence.words, open_, world.vocabulary),))


def _ordered(sentence: Sentence, one: Understood, open_: Sequence[int], world: World) -> Iterator[Doubt]:
    """What stands before the words of a read may usher them in, or tell trouble; else it is an order."""
    known, lead = world.vocabulary, [i for i in open_ if i < one.verb and not _phrase(sentence, i, world)]
    telling = one.intent.trouble and one.form == "noun"
    odd = [i for i in lead if sentence.words[i].text in known.frames]
    odd += [i for i in lead[:1] if one.form == "noun" and _order(sentence, one, i, open_, world)]
    odd += [i for i in lead if not (telling or _ushers(sentence.words[i], world))]
    odd += [i for i in lead if sentence.words[i].text == "like" and sentence.words[i - 1].text in SUBJECTS]
    odd += [*_for_others(sentence, one), *_sent_to(sentence, one, open_)]
    for i in odd[:1]:
        yield Doubt("frame", leftovers.phrase_at(sentence.clause(one.part.span), i))


SUBJECTS = frozenset(split("i, we, you, they, people, users, customers"))
MARKS = frozenset(",-–—(.!?\n;:")


def _unexplained(sentence: Sentence, one: Understood, open_: Sequence[int], world: World) -> Iterator[Doubt]:
    """A wish to see something explains each of its words, up to where a comment begins."""
    if "argument" not in world.rules or one.intent.tables() & {"sources"} or _troubled(sentence, world):
        return  # of rows from a source, all that was said is the question
    last = max({*one.claimed, *one.facts.used}, default=one.verb)
    for i in open_:
        apart = any(sentence.words[n].text in MARKS for n in range(last + 1, i))
        fine = _plain(sentence.words[i], world) or _looking(sentence, i, world)
        fine = fine and not (
            i > last and sentence.words[i].text in world.vocabulary.light
        )  # “… run at night”
        if not apart and not fine:
            yield Doubt("argument", leftovers.phrase_at(sentence.clause(one.part.span), i))
            return
    for name in sentence.names:
        stray = name.start in one.part.span and not {*one.facts.used, *one.claimed} & {
            *range(name.start, name.end)
        }
        if stray and any(m.table != ENVIRONMENTS and not m.table.startswith("=") for m in name.meanings):
            plainly = sentence.words[name.start].text in world.vocabulary.small
            yield from () if plainly else [Doubt("target", name.said)]
            return


def _phrase(sentence: Sentence, index: int, world: World) -> bool:
    """“have a look at the status of …”: several words that only look."""
    looks = (hit for hit in sentence.hits if not world.grammar.intents[hit.intent].changes and hit.size > 1)
    return any(index in hit.claimed for hit in looks)


def _looking(sentence: Sentence, index: int, world: World) -> bool:
    looks = (hit for hit in sentence.hits if not world.grammar.intents[hit.intent].changes)
    return any(index in hit.claimed and hit.role == "verb" for hit in looks)


def _plain(word: Word, world: World) -> bool:
    """Whether a word says nothing by itself beside what shall be seen."""
    led = _ushers(word, world) or word.text in THAT | ALL_OF or word.bare in leftovers.DETERMINERS
    return led or word.kind == "emoji" or word.text in leftovers.ADVERBS or word.text in world.grammar.spoken


def _troubled(sentence: Sentence, world: World) -> bool:
    return any(world.grammar.intents[hit.intent].trouble for hit in sentence.hits)


ALL_OF = frozenset(split("all, every, each, any, alle, alles, todos, todas, toda, todo, cada"))


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


def _sent_to(sentence: Sentence, one: Understood, open_: Sequence[int]) -> list[int]:
    """“show the backups of auth_prod to bob”: who else shall have the answer is asked about."""
    place = max(one.facts.used, default=one.part.span.stop) + 1
    behind = [sentence.words[i].text for i in range(place, min(place + 2, one.part.span.stop))]
    whom = place + 1 in open_ or sentence.roles.get(place + 1) == "mention"
    return [place] if behind[:1] == ["to"] and len(behind) > 1 and whom and behind[1] not in WHOM else []


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
        if word.kind == "mark" and (word.text in leftovers.SYMBOLS or _option(sentence, i)):
            yield Doubt("symbols", leftovers.glued(sentence.clause(one.part.span), i))
    versions = [i for i in one.part.span if sentence.roles.get(i) == "value" and i not in one.facts.used]
    for i in versions[:1] if one.form == "noun" else ():
        yield Doubt("target", sentence.words[i].said)
    last = max({*one.claimed, *one.facts.used}, default=one.verb)
    colons = [i for i in left if last < i < one.part.span.stop - 1 and sentence.words[i].text == ":"]
    for i in colons[:1] if one.form == "noun" else ():  # “status of checkout: awesome”
        yield Doubt("frame", sentence.words[i + 1].said)
    named = any(one.intent.slots[name].inventory not in {"", ENVIRONMENTS} for name in one.facts.values)
    urls = [i for i in left if sentence.words[i].kind == "url"]
    for i in urls[:1] if not named else ():
        yield Doubt("target", sentence.words[i].said)


def _option(sentence: Sentence, index: int) -> bool:
    """“curl -X POST …”: a dash that sticks to what follows, and to nothing before."""
    word, later = sentence.words[index], sentence.words[index + 1 : index + 2]
    apart = index > 0 and sentence.words[index - 1].end < word.start
    return word.text == "-" and apart and bool(later) and later[0].start == word.end


PREPOSED = frozenset(split("with, against, to, mit, con"))
DOING = frozenset(
    split(
        "take, make, create, do, run, perform, start, trigger, produce, store, generate, set, "
        "change, put, then, afterwards"
    )
)


NAMING = frozenset(split("tag, build, release, image, free"))


def verbal(sentence: Sentence, span: range) -> Iterator[Doubt]:
    """“… and tag the release”: a small word, joined and with an object, is a verb."""
    joins, words = clauses.JOINS | clauses.STRONG, sentence.words
    for i in span[1:-1] if len(span) > 2 else ():
        joined = words[i].text in NAMING and words[i - 1].text in joins
        if joined and words[i + 1].text in leftovers.DETERMINERS:
            yield Doubt("verb", leftovers.phrase_at(sentence.clause(span), i))


def second_wish(sentence: Sentence, span: range, open_: Sequence[int], world: World) -> list[Doubt]:
    """“list the backups and take a new one”: a wish that was not read, joined to one that only looks."""
    joins = clauses.JOINS | clauses.STRONG
    if (nouns := [*verbal(sentence, span)]) and "argument" in world.rules:
        return nouns
    odd = [i for i in open_ if i - 1 in span and sentence.words[i - 1].text in joins]
    things = [i for i in open_ if _thing(sentence, span, i)] if "argument" in world.rules else []
    if things and not _troubled(sentence, world):
        return [Doubt("argument", leftovers.phrase_at(sentence.clause(span), things[0]))]
    wishes = [i for i in odd if _wishes(sentence, i, world)] if "argument" in world.rules else []
    return [Doubt("verb", leftovers.phrase_at(sentence.clause(span), i)) for i in wishes[:1]]


def _thing(sentence: Sentence, span: range, index: int) -> bool:
    """“… and its CPU graph”: a second thing behind “and”, of which nothing more is told."""
    lead = [sentence.words[i].text for i in range(max(span.start, index - 3), index)]
    ends = index + 1 >= span.stop or sentence.words[index + 1].kind == "mark"
    plainly = sentence.words[index].text not in TELLING and not any(
        index in hit.claimed for hit in sentence.hits
    )
    if lead[-1:] and lead[-1] in {"and", "&", "plus", "und", "y", "or"} and ends and plainly:
        return sentence.roles.get(index - 2) == "name"
    joined = len(lead) > 1 and lead[-1] in leftovers.DETERMINERS - {"that", "this"}
    behind = {word.text for word in sentence.words[index + 1 : span.stop]}
    return joined and bool({*lead[:-1][-2:]} & (clauses.JOINS - {","})) and not behind & STATING


def _wishes(sentence: Sentence, index: int, world: World) -> bool:
    """Whether what “and” joins orders something: a verb of doing, or any other bare word with an object."""
    word, known = sentence.words[index], world.vocabulary
    looks = (hit for hit in sentence.hits if not world.grammar.intents[hit.intent].changes)
    ends = [max(hit.claimed) + 1 for hit in looks if index in hit.claimed and hit.role != "noun"]
    after = [sentence.words[end].text for end in ends if end < len(sentence.words)]
    if ends and (word.text in DOING or not [text for text in after if text in PREPOSED]):
        return word.text in DOING  # “and summarise it”, but not “and compare with S3”
    if word.text in DOING or _ushers(word, world) or word.text in TELLING:
        return word.text in DOING
    behind = sentence.words[index + 1 : index + 2]
    if not behind or behind[0].kind == "mark" or not word.text.isalpha():
        return False
    told = word.text.endswith(("ing", "ed", "ly")) or behind[0].text in STATING
    given = behind[0].kind in {"word", "mention"} and not (word.text.endswith("s") and word.text[-2:] != "ss")
    return given and not told and not any(word.text in known.risk[kind] for kind in COUNTING)


TELLING = frozenset(
    split(
        "let, say, tell, report, post, i, we, you, they, it, he, she, this, that, everybody, everyone, nobody"
    )
)
STATING = frozenset(
    split("is, are, was, were, has, have, had, can, can't, cannot, isn't, aren't, says, seems, looks, gets")
)


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
    start = next((i for i in span if i > one.verb and sentence.roles.get(i) != "polite"), span.stop)
    inner = [i for i in open_ if start < i < span.stop - 1] if "risk" in world.rules else []
    tied = [i for i in inner if sentence.words[i].text in UNTIL or condition.at(sentence.words, i)]
    for i in tied[:1]:
        yield Doubt("condition", leftovers.phrase_at(sentence.clause(span), i))
    said = [i for i in open_ if i > one.verb] if "risk" in world.rules and not one.intent.trouble else []
    denied = [i for i in said if _denies(sentence, one, i, world)]
    for i in denied[:1]:
        yield Doubt("negation", leftovers.phrase_at(sentence.clause(span), i))


THAT = frozenset(split("that, if, whether, which, who, what, how, why, is, are, does, do, ob, dass, que, si"))


def _denies(sentence: Sentence, one: Understood, index: int, world: World) -> bool:
    """“zeige nicht …”, “prüfe … nicht”: says no to the read itself, not to what it asks about."""
    inner = {word.text for word in sentence.words[one.verb + 1 : index]} & THAT
    return bool(world.vocabulary.risk["negation"].at(sentence.words, index)) and not inner
