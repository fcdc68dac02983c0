"""How a step is said: by its action's own template and its parameters, never by a planner's words.

A template is words with `{parameter}` in them; `{suite:full=all}` says “all” where the value is “full”.
What stands in `[brackets]` is left out where one of its values is not known, and wherever it must be short.
`*bold*` is bold. `{was}` is what its preview found there now. Every parameter that is not its action's
default and that the template does not name is said behind it: nothing that was chosen is left unsaid.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from pydantic import JsonValue

from storage.contract.capability import Contract
from storage.contract.spec import StepSpec, reference

Show = Callable[[str], str]
WAS = "was"
BRIEF = 40  # characters of a value in a step's short name
_SLOT = re.compile(r"\{(\w+)(?::([^{}]*))?\}")
_PART = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_MISSING = object()
NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Slot:
    """A place for one value, and the words that stand for some of them."""

    name: str
    words: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Part:
    """Words and slots; an optional part is left out where a value is missing."""

    pieces: tuple[str | Slot, ...]
    optional: bool = False


class Unsayable(ValueError):
    """The template cannot be read, or names what its action has not."""


@lru_cache(maxsize=512)
def parts(template: str) -> tuple[Part, ...]:
    found = [*_PART.finditer(template)]
    if sum(len(match[0]) for match in found) != len(template):
        raise Unsayable("its brackets do not match")
    return tuple(Part(_pieces(match[1] or match[2] or ""), match[1] is not None) for match in found)


def _pieces(text: str) -> tuple[str | Slot, ...]:
    made: list[str | Slot] = []
    end = 0
    for match in _SLOT.finditer(text):
        made += [text[end : match.start()], Slot(match[1], _words(match[2]))]
        end = match.end()
    made.append(text[end:])
    if any(isinstance(piece, str) and ("{" in piece or "}" in piece) for piece in made):
        raise Unsayable("its braces do not match")
    return tuple(piece for piece in made if piece)


def _words(text: str | None) -> tuple[tuple[str, str], ...]:
    pairs = (pair.partition("=") for pair in (text or "").split(",") if pair)
    return tuple((value.strip(), words.strip()) for value, _, words in pairs)


def named(template: str) -> list[str]:
    """The parameters that a template says, in its order."""
    slots = (piece for part in parts(template) for piece in part.pieces if isinstance(piece, Slot))
    return [*dict.fromkeys(slot.name for slot in slots if slot.name != WAS)]


def unsayable(contract: Contract) -> str:
    """What is wrong with an action's templates, or ""."""
    known = contract.parameters.get("properties", {})
    for template in (contract.says, contract.leaves):
        try:
            strange = [name for name in named(template) if name not in known]
        except Unsayable as error:
            return f"“{template}”: {error}"
        if strange:
            return f"“{template}” names {', '.join(strange)}, which is no parameter"
    return ""


def plain(text: str) -> str:
    return text


def brief(text: str) -> str:
    """A value where there is little room."""
    return text if len(text) <= BRIEF else f"{text[: BRIEF - 1]}…"


def bold(show: Show) -> Show:
    """Words of a template as mrkdwn: its own asterisks stay, everything else is made inert by `show`."""
    return lambda text: "*".join(show(part) for part in text.split("*"))


def unmarked(text: str) -> str:
    """Words of a template as plain text."""
    return text.replace("*", "")


def line(contract: Contract | None, step: StepSpec, *, was: str = "", show: Show | None = None) -> str:
    """The whole step in one line; with `show` as mrkdwn, every foreign word made inert by it."""
    value, words = (show, bold(show)) if show else (plain, unmarked)
    text, said = _filled(contract, step, {WAS: was}, value, words) if contract else ("", set())
    if contract is None or not text:
        return "".join([words(f"{step.worker}: {step.action}"), *_rest(step.parameters, {}, set(), value)])
    kept = {
        key: found for key, found in _defaults(contract).items() if "{" + key + "}" not in contract.target
    }
    rest = {key: found for key, found in step.parameters.items() if found or not _empty(contract, key, found)}
    return "".join([text, *_rest(rest, kept, said, value)])


def short(contract: Contract | None, step: StepSpec, values: Mapping[str, str] = NONE) -> str:
    """The step in a few plain words. `values`: what to say instead of some of its values."""
    text = _filled(contract, step, values, plain, unmarked, whole=False)[0] if contract else ""
    kept = _defaults(contract) if contract else {}
    said = {name: value for name, value in {**step.parameters, **values}.items() if value != ""}
    rest = _rest(said, kept, set(), brief)
    return text or "".join([f"{step.worker}: {step.action}", *rest])


def verb(contract: Contract | None, step: StepSpec) -> str:
    """What it does, without what to: the words before the first value."""
    if contract and contract.says and not _broken(contract.says):
        first = parts(contract.says)[0].pieces[0]
        if isinstance(first, str) and (word := unmarked(first).strip()):
            return word
    return step.action.replace("_", " ")


def outcome(contract: Contract | None, step: StepSpec) -> str:
    """What is true once it succeeded, as its action says; "" where it says nothing."""
    if contract is None or not contract.leaves:
        return ""
    return _filled(contract.model_copy(update={"says": contract.leaves}), step, NONE, plain, unmarked)[0]


def wording(contract: Contract | None, name: str) -> dict[str, str]:
    """The words that an action's template has for some values of this parameter."""
    made = parts(contract.says) if contract and not _broken(contract.says) else ()
    slots = (piece for part in made for piece in part.pieces if isinstance(piece, Slot))
    return {value: words for slot in slots if slot.name == name for value, words in slot.words}


def value_words(value: JsonValue) -> str:
    """A value for people: yes and no, where a reference comes from, and JSON for what has parts."""
    if found := reference(value):
        return f"{'.'.join(found)} (when it is known)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and value and all(isinstance(part, str | int) for part in value):
        return ", ".join(map(value_words, value))
    if isinstance(value, dict) and value and all(isinstance(part, str | int) for part in value.values()):
        return ", ".join(f"{key}: {value_words(part)}" for key, part in value.items())
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)
    text = text.replace("\r\n", "\n").replace("\n", " ⏎ ")
    return text if text == " ".join(text.split()) else f"“{text}”"  # so that its spaces are seen


def _broken(template: str) -> bool:
    try:
        parts(template)
    except Unsayable:
        return True
    return False


def _defaults(contract: Contract) -> dict[str, Any]:
    properties: Mapping[str, Mapping[str, Any]] = contract.parameters.get("properties", {})
    return {name: schema["default"] for name, schema in properties.items() if "default" in schema}


def _empty(contract: Contract, name: str, value: JsonValue) -> bool:
    """Whether it says as little as leaving it out: nothing, of a parameter that need not be given."""
    required, known = contract.parameters.get("required", ()), _defaults(contract)
    return value in (None, [], {}) and name not in required and name not in known


def _filled(
    contract: Contract,
    step: StepSpec,
    instead: Mapping[str, str],
    value: Show,
    words: Show,
    *,
    whole: bool = True,
) -> tuple[str, set[str]]:
    """The template with its values, and which parameters it said; nothing where it cannot be filled."""
    if not contract.says or _broken(contract.says):
        return "", set()
    known = {**_defaults(contract), **step.parameters, **instead}
    made, said = "", set[str]()
    for part in parts(contract.says):
        filled = [_spoken(piece, known, value, words) for piece in part.pieces]
        if None not in filled and (whole or not part.optional):
            made += "".join(map(str, filled))
            said |= {piece.name for piece in part.pieces if isinstance(piece, Slot)}
        elif not part.optional:
            return "", set()
    return made, said


def _spoken(piece: str | Slot, known: Mapping[str, Any], value: Show, words: Show) -> str | None:
    """Words, or a value in words; None for one that is not known."""
    if isinstance(piece, str):
        return words(piece)
    found, instead = known.get(piece.name), dict(piece.words)
    if found in (None, "", [], {}):
        return None
    raw = value_words(found)
    clear = (
        f"“{raw}”" if raw in instead.values() and raw not in instead else raw
    )  # it stands for another value
    return value(instead.get(raw, clear))


def _rest(
    parameters: Mapping[str, Any], kept: Mapping[str, Any], said: set[str], value: Show
) -> Iterator[str]:
    """Every chosen value that was not said yet; `kept` are those that nobody needs to hear of."""
    for name, found in parameters.items():
        if name not in said and kept.get(name, _MISSING) != found:
            yield f", {value(name.replace('_', ' '))}: {value(value_words(found)) or '“”'}"
