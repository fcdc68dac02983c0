"""Leftovers of a whole sentence: those of each wish, and the stretches between wishes."""

from collections.abc import Sequence
from dataclasses import replace

from bot.planner.language.document import Sentence, Understood, World
from bot.planner.language.doubts import leftovers
from bot.planner.language.lexicon.names import Name
from bot.planner.language.lexicon.plain import Doubt
from bot.planner.language.lexicon.vocabulary import Vocabulary, split
from bot.planner.language.lexicon.words import Word
from bot.planner.language.meaning import clauses
from bot.planner.language.meaning.clauses import Part
from bot.planner.language.meaning.intents import Hit, says
from bot.planner.language.meaning.ranking import nounlike
from bot.planner.language.meaning.values import Clause
from bot.planner.runbooks.environments import ENVIRONMENTS

MILD = frozenset(
    {
        "when",
        "one",
        "all",
        "any",
        "some",
        "last",
        "next",
        "first",
        "second",
        "over",
        "red",
        "latest",
        "week",
        "day",
        "month",
        "morning",
        "more",
        "most",
    }
)


def remarks(
    sentence: Sentence, parts: Sequence[Part], known: Sequence[Understood], world: World
) -> leftovers.Judged:
    doubts: list[Doubt] = []
    unused: list[str] = []
    changing = any(one.intent.changes for one in known)
    by_start = {one.part.span.start: one for one in known}
    for part in parts:
        one = by_start.get(part.span.start)
        if not one and any(part.span.start in other.part.span for other in known):
            continue  # it only goes on with the one before
        clause = sentence.clause(one.part.span if one else part.span)
        if one and (one.intent.changes or not one.intent.asks.looks):
            told = leftovers.judge(
                clause,
                _used(sentence, one, world),
                one.verb,
                one.intent.tables(),
                world.vocabulary,
                world.rules,
            )
            told = replace(told, doubts=(*told.doubts, *_verbs_left(sentence, one, world)))
        elif one:
            told = _read_leftovers(sentence, one, world)
        else:
            told = _between(sentence, clause, part, changing, known, world)
        doubts += told.doubts
        unused += told.unused
    doubts += _colon(sentence, known, world) if changing and "frame" in world.rules else []
    return leftovers.Judged(tuple(doubts), tuple(unused))


def _used(sentence: Sentence, one: Understood, world: World) -> set[int]:
    """Words with a role in the reading; a name that it cannot use has none."""
    used = {*one.claimed, *one.facts.used}
    tables = one.intent.tables()
    for name in sentence.names:
        if (
            name.start in one.part.span
            and not used & {*range(name.start, name.end)}
            and _consistent(sentence, one, name, world)
        ):
            used |= {*range(name.start, name.end)}
    linked = clauses.links(
        sentence.words, {i for i, role in sentence.roles.items() if role in {"name", "value"}}
    )
    lead = {
        i for i in one.part.span if sentence.words[i].text in clauses.JOINS | clauses.STRONG and i <= one.verb
    }
    return (
        used
        | _steered(sentence, one, used)
        | (linked & {*one.part.span} if one.part.strong else set())
        | clauses.opening(sentence.words)
        | lead
        | {
            i
            for i in one.part.span
            if sentence.words[i].bare in {w for t in tables for w in world.vocabulary.kinds.get(t, ())}
        }
    )


STEERS = frozenset({"up", "down", "out", "over", "hoch", "runter", "herunter"})
PAIR = frozenset({"both", "beide", "beiden", "ambos", "ambas"})


def _steered(sentence: Sentence, one: Understood, used: set[int]) -> set[int]:
    """“down to 10” leads to a value; “both X and Y” counts the two that are named."""
    words, span = sentence.words, one.part.span
    leads = {
        i for i in span if words[i].text in STEERS and i + 2 in used and words[i + 1].text in {"to", "auf"}
    }
    pairs = {i for i in span if words[i].text in PAIR and _named_twice(sentence, i)}
    return leads | pairs


def _named_twice(sentence: Sentence, index: int) -> bool:
    """Whether two things of a kind stand right behind: “both auth_prod and orders_prod”."""
    said = [name for name in sentence.names if name.start < index and not name.of(ENVIRONMENTS)]
    if len({name.said for name in said}) == 2 and sentence.words[index + 1 : index + 2]:
        return True  # “scale X … and restart Y, both in production”
    later = [name for name in sentence.names if name.start > index][:2]
    tables = [{m.table for m in name.meanings if m.table != ENVIRONMENTS} for name in later]
    near = len(later) == 2 and later[1].start - index <= 6
    return near and bool(tables[0] & tables[1])


def _consistent(sentence: Sentence, one: Understood, name: Name, world: World) -> bool:
    """“back up orders_prod in production”: where the target lives anyhow."""
    place = name.of(ENVIRONMENTS)
    if not place:
        return False
    homes = {
        world.config.inventory.get(one.intent.slots[slot].inventory, {})
        .get(value.meant, {})
        .get("environment")
        for slot, value in one.facts.values.items()
        if one.intent.slots[slot].inventory
    }
    return place.name in homes


def _verbs_left(sentence: Sentence, one: Understood, world: World) -> list[Doubt]:
    """A name or a verb in a changing clause that nothing has used: a second target, or a second wish."""
    used = _used(sentence, one, world) | _phrased(sentence, one)
    found = []
    for name in sentence.names:
        inside = name.start in one.part.span and not used & {*range(name.start, name.end)}
        real = [m for m in name.meanings if not m.table.startswith("=")]
        word = sentence.words[name.start]
        plainly = name.end == name.start + 1 and word.text in world.vocabulary.small
        if inside and real and not plainly:
            found.append(Doubt("target", name.said, why=f"I do not know what “{name.said}” means here."))
    for hit in sentence.hits:
        stray = (
            hit.role == "verb"
            and hit.form == "base"
            and hit.claimed <= {*one.part.span}
            and not hit.claimed & used
        )
        if (
            stray
            and world.grammar.intents[hit.intent].changes
            and not _quiet(sentence, hit)
            and not nounlike(sentence, hit)
        ):
            found.append(Doubt("verb", " ".join(sentence.words[i].said for i in sorted(hit.claimed))))
    versions = [i for i in one.part.span if sentence.roles.get(i) == "value" and i not in used]
    found += [
        Doubt("target", sentence.words[i].said, "version" if "version" in one.intent.slots else "")
        for i in versions[:1]
    ]
    return found


def _phrased(sentence: Sentence, one: Understood) -> set[int]:
    """“the release notes” are no release: words of a phrase that means nothing here."""
    found = says(sentence.words, one.part.span, one.intent.about)
    return {i for span in found if len(span) > 1 for i in span}


def _quiet(sentence: Sentence, hit: Hit) -> bool:
    return any(sentence.roles.get(i) in {"polite", "reason", "name", "time"} for i in hit.claimed)


def _read_leftovers(sentence: Sentence, one: Understood, world: World) -> leftovers.Judged:
    clause = sentence.clause(one.part.span)
    open_ = [
        i
        for i in leftovers.open_words(clause, {*one.claimed, *one.facts.used})
        if sentence.words[i].kind != "mark"
    ]
    said = world.vocabulary
    loose = one.intent.trouble and one.form == "noun"
    frame = [
        i
        for i in open_
        if i < one.verb
        and (sentence.words[i].text in said.frames or not (loose or _ushers(sentence.words[i], said)))
    ]
    odd = [i for i in open_[:1] if not _ushers(sentence.words[i], said)]
    frame = frame or [i for i in odd if loose and _orders(sentence, one, i)]
    doubts = [Doubt("frame", leftovers.phrase_at(clause, frame[0]))] if frame and not one.question else []
    doubts += [] if one.question or one.form != "base" else [*_bound(sentence, clause, one, open_, world)]
    doubts += [] if one.question else _changes_left(sentence, one, world)
    doubts += _second_wish(sentence, clause, open_, world)
    doubts += _joined_names(sentence, one, world)
    return leftovers.Judged(tuple(doubts), (*leftovers.quoted(sentence.words, open_, world.vocabulary),))


def _orders(sentence: Sentence, one: Understood, index: int) -> bool:
    """“configure an alert for …”: an unknown verb with an object is no report of trouble."""
    before = [i for i in range(one.part.span.start, index) if sentence.roles.get(i) != "polite"]
    word, after = sentence.words[index], sentence.words[index + 1 : index + 2]
    told = word.text.endswith(("ing", "ed", "s")) or not word.text.isalpha()
    return not before and not told and bool(after) and after[0].text in leftovers.DETERMINERS


DOING = frozenset(
    split(
        "take, make, create, do, run, perform, start, trigger, produce, store, generate, set, "
        "change, put, then, afterwards"
    )
)


def _second_wish(sentence: Sentence, clause: Clause, open_: Sequence[int], world: World) -> list[Doubt]:
    """“list the backups and take a new one”: a wish that was not read, joined to one that only looks."""
    joins = clauses.JOINS | clauses.STRONG
    odd = [i for i in open_ if i - 1 in clause.span and sentence.words[i - 1].text in joins]
    wishes = [i for i in odd if sentence.words[i].text in DOING]
    return (
        [Doubt("verb", leftovers.phrase_at(clause, wishes[0]))]
        if wishes and "argument" in world.rules
        else []
    )


def _joined_names(sentence: Sentence, one: Understood, world: World) -> list[Doubt]:
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


def _changes_left(sentence: Sentence, one: Understood, world: World) -> list[Doubt]:
    """A verb of a change in what would only be read: it was not understood, and so it is asked about."""
    used = _used(sentence, one, world)
    left = [
        hit
        for hit in sentence.hits
        if (hit.role, hit.form) == ("verb", "base")
        and world.grammar.intents[hit.intent].changes
        and hit.claimed <= {*one.part.span}
        and not hit.claimed & used
        and hit.start - 1 not in one.claimed
        and hit.start + 1 not in one.claimed
    ]
    said = [hit for hit in left if not _quiet(sentence, hit) and not nounlike(sentence, hit)]
    return [Doubt("verb", sentence.words[hit.start].said) for hit in said[:1]]


def _ushers(word: Word, known: Vocabulary) -> bool:
    """Whether a word may lead to a wish to see something."""
    leads = word.bare in known.small or word.text in known.asking or word.text in known.light
    return leads or word.bare in leftovers.AUXILIARY or word.text in clauses.JOINS | clauses.STRONG


UNTIL = frozenset({"every", "each", "until", "till", "bis", "hasta"})


def _bound(
    sentence: Sentence, clause: Clause, one: Understood, open_: Sequence[int], world: World
) -> list[Doubt]:
    """A read that shall run only sometimes: “every time a PR merges”, “if the build is green”."""
    condition = world.vocabulary.risk["condition"]
    tied = [
        i
        for i in open_
        if one.verb + 1 < i < clause.span.stop - 1
        and (sentence.words[i].text in UNTIL or condition.at(sentence.words, i))
    ]
    return (
        [Doubt("condition", leftovers.phrase_at(clause, tied[0]))] if tied and "risk" in world.rules else []
    )


def _between(
    sentence: Sentence, clause: Clause, part: Part, changing: bool, known: Sequence[Understood], world: World
) -> leftovers.Judged:
    """A stretch that asks for nothing itself: a comment, unless it carries risk beside a change."""
    about = {i for one in known for span in says(sentence.words, part.span, one.intent.about) for i in span}
    open_ = [i for i in leftovers.open_words(clause, about) if sentence.words[i].kind != "mark"]
    doubts = [] if changing else _second_wish(sentence, clause, open_, world)
    doubts += _unread_verb(sentence, part, world) if len(known) > 0 else []
    if changing:
        for index in clause.span:
            free = sentence.roles.get(index) in {"name"} or index in open_
            if not free:
                continue
            if sentence.roles.get(index) == "name":
                doubts += (
                    []
                    if _said_before(sentence, index, known)
                    else [Doubt("target", sentence.words[index].said)]
                )
            elif (
                "risk" in world.rules
                and (kind := leftovers.risky(clause, index, world.vocabulary))
                and not _mild(sentence, index, kind, clause)
            ):
                doubts.append(
                    Doubt(kind, leftovers.phrase_at(clause, index), "when" if kind == "time" else "")
                )
        marks = [
            i
            for i in clause.span
            if sentence.words[i].kind == "mark" and sentence.words[i].text in leftovers.SYMBOLS
        ]
        doubts += [Doubt("symbols", sentence.words[i].said) for i in marks[:1]]
        doubts += _leading(sentence, clause, open_, known, world)
        doubts += _joined(sentence, clause, open_, known, world)
    return leftovers.Judged(tuple(doubts), (*leftovers.quoted(sentence.words, open_, world.vocabulary),))


def _unread_verb(sentence: Sentence, part: Part, world: World) -> list[Doubt]:
    """“run the full and the smoke tests”: a clause that begins with a verb of doing, and was not read."""
    for hit in sentence.hits:
        intent = world.grammar.intents[hit.intent]
        works = intent.changes or not intent.asks.looks
        begins = hit.start in part.span and all(
            sentence.roles.get(i) in {"polite", "mention", "emoji", "time"}
            or sentence.words[i].text in clauses.JOINS | clauses.STRONG
            for i in range(part.span.start, hit.start)
        )
        if works and begins and (hit.role, hit.form) == ("verb", "base") and not _quiet(sentence, hit):
            return [Doubt("verb", leftovers.phrase_at(sentence.clause(part.span), hit.start))]
    return []


def _joined(
    sentence: Sentence, clause: Clause, open_: Sequence[int], known: Sequence[Understood], world: World
) -> list[Doubt]:
    """“… and tell marketing”: a second wish in the same sentence that was not read."""
    start = clause.span.start
    behind = start > 0 and start > min(one.part.span.start for one in known)
    same = behind and sentence.words[start - 1].text not in clauses.ENDS - {";"}
    odd = [i for i in open_ if sentence.words[i].bare not in world.vocabulary.small]
    led = behind and (
        sentence.words[start].text in clauses.JOINS | clauses.STRONG or sentence.words[start - 1].text == ";"
    )
    unread = same and led and odd and "argument" in world.rules
    return [Doubt("argument", leftovers.phrase_at(clause, odd[0]))] if unread else []


def _leading(
    sentence: Sentence, clause: Clause, open_: Sequence[int], known: Sequence[Understood], world: World
) -> list[Doubt]:
    """Words before the first wish, in its own sentence, that are not courtesy: a frame."""
    first = min(one.part.span.start for one in known)
    ended = any(
        sentence.words[i].text in clauses.ENDS
        for i in range(clause.span.stop, min(first + 1, len(sentence.words)))
    )
    odd = [i for i in open_ if sentence.words[i].bare not in world.vocabulary.small]
    framed = (
        clause.span.stop <= first
        and odd
        and (not ended or any(sentence.words[i].text in world.vocabulary.frames for i in odd))
    )
    return [Doubt("frame", leftovers.phrase_at(clause, odd[0]))] if framed and "frame" in world.rules else []


def _said_before(sentence: Sentence, index: int, known: Sequence[Understood]) -> bool:
    name = next(n for n in sentence.names if n.start <= index < n.end)
    meant = {value.meant for one in known for value in one.facts.values.values()}
    return any(m.name in meant for m in name.meanings) or all(m.table.startswith("=") for m in name.meanings)


def _mild(sentence: Sentence, index: int, kind: str, clause: Clause) -> bool:
    """In a sentence of its own, which only tells, some words carry less."""
    apart = clause.span.start > 0 and sentence.words[clause.span.start - 1].text in {".", "!", "\n"}
    return (
        apart and kind in {"quantity", "scope", "comparison", "time"} and sentence.words[index].text in MILD
    )


def _colon(sentence: Sentence, known: Sequence[Understood], world: World) -> list[Doubt]:
    """“x: wish” is a frame, unless x is courtesy, a ticket, a verb or a kind of thing."""
    claimed = {i for one in known for i in {*one.claimed, *one.facts.used}}
    kinds = {word for known_ in world.vocabulary.kinds.values() for word in known_}
    for index, word in enumerate(sentence.words):
        if word.text != ":" or index == 0:
            continue
        before = sentence.words[index - 1]
        fine = (
            sentence.roles.get(index - 1)
            or index - 1 in claimed
            or before.bare in world.vocabulary.small
            or before.bare in kinds
        )
        if not fine and index < max(one.verb for one in known):
            return [Doubt("frame", before.said)]
    return []
