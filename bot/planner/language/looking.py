"""A first look at a sentence: names, values, times, courtesy and verbs, wherever they stand."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

from bot.planner.language.document import Sentence, World
from bot.planner.language.lexicon import names, plain
from bot.planner.language.lexicon.names import Name
from bot.planner.language.lexicon.vocabulary import GAP, forms
from bot.planner.language.lexicon.words import Word
from bot.planner.language.meaning import clauses
from bot.planner.language.meaning.clauses import Part
from bot.planner.language.meaning.intents import Hit, hits
from bot.planner.language.times import finding as times


def look(words: Sequence[Word], world: World) -> Sentence:
    """Names, values, times, courtesy and verbs, wherever they stand."""
    found = names.find(words, world.lexicon)
    roles: dict[int, str] = {index: "name" for name in found for index in range(name.start, name.end)}
    roles |= {
        index: "value" for index, word in enumerate(words) if index not in roles and names.version(word)
    }
    when = times.find(words, roles, [*world.config.windows])
    roles |= {index: "time" for time in when for index in range(time.start, time.end)}
    words, notes = _mended(words, roles, world)
    words = [_bare(words, index, world) for index in range(len(words))]
    for index, role in plain.courtesy(words, roles, world.vocabulary, _begins(world)).items():
        roles.setdefault(index, role)
    open_ = _claimable(words, found, roles)
    found_hits = hits(words, range(len(words)), open_, _passable(words, roles, world), world.grammar)
    spoken = _longest([hit for hit in found_hits if not _light(words, hit, world)])
    return Sentence(words, found, when, roles, spoken, notes)


def _begins(world: World) -> set[str]:
    """The words that a wish may begin with."""
    return {*world.grammar.first, *world.vocabulary.light}


def _bare(words: Sequence[Word], index: int, world: World) -> Word:
    """“mind taking a backup”: behind “mind”, a light verb is said as it would be without."""
    word = words[index]
    if not index or words[index - 1].text != "mind":
        return word
    base = next((one for one in world.vocabulary.light if forms(one).get(word.text) == "ing"), word.text)
    return replace(word, text=base)


def _light(words: Sequence[Word], hit: Hit, world: World) -> bool:
    """“kick off”, “set up”: a light verb of several words, not the verb that it begins with."""
    after = words[hit.start + 1].text if hit.start + 1 < len(words) else ""
    if hit.size == 1 and words[hit.start].text in {"keep", "keeps"} and after.endswith("ing"):
        return True  # “we keep getting timeouts”: again and again
    return hit.size == 1 and hit.role == "verb" and world.vocabulary.lights.at(words, hit.start) > 1


def _longest(found: Sequence[Hit]) -> list[Hit]:
    """Without words that are only a part of a longer phrase: “up” in “back up” says nothing by itself."""
    long = [hit for hit in found if hit.role != "loose" and hit.size > 1]
    return [hit for hit in found if not any(hit.claimed < one.claimed for one in long)]


def _mended(
    words: Sequence[Word], roles: Mapping[int, str], world: World
) -> tuple[Sequence[Word], tuple[str, ...]]:
    """Verbs with a slip in them are those verbs; the card says so."""
    made, notes, slip = list(words), list[str](), cache(partial(names.mistyped, known=world.grammar.heads))
    for index, word in enumerate(words):
        if index in roles or word.kind != "word" or not word.text.isalpha() or _ordinary(word, world):
            continue
        meant = slip(word.text)
        if meant and _goes_on(words, index, meant, world):
            made[index] = replace(word, text=meant)
            notes.append(f"Read “{word.said}” as {meant}")
    return made, tuple(notes)


def _goes_on(words: Sequence[Word], index: int, meant: str, world: World) -> bool:
    """“real quick” is no slip of “read out”: the other words of a phrase must be there, too."""
    later = {word.text for word in words[index + 1 :]}
    verbs = [phrase.words for phrase, _ in world.grammar.first[meant] if phrase.role != "loose"]
    return any(all(word == GAP or word in later for word in phrase[1:]) for phrase in verbs)


def _ordinary(word: Word, world: World) -> bool:
    """Whether a word is a word of its own, and no slip."""
    known = world.vocabulary
    if (
        word.bare in known.small
        or word.bare in known.light
        or word.text in world.grammar.first
        or word.text in world.grammar.spoken
        or word.text in known.asking
        or word.text in known.polite
    ):
        return True
    listed = (
        any(word.text in risk for risk in known.risk.values())
        or word.text in known.destructive
        or any(word.text in kind for kind in known.kinds.values())
    )
    part = word.text in world.lexicon.parts or any(
        word.text in one.split() for said in known.nouns.values() for one in said
    )
    return listed or part or word.text in known.frames or word.text in known.ordinary


def _claimable(words: Sequence[Word], found: Sequence[Name], roles: Mapping[int, str]) -> set[int]:
    """Words that may be a verb or a noun: not what is part of a name of several words, a value or a time."""
    simple = {name.start for name in found if name.end == name.start + 1 and words[name.start].text.isalpha()}
    return {
        i
        for i, word in enumerate(words)
        if word.kind in {"word", "number"}
        and (roles.get(i) in {None, "polite", "link", "reason"} or i in simple)
    }


RECENT = frozenset(
    {
        "last",
        "latest",
        "newest",
        "most",
        "recent",
        "nightly",
        "night",
        "week",
        "yesterday",
        "still",
        "already",
    }
)


def _passable(words: Sequence[Word], roles: Mapping[int, str], world: World) -> set[int]:
    """Words that may stand in the gap of a phrase."""
    known = world.vocabulary
    kinds = {word for kind in known.kinds.values() for word in kind} | {
        "pods",
        "pod",
        "replicas",
        "containers",
        "that",
        "if",
        "whether",
        "backup",
        "backups",
        "one",
        "everything",
    }
    return {
        i
        for i, word in enumerate(words)
        if roles.get(i) in {"name", "value", "time", "polite", "mention", "emoji"}
        or word.bare in known.small
        or word.bare in kinds
        or word.bare in world.lexicon.parts
        or word.bare in RECENT
        or word.kind in {"number", "path"}
    }


def split_up(sentence: Sentence, world: World) -> list[Part]:
    """The clauses. A verb that stands inside a longer phrase begins none."""
    strong = [hit for hit in sentence.hits if hit.role != "noun" and hit.form == "base"]
    inner = {i for hit in strong if hit.size > 1 for i in hit.claimed if i != hit.start}
    starts = {hit.start for hit in strong} - inner
    starts |= _light_starts(sentence, world) - inner
    starts |= _noun_starts(sentence, world) - inner
    taken = {i for i, role in sentence.roles.items() if role in {"name", "value"}}
    linked = clauses.links(sentence.words, taken)
    return clauses.split(sentence.words, starts, sentence.names, sentence.roles, linked)


def _noun_starts(sentence: Sentence, world: World) -> set[int]:
    """“… and the backups of auth_prod”: a noun with a target of its own, behind another target."""
    found = set[int]()
    for hit in sentence.hits:
        tables = world.grammar.intents[hit.intent].tables() - {"environments"}
        after = [n for n in sentence.names if max(hit.claimed) < n.start <= max(hit.claimed) + 3]
        before = [n for n in sentence.names if n.start < hit.start]
        lead = [sentence.words[i].text for i in range(max(0, hit.start - 2), hit.start)]
        joined = any(text in clauses.JOINS for text in lead)
        if hit.role == "noun" and joined and before and any(n.of(table) for n in after for table in tables):
            found.add(hit.start)
    return found


def _light_starts(sentence: Sentence, world: World) -> set[int]:
    """“… and take a backup of”: a light verb with a noun of a runbook close behind."""
    nouns = {hit.start for hit in sentence.hits if hit.role == "noun"}
    return {
        i
        for i, word in enumerate(sentence.words)
        if word.text in world.vocabulary.light
        and word.text not in {"have", "get", "need", "do", "want", "set", "change"}
        and any(n in nouns for n in range(i + 1, i + 5))
    }
