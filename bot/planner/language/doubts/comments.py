"""Leftovers of a whole sentence: those of each wish, and the stretches between wishes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bot.planner.language.document import Sentence, Understood, World
from bot.planner.language.doubts import leftovers
from bot.planner.language.doubts.between import between
from bot.planner.language.doubts.reads import of_read, verbal
from bot.planner.language.doubts.taken import phrased, quiet, used
from bot.planner.language.lexicon.plain import Doubt
from bot.planner.language.meaning.clauses import Part
from bot.planner.language.meaning.ranking import nounlike


def remarks(
    sentence: Sentence, parts: Sequence[Part], known: Sequence[Understood], world: World
) -> leftovers.Judged:
    doubts: list[Doubt] = []
    unused: list[str] = []
    by_start = {one.part.span.start: one for one in known}
    for part in parts:
        one = by_start.get(part.span.start)
        if not one and any(part.span.start in other.part.span for other in known):
            continue  # it only goes on with the one before
        told = _of_wish(sentence, one, world) if one else between(sentence, part, known, world)
        doubts += told.doubts
        unused += told.unused
    if "frame" in world.rules:
        ordered = [one for one in known if one.intent.changes or not (one.question or one.intent.trouble)]
        doubts += [*(_colon(sentence, ordered, world) if ordered else ()), *_quoted(sentence, world)]
    if "risk" in world.rules and any(one.intent.changes for one in known):
        doubts += _signs(sentence, parts)
    return leftovers.Judged(tuple(doubts), tuple(unused))


def _of_wish(sentence: Sentence, one: Understood, world: World) -> leftovers.Judged:
    if not one.intent.changes and one.intent.asks.looks:
        return of_read(sentence, one, world)
    told = leftovers.judge(
        sentence.clause(one.part.span), used(sentence, one, world), one.verb, one.intent.tables(),
        world.vocabulary, world.rules,
    )  # fmt: skip
    more = [*_left(sentence, one, world), *verbal(sentence, one.part.span)]
    return replace(told, doubts=(*told.doubts, *more))


def _left(sentence: Sentence, one: Understood, world: World) -> Iterator[Doubt]:
    """A name, a verb or a version in a changing clause that nothing has used: a second target or wish."""
    known = used(sentence, one, world) | phrased(sentence, one)
    for name in sentence.names:
        inside = name.start in one.part.span and not known & {*range(name.start, name.end)}
        real = any(not m.table.startswith("=") for m in name.meanings)
        plainly = name.end == name.start + 1 and sentence.words[name.start].text in world.vocabulary.small
        if inside and real and not plainly:
            yield Doubt("target", name.said, why=f"I do not know what “{name.said}” means here.")
    for hit in sentence.hits:
        stray = (hit.role, hit.form) == ("verb", "base") and hit.claimed <= {*one.part.span}
        changing = world.grammar.intents[hit.intent].changes and not hit.claimed & known
        if stray and changing and not quiet(sentence, hit) and not nounlike(sentence, hit):
            yield Doubt("verb", " ".join(sentence.words[i].said for i in sorted(hit.claimed)))
    versions = (i for i in one.part.span if sentence.roles.get(i) == "value" and i not in known)
    for i in [*versions][:1]:
        yield Doubt("target", sentence.words[i].said, "version" if "version" in one.intent.slots else "")


def _quoted(sentence: Sentence, world: World) -> list[Doubt]:
    """“say "check auth-prod"”: a wish in quotes is somebody's words."""
    marks = [i for i, word in enumerate(sentence.words) if word.text in {'"', "'"}]
    for start, end in zip(marks[::2], marks[1::2], strict=False):
        verbs = [hit for hit in sentence.hits if hit.role == "verb" and start < hit.start < end]
        if verbs and end - start > 2:
            return [Doubt("frame", leftovers.phrase_at(sentence.clause(range(start + 1, end)), start + 1))]
    return []


def _signs(sentence: Sentence, parts: Sequence[Part]) -> Iterator[Doubt]:
    """“#!/bin/sh” before a wish: signs of code that stand in no clause."""
    inside = {i for part in parts for i in part.span}
    for index, word in enumerate(sentence.words):
        if index not in inside and word.text in leftovers.SYMBOLS - {";"} and not sentence.roles.get(index):
            yield Doubt("symbols", word.said)
            return


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
        if not fine and index < max(max(one.verb, min(one.facts.used, default=0)) for one in known):
            return [Doubt("frame", before.said)]
    return []
