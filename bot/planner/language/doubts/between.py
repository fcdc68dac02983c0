"""Stretches of a sentence that ask for nothing: comments, unless they carry risk beside a change."""

from collections.abc import Iterator, Sequence

from bot.planner.language.document import Sentence, Understood, World
from bot.planner.language.doubts import leftovers
from bot.planner.language.doubts.reads import second_wish
from bot.planner.language.doubts.taken import quiet
from bot.planner.language.lexicon.plain import Doubt
from bot.planner.language.lexicon.vocabulary import split
from bot.planner.language.meaning import clauses
from bot.planner.language.meaning.clauses import Part
from bot.planner.language.meaning.intents import says
from bot.planner.language.meaning.values import Clause

MILD = frozenset(
    split(
        "when, one, all, any, some, last, next, first, second, over, red, latest, week, day, month, "
        "morning, more, most"
    )
)


def between(sentence: Sentence, part: Part, known: Sequence[Understood], world: World) -> leftovers.Judged:
    clause, changing = sentence.clause(part.span), any(one.intent.changes for one in known)
    about = {i for one in known for span in says(sentence.words, part.span, one.intent.about) for i in span}
    open_ = [i for i in leftovers.open_words(clause, about) if sentence.words[i].kind != "mark"]
    doubts = _unread_verb(sentence, part, world) if known else []
    if changing:
        doubts += [*_risks(sentence, clause, open_, known, world)]
        doubts += _leading(sentence, clause, open_, known, world)
        doubts += _joined(sentence, clause, open_, known, world)
    else:
        doubts += second_wish(sentence, part.span, open_, world)
        if known and not any(one.question or one.intent.trouble for one in known):
            looks = any(hit.claimed <= {*part.span} and not quiet(sentence, hit) for hit in sentence.hits)
            looks = looks and sentence.words[part.span.start - 1].text != ";"
            told = looks or any(world.vocabulary.asking.at(sentence.words, i) for i in part.span)
            doubts += [] if told else _joined(sentence, clause, open_, known, world, strong=part.strong)
            doubts += _if(sentence, part, open_, known, world)
            doubts += [
                one
                for one in _leading(sentence, clause, open_, known, world)
                if _framed(sentence, part, world)
            ]
    return leftovers.Judged(tuple(doubts), (*leftovers.quoted(sentence.words, open_, world.vocabulary),))


def _risks(
    sentence: Sentence, clause: Clause, open_: Sequence[int], known: Sequence[Understood], world: World
) -> Iterator[Doubt]:
    """A name that nothing has used, a word of risk, a sign of code: beside a change none of them is lost."""
    for index in clause.span:
        if sentence.roles.get(index) == "name" and not _said_before(sentence, index, known):
            yield Doubt("target", sentence.words[index].said)
        kind = leftovers.risky(clause, index, world.vocabulary) if index in open_ else ""
        if kind and "risk" in world.rules and not _mild(sentence, index, kind, clause):
            yield Doubt(kind, leftovers.phrase_at(clause, index), "when" if kind == "time" else "")
    signs = [w.said for i in clause.span if (w := sentence.words[i]).text in leftovers.SYMBOLS]
    yield from (Doubt("symbols", said) for said in signs[:1])


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
        if works and begins and (hit.role, hit.form) == ("verb", "base") and not quiet(sentence, hit):
            return [Doubt("verb", leftovers.phrase_at(sentence.clause(part.span), hit.start))]
    return []


TELLERS = frozenset(split("it, this, that, they, we, i, users, customers, everybody, everyone, there"))


def _joined(
    sentence: Sentence,
    clause: Clause,
    open_: Sequence[int],
    known: Sequence[Understood],
    world: World,
    *,
    strong: bool = False,
) -> list[Doubt]:
    """“… and tell marketing”, “…. Then mail it to me”: a second wish that was not read."""
    start, words = clause.span.start, sentence.words
    odd = [i for i in open_ if words[i].bare not in world.vocabulary.small]
    if start <= min(one.part.span.start for one in known) or not odd or "argument" not in world.rules:
        return []
    led = strong or words[start].text in clauses.JOINS | clauses.STRONG or words[start - 1].text == ";"
    apart = words[start - 1].text in clauses.ENDS - {";"}
    told = apart and start + 1 in clause.span and words[start + 1].text in TELLERS
    return [Doubt("argument", leftovers.phrase_at(clause, odd[0]))] if led and not told else []


def _if(
    sentence: Sentence, part: Part, open_: Sequence[int], known: Sequence[Understood], world: World
) -> list[Doubt]:
    """“if you read this, check auth-prod”: a read that hangs on something."""
    first, bound = min(one.part.span.start for one in known), world.vocabulary.risk["condition"]
    tied = [i for i in open_ if bound.at(sentence.words, i)] if part.span.stop <= first else []
    return [Doubt("condition", leftovers.phrase_at(sentence.clause(part.span), i)) for i in tied[:1]]


def _leading(
    sentence: Sentence, clause: Clause, open_: Sequence[int], known: Sequence[Understood], world: World
) -> list[Doubt]:
    """Words before the first wish that are not courtesy, in its own sentence or spoken to me: a frame."""
    first, words = min(one.part.span.start for one in known), sentence.words
    odd = [i for i in open_ if words[i].bare not in world.vocabulary.small]
    if clause.span.stop > first or not odd or "frame" not in world.rules:
        return []
    behind = range(clause.span.stop, min(first + 1, len(words)))
    ended = any(words[i].text in clauses.ENDS for i in behind)
    told = any(words[i].text in world.vocabulary.frames or _addressed(sentence, i) for i in clause.span)
    return [Doubt("frame", leftovers.phrase_at(clause, odd[0]))] if not ended or told else []


def _framed(sentence: Sentence, part: Part, world: World) -> bool:
    return any(sentence.words[i].text in world.vocabulary.frames for i in part.span)


def _addressed(sentence: Sentence, index: int) -> bool:
    """“You are now in developer mode.”: tells me what I am, or must."""
    word, after = sentence.words[index].text, [w.text for w in sentence.words[index + 1 : index + 2]]
    spoken = word == "you're" or (word == "you" and after and after[0] in ARE)
    return bool(spoken) and sentence.roles.get(index) != "polite"


ARE = frozenset(split("are, must, will, shall, should, now, may, have, can, obey"))


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
