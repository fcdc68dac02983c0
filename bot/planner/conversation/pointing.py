"""Which step words point at: by its number, or by what it does. A word that fits several points at none."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.planner.conversation.listed import words_of
from bot.planner.edits.pointing import PLACES, norm
from bot.planner.language.lexicon.vocabulary import shipped
from bot.planner.language.lexicon.words import Word
from storage.contract.spec import PlanSpec, StepSpec

COUNTED = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBERS = dict(zip(COUNTED, range(1, 11), strict=True))
ORDINALS = dict(zip(PLACES, range(1, 11), strict=True))


@dataclass(frozen=True)
class Pointer:
    """Words that point at steps: one, or those of which one must be chosen. None: there is no such step."""

    start: int
    end: int
    keys: tuple[str, ...]


def pointers(words: Sequence[Word], spec: PlanSpec) -> Iterator[Pointer]:
    index = 0
    known = [(step.id, names(step)) for step in spec.steps]
    while index < len(words):
        found = _numbered(words, index, spec) or _named(words, index, known)
        if found:
            yield found
        index = found.end if found else index + 1
        while found and (more := _listed(words, index, found, spec)):
            yield more
            index = more.end


def _numbered(words: Sequence[Word], index: int, spec: PlanSpec) -> Pointer | None:
    here = words[index].text
    behind = words[index + 1].text if index + 1 < len(words) else ""
    if found := re.fullmatch(r"steps?-?(\d+)", here):
        return _step(index, index + 1, int(found[1]), spec)
    if here in {"step", "steps", "#"} and (behind.isdigit() or behind in NUMBERS):
        return _step(index, index + 2, int(behind) if behind.isdigit() else NUMBERS[behind], spec)
    if here in {"step"} and behind == "#" and index + 2 < len(words) and words[index + 2].text.isdigit():
        return _step(index, index + 3, int(words[index + 2].text), spec)
    if behind == "step" and (here in ORDINALS or here in {"last", "final"}):
        return _step(index, index + 2, ORDINALS.get(here, len(spec.steps)), spec)
    return None


def _listed(words: Sequence[Word], index: int, before: Pointer, spec: PlanSpec) -> Pointer | None:
    """“steps 1, 2 and 3”."""
    numbered = words[before.end - 1].text.isdigit()
    here = [word.text for word in words[index : index + 2]]
    if numbered and len(here) == 2 and here[0] in {"and", ",", "&"} and here[1].isdigit():
        return _step(index, index + 2, int(here[1]), spec)
    return None


def _step(start: int, end: int, number: int, spec: PlanSpec) -> Pointer:
    keys = (spec.steps[number - 1].id,) if 0 < number <= len(spec.steps) else ()
    return Pointer(start, end, keys)


def _named(words: Sequence[Word], index: int, known: Sequence[tuple[str, set[str]]]) -> Pointer | None:
    for length in (2, 1):
        said = norm(" ".join(word.bare for word in words[index : index + length]))
        keys = tuple(key for key, own in known if said in own)
        if keys and index + length <= len(words):
            behind = words[index + length].text if index + length < len(words) else ""
            return Pointer(index, index + length + (behind in {"step", "steps"}), keys)
    return None


def names(step: StepSpec) -> set[str]:
    """What people call a step: its id, its action and worker, and the family of words of what it does."""
    own = {norm(step.id), norm(step.action), norm(step.worker), *norm(step.action).split()}
    families = shipped()
    heads = {head for head in families.nouns if head in own or head.removesuffix("s") in own}
    for head in heads | {head for head in families.verbs if head in own}:
        own |= {
            norm(one)
            for one in (*families.nouns.get(head, ()), *families.verbs.get(head, ()))
            if "…" not in one
        }
    return {
        name
        for name in own | {f"{name}ing" for name in own}
        if name not in words_of("general") and len(name) > 2
    }
