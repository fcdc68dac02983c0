"""A change of the plan in plain words: every word must be explained, or it is asked, or it is talk."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bot.planner.conversation.acts import Act
from bot.planner.conversation.listed import words_of
from bot.planner.conversation.pointing import Pointer, pointers
from bot.planner.conversation.speech import bare, unpraised
from bot.planner.conversation.topics import PEOPLE
from bot.planner.edits.changes import placed, timed, whole, without
from bot.planner.edits.grammar import NotUnderstood, examples, understand, use, valued_at
from bot.planner.edits.pointing import EditContext
from bot.planner.language.lexicon.plain import plain
from bot.planner.language.lexicon.words import Word
from bot.planner.language.times.finding import find
from bot.planner.language.times.moment import Time
from storage.errors import BadTime, SignoffError

COUNT, UNIT = r"(?:an?|one|two|three|four|five|six|\d+)", r"(?:hours?|h|minutes?|mins?|min|days?)"
LATER = re.compile(rf"\b(?:by|for) {COUNT} (?:more )?{UNIT}\b|\b{COUNT} {UNIT} later\b", re.I)
LEAVES = {"leave": "out", "lass": "weg"}  # by themselves they say that something stays
TO_SOMEBODY = re.compile(r"^\W*(?:<@|@)\w")  # the bot's own mention was taken off before
TOO = re.compile(r"^(?:(?:and|also|please) )*(?P<wish>.+?),? (?:too|as well|also)[.! ]*$", re.I)
COUNTS = {"a": "1", "an": "1", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6"}


@dataclass(frozen=True)
class Found:
    """A sentence with what was found in it."""

    words: tuple[Word, ...]
    pointers: tuple[Pointer, ...]
    times: tuple[Time, ...]
    values: tuple[tuple[int, int, str], ...]
    left: tuple[str, ...] = field(default=())  # words that nothing explains

    def says(self, *names: str) -> bool:
        """Whether it has a word of these lists."""
        return any(word.text in words_of(*names) for word in self.words)

    def drops(self) -> bool:
        """Whether something shall go: “leave” does only with “out”, and “no, …” only objects."""
        said = [word.text for word in self.words]
        objects = said[:2] in (["no", ","], ["no", "."])
        kept = {word for word, off in LEAVES.items() if off not in said}
        return bool({*said[objects:]} & words_of("drops") - kept)


def change(text: str, about: EditContext) -> Act | None:
    """The draft that these words ask for, a question back, or None for talk."""
    said = unpraised(text)
    if TO_SOMEBODY.match(text):
        return None
    if PEOPLE.search(said.lower()) and said.rstrip().endswith("?"):
        return None  # a question to other people
    said = said.replace("&amp;", "&").replace(" & ", " and ")
    if LATER.search(said):
        return _postponed(said, about)
    return _more(said, about) or _changed(said, look(said, about), about)


def _changed(said: str, found: Found, about: EditContext) -> Act | None:
    """What the words that were found come to."""
    if found.left or "instead of" in said.lower() or "rather than" in said.lower():
        return _otherwise(said, found, about)
    if not (found.pointers or found.times or found.values):
        return None
    if found.drops() and (found.says("never", "stays") or found.times):
        return Act("unclear", asks=examples(about))  # “don't skip the backup”: nothing is dropped by that
    if found.drops() and found.pointers and not found.values:
        return _without(found, about)
    if found.times:
        return _timed(found, about)
    if found.values and not found.drops() and not found.says("never"):
        return _valued(found, about)
    return _ordered(found, about) or _otherwise(said, found, about)


def _more(said: str, about: EditContext) -> Act | None:
    """“deploy checkout 3.0.2 to production too”: a wish of its own; whether it belongs here is asked."""
    found = TOO.match(said)
    if not found or about.plan is None:
        return None
    try:
        about.plan(found["wish"])
    except SignoffError:
        return None
    number = len(about.spec.steps) + 1
    asks = "Shall it be done in this plan? For a plan of its own, ask with `/plan`."
    return Act("unclear", asks=asks, choices=((f"Add as Step {number}", f"add {found['wish']}"),))


def _valued(found: Found, about: EditContext) -> Act:
    """Other values, where one place alone can be meant."""
    where = [about.spec.find(key) for pointer in found.pointers for key in pointer.keys] or [
        *about.spec.steps
    ]
    draft = about.spec
    for _, _, said in found.values:
        try:
            made = use(said, where, about)
        except SignoffError as error:
            return Act("unclear", asks=str(error))
        once, twice = (made(about.spec), made(draft)) if made else (about.spec, draft)
        if made is None or (draft != about.spec and once == twice):  # the same place, said twice
            return Act("unclear", asks=examples(about))
        draft = twice
    return Act("edit", draft=draft)


def _ordered(found: Found, about: EditContext) -> Act | None:
    """“do the tests last”."""
    place = next((word.text for word in found.words if word.text in words_of("ends")), "")
    keys = [key for pointer in found.pointers for key in pointer.keys]
    if not place or len(keys) != 1:
        return None
    rest = [step.id for step in about.spec.steps if step.id != keys[0]]
    return Act("edit", draft=placed(about.spec, [*rest, keys[0]] if place == "last" else [keys[0], *rest]))


def _postponed(said: str, about: EditContext) -> Act | None:
    """“postpone by one hour”: what waits for a time waits longer; else all of it starts so much later."""
    found = look(LATER.sub(" ", said), about)
    keys = [key for pointer in found.pointers for key in pointer.keys]
    if found.left or found.times or found.values or any(len(one.keys) != 1 for one in found.pointers):
        return None if found.left else Act("unclear", asks=examples(about))
    waiting = [step.id for step in about.spec.steps if step.schedule.not_before]
    draft, later = about.spec, _digits(said)
    for key in keys or waiting or whole(about.spec):
        draft = understand(f"delay step {_number(about, key)} {later}", replace(about, spec=draft))
    return Act("edit", draft=draft)


def _number(about: EditContext, key: str) -> int:
    return next(number for number, step in enumerate(about.spec.steps, 1) if step.id == key)


def look(text: str, about: EditContext) -> Found:
    """Give every word a role."""
    words = tuple(word for word in plain(text).words if word.kind not in {"mention", "emoji"})
    pointed = tuple(pointers(words, about.spec))
    taken = {index: "step" for one in pointed for index in range(one.start, one.end)}
    times = tuple(find(words, taken, [*about.config.windows]))
    taken |= {index: "time" for one in times for index in range(one.start, one.end)}
    values = tuple(_values(words, taken, about))
    taken |= {index: "value" for start, end, _ in values for index in range(start, end)}
    known = words_of("moves", "drops", "uses", "small", "every", "never", "hold", "ends")
    known |= {"and"} if len(pointed) > 1 or len(values) + len(times) > 1 else set()
    left = tuple(
        w.said for n, w in enumerate(words) if n not in taken and w.kind != "mark" and w.text not in known
    )
    return Found(words, pointed, times, values, left)


def _values(words: Sequence[Word], taken: dict[int, str], about: EditContext) -> list[tuple[int, int, str]]:
    """Values that a parameter of a step may have: versions, listed ones, counts with their noun."""
    found, index = list[tuple[int, int, str]](), 0
    swaps = any(word.text == "instead" for word in words)
    while index < len(words):
        length = next((n for n in (3, 2, 1) if _fits(words[index : index + n], n, about, swaps=swaps)), 0)
        if length and not {*range(index, index + length)} & taken.keys():
            found.append(
                (index, index + length, " ".join(word.text for word in words[index : index + length]))
            )
        index += max(length, 1)
    return found


def _fits(words: Sequence[Word], length: int, about: EditContext, *, swaps: bool) -> bool:
    """Whether they are a value. A name of the inventory is another target: only “instead” says so plainly."""
    said = " ".join(word.text for word in words)
    fits = len(words) == length and valued_at(said, about.spec.steps, about)
    return fits and (swaps or not _names_target(said, about))


def _names_target(said: str, about: EditContext) -> bool:
    found = (about.catalogue.find(step) for step in about.spec.steps)
    named = ((made.target, *entry) for made in found if made for entry in made.names.items())
    return any(said in names for target, name, names in named if f"{{{name}}}" in target)


def _without(found: Found, about: EditContext) -> Act:
    keys = [key for pointer in found.pointers for key in pointer.keys]
    if any(len(pointer.keys) != 1 for pointer in found.pointers):
        return which(about, keys or [step.id for step in about.spec.steps], "drop {step}")
    draft = about.spec
    for key in dict.fromkeys(keys):
        draft = without(draft, key)
    return Act("edit", draft=draft)


def _timed(found: Found, about: EditContext) -> Act | None:
    """Another time for what is pointed at; for “it”, the step that alone makes sense."""
    if len(found.times) > 1 or found.times[0].kind != "at" or found.says("never"):
        doubt = next((time.why for time in found.times if time.why), "Please name one time, as in “2am EST”.")
        return Act("unclear", asks=doubt)
    keys = [*dict.fromkeys(key for pointer in found.pointers for key in pointer.keys)]
    words = found.times[0].words
    if any(not pointer.keys for pointer in found.pointers):
        return Act("unclear", asks=f"This plan has {len(about.spec.steps)} steps. Which do you mean?")
    if any(len(pointer.keys) > 1 for pointer in found.pointers):
        return which(about, keys, f"move {{step}} to {words}")
    if not keys:
        keys = _meant(found, about)
    if not keys:
        return which(about, changing(about), f"move {{step}} to {words}")
    draft = timed(about.spec, keys, words)
    return _valued(found, replace(about, spec=draft)) if found.values else Act("edit", draft=draft)


def _meant(found: Found, about: EditContext) -> list[str]:
    """What “it” is: the whole plan where that is said or run; else the one step that can be meant."""
    waits = [step.id for step in about.spec.steps if step.schedule.not_before]
    if found.says("hold"):
        return waits or whole(about.spec)
    if found.says("every", "starts"):
        return whole(about.spec)
    waiting = [step.id for step in about.spec.steps if step.schedule.not_before]
    own = changing(about)
    candidates = [key for key in own if key in waiting] or own or [step.id for step in about.spec.steps]
    return candidates if len(candidates) == 1 else []


def changing(about: EditContext) -> list[str]:
    made = ((step, about.catalogue.find(step)) for step in about.spec.steps)
    return [step.id for step, contract in made if contract is None or contract.changes]


def which(about: EditContext, keys: Sequence[str], words: str) -> Act:
    """Ask which step, a button for each."""
    numbers = {step.id: number for number, step in enumerate(about.spec.steps, 1)}
    choices = tuple(
        (f"step {numbers[key]}", words.replace("{step}", f"step {numbers[key]}")) for key in keys[:5]
    )
    return Act("unclear", asks="Which step?", choices=choices)


def _otherwise(said: str, found: Found, about: EditContext) -> Act | None:
    """What the grammar of whole sentences knows; else a question where a change was plainly meant."""
    first = bare(said).partition(" ")[0]
    begins = first in words_of("moves", "drops", "uses", "adds") or "instead" in said.lower().split()
    begins = begins or bool(found.times and found.pointers and found.pointers[0].start == 0)
    begins = begins or bool(found.times and first in words_of("never")) or _waived(said, found)
    if found.drops() and found.says("never", "stays"):
        return Act("unclear", asks=examples(about)) if begins else None
    try:
        return Act("edit", draft=understand(bare(said), about))
    except NotUnderstood as error:
        if not begins:
            return None
        unread = f"I did not get “{' '.join(found.left[:6])}”. " if found.left else ""
        return Act("unclear", asks=f"{unread}{examples(about)}" if unread else str(error))
    except BadTime as error:
        return (
            Act("unclear", asks=str(error) if re.search(r"\d", said) else examples(about)) if begins else None
        )
    except SignoffError as error:
        return Act("unclear", asks=str(error)) if begins else None


def _waived(said: str, found: Found) -> bool:
    """“never mind the backup”: of one step, which is not all of it."""
    return bare(said).startswith("never mind ") and bool(found.pointers)


def _digits(said: str) -> str:
    """“by one hour”, “an hour later”, as the grammar knows it."""
    found = LATER.search(said)
    words = re.sub(r"\b(?:by|for|later|more)\b", " ", found[0].lower() if found else "").split()
    return f"by {' '.join(COUNTS.get(word, word) for word in words)}"
