"""Where one wish ends and the next begins: at then, and, commas; only before a verb or a second target."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from bot.planner.language.lexicon.names import Name
from bot.planner.language.lexicon.words import Word

MOST = 12  # clauses that are looked at
STRONG = frozenset(
    {
        "then",
        "afterwards",
        "danach",
        "dann",
        "anschließend",
        "luego",
        "después",
        "despues",
        "subsequently",
        "thereafter",
        "next",
        "finally",
        "lastly",
        "schließlich",
        "finalmente",
    }
)
JOINS = frozenset({"and", "&", "+", "plus", ",", "und", "y", "e", "also"})
ENDS = frozenset({".", "!", "?", ";", "\n"})
SKIP = frozenset(
    {
        "also",
        "then",
        "and",
        "please",
        "just",
        "of",
        "for",
        "on",
        "in",
        "to",
        "the",
        "a",
        "from",
        "dann",
        "auch",
        "de",
        "la",
        "el",
        "von",
        "both",
        "as",
        "well",
    }
)
THAT = (
    r"(?:they|these|those|it|that|this|all|all of (?:them|that|it)|everything|both|nothing breaks|"
    r"(?:the |all |that |this |all the )?(?:\w+ )?(?:tests?|suite|check|checks|backup|copy|run|dump|snapshot"
    r"|result|results))"
)
WENT = (
    r"(?:pass(?:es|ed)?|succeeds?|succeeded|works?(?: out)?|worked(?: out)?|goes? well|went well"
    r"|goes? through|went through|"
    r"completes?|completed|finish(?:es|ed)?|looks? (?:all )?(?:good|fine|ok|okay|green)|pasan|funcionan|"
    r"(?:(?:is|are|was|were|comes?(?: back| out| up)?|came(?: back| out| up)?|turns?(?: out)?|stays?"
    r"|runs?) )?(?:all )?"
    r"(?:green|ok|okay|fine|good|successful|done|through|happy|finished|complete|clean|passing|in place"
    r"|there)|"
    r"(?:have|has) (?:all )?(?:passed|succeeded|finished|completed|worked|run|gone through|gone well))"
)
PASSING = re.compile(
    r"(?:(?:and|,|but|then|only) )*(?:if|once|when|after|as soon as|provided(?: that)?|assuming(?: that)?"
    r"|as long as|"
    rf"given(?: that)?|sobald|falls|wenn|si|cuando) (?:(?:all |both )?{THAT}(?:'re|'s|'ve)? (?:all )?{WENT}"
    r"|green|successful|ok|okay|done|that works|passing|erfolgreich|all good|all green|all is well"
    r"|all goes well)(?: ,)?(?= |$)"
    r"|(?:and )?(?:on success|upon success|followed by|after that|after this|once done|when done|"
    r"as well as|and after that|and afterwards)(?= |$)"
)


@dataclass(frozen=True)
class Part:
    """A clause: its words, and whether it waits for the one before (“then”) or stands beside it."""

    span: range
    strong: bool = False
    ends: str = ""  # the mark that ended its sentence


AFTER = frozenset({"after that", "after this", "once done", "when done"})
FIRST = frozenset({"first", "firstly", "zuerst", "erst", "primero"})


def links(words: Sequence[Word], taken: Collection[int]) -> set[int]:
    """Words such as “if they pass”: what follows waits for what stands before."""
    return _passing(words, taken) | opening(words)


def opening(words: Sequence[Word]) -> set[int]:
    """“First …, then …”: it says no more than the “then” does."""
    opens = {
        i
        for i, word in enumerate(words)
        if word.text in FIRST and (i == 0 or words[i - 1].text in ENDS | {","})
    }
    follows = {" ".join(word.text for word in words[i : i + 2]) for i in range(1, len(words))}
    later = follows & AFTER or {word.text for word in words} & STRONG
    return opens if later else set()


def _passing(words: Sequence[Word], taken: Collection[int]) -> set[int]:
    line, places = "", list[int]()
    for index, word in enumerate(words):
        text = "\x00" if index in taken else word.text
        line += f"{text} "
        places += [index] * (len(text) + 1)
    return {
        places[o]
        for match in PASSING.finditer(line.rstrip())
        for o in range(match.start(), match.end())
        if o < len(places)
    }


def split(
    words: Sequence[Word],
    verbs: Collection[int],
    names: Sequence[Name],
    roles: Mapping[int, str],
    linked: Collection[int],
) -> list[Part]:
    """The clauses of a text, in order."""
    parts: list[Part] = []
    start, strong = 0, False
    for index, word in enumerate(words):
        if len(parts) >= MOST:
            break
        if word.kind == "mark" and _ends(words, index, roles):
            parts.append(Part(range(start, index), strong, word.text))
            start = index + 1
            strong = start in linked or (start < len(words) and words[start].text in STRONG)
        elif index > start and (kind := _breaks(words, index, start, verbs, names, roles, linked)):
            parts.append(Part(range(start, index), strong))
            start, strong = index, kind == "strong"
    parts.append(Part(range(start, len(words)), strong))
    kept = [part for part in parts if any(words[i].kind != "mark" for i in part.span)]
    return [_bound_back(words, part, kept[n - 1] if n else None, linked) for n, part in enumerate(kept)]


WRAPS = frozenset({"to", "in", "on", "at", "with", "for", "from", "using", "into", "of", "by"})


def _ends(words: Sequence[Word], index: int, roles: Mapping[int, str]) -> bool:
    """Whether a mark ends a sentence; a line's end does, unless the next line only goes on with it."""
    if words[index].text not in ENDS or roles.get(index) == "time":
        return False
    after = words[index + 1].text if index + 1 < len(words) else ""
    keyed = [word.text for word in words[index + 2 : index + 3]] == [":"]  # “Version: 3.0.5”
    wrapped = roles.get(index + 1) in {"name", "value", "time"} or after in WRAPS or keyed
    return not (words[index].text == "\n" and wrapped)


def _bound_back(words: Sequence[Word], part: Part, before: Part | None, linked: Collection[int]) -> Part:
    """“run the tests and deploy … if they succeed”: said behind the wish that waits."""
    said = [i for i in part.span if words[i].kind != "mark"]
    opens = words[part.span.start].text in JOINS | STRONG
    tied = before and not before.ends and opens and said[-1] in linked
    return replace(part, strong=True) if tied else part


def _breaks(
    words: Sequence[Word],
    index: int,
    start: int,
    verbs: Collection[int],
    names: Sequence[Name],
    roles: Mapping[int, str],
    linked: Collection[int],
) -> str:
    """Whether a new clause begins here: "strong", "weak" or ""."""
    word = words[index]
    if roles.get(index) in {"name", "value", "time"}:
        return ""
    goes_on = _begins(words, index, verbs, roles, linked) or _second(index, start, words, names, roles)
    if index in linked and index - 1 in linked and word.text in JOINS:
        return ""
    if (index in linked and index - 1 not in linked) or word.text in STRONG:
        return "strong" if goes_on else ""
    if word.text not in JOINS or (words[index - 1].text in JOINS and index - 1 > start) or not goes_on:
        return ""
    waits = any(w.text in STRONG for w in words[index + 1 : index + 3]) or index + 1 in linked
    return "strong" if waits else "weak"


def _begins(
    words: Sequence[Word],
    index: int,
    verbs: Collection[int],
    roles: Mapping[int, str],
    linked: Collection[int],
) -> bool:
    """Whether the next word that says anything is a verb."""
    place = index
    while place < len(words) and place not in verbs:
        said = words[place]
        known = said.text in JOINS or said.text in STRONG or said.text in SKIP or place in linked
        if not known and roles.get(place) not in {"polite", "mention", "emoji", "time"}:
            return False
        place += 1
    return place < len(words)


def _second(
    index: int, start: int, words: Sequence[Word], names: Sequence[Name], roles: Mapping[int, str]
) -> bool:
    """Whether a second target of the same kind follows: not an environment, and not the same name."""
    place = index + 1
    while place < len(words) and (words[place].text in SKIP or words[place].text in JOINS):
        place += 1
    here = next((name for name in names if name.start == place), None)
    before = [name for name in names if start <= name.start < index]
    return here is not None and any(_alike(here, one) for one in before)


def _alike(one: Name, other: Name) -> bool:
    tables = {m.table for m in one.meanings if _target(m.table)} & {
        m.table for m in other.meanings if _target(m.table)
    }
    return bool(tables) and {m.name for m in one.meanings} != {m.name for m in other.meanings}


def _target(table: str) -> bool:
    return table != "environments" and not table.startswith("=")
