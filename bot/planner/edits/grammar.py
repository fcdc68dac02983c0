"""Edits in plain words: "move step 3 to 2am EST", "use canary instead", "drop step 2". Pure, and no model.

A sentence is understood whole or not at all. What comes out is a draft like any other: it is prepared, shown
as a difference and approved by somebody else. Nothing here can approve.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from bot.planner.edits.changes import joined, placed, timed, valued, without
from bot.planner.edits.pointing import EditContext, alike, fits, offered, schema, steps_named, typed
from bot.times import when
from storage.contract.spec import PlanSpec, StepSpec, utc
from storage.errors import BadTime, SignoffError

Change = Callable[[PlanSpec], PlanSpec]

POLITE = re.compile(
    r"^(?:(?:ok(?:ay)?|good|great|looks good|lgtm|nice|fine|thanks|actually|please|(?:can|could) (?:you|we)|"
    r"let'?s|just|also|and|but|then|so)\b[,.!:]* +)+",
    re.I,
)
CLAUSES = re.compile(r" *(?:;|\n|,? and (?:then |also )?|, (?:but |then )?)", re.I)
MOVE = re.compile(
    r"^(?:move|shift|postpone|delay|defer|reschedule|push|schedule|start|begin|run|do|put|change|set)\s+",
    re.I,
)
DROP = re.compile(
    r"^(?:drop|remove|delete|skip|omit|leave out|(?:don'?t|do not) (?:do|run))\s+(?P<step>.+)$",
    re.I,
)
SWAP = re.compile(r"^swap (?:steps? )?(?P<one>.+?) (?:and|with) (?P<other>.+)$", re.I)
ORDER = re.compile(r"^(?:run|do|move|put) (?P<one>.+?) (?P<way>before|after) (?P<other>.+)$", re.I)
ADD = re.compile(r"^add (?P<wish>.+)$", re.I)
NAMED = re.compile(
    r"^(?:(?:change|set|switch)\s+(?:the\s+)?(?P<name>.+?)\s+to|(?P<short>[\w ]+?)\s*[:=])\s*(?P<new>.+?)"
    r"(?:\s+(?:in|for|of|on)\s+(?P<where>(?:the\s+)?(?:step|\w+ step)\b.*))?$",
    re.I,
)
USE = re.compile(
    r"^(?:(?:use|take|choose|pick|run|make it|go with|deploy|with)\s+)?(?:an?\s+|the\s+)?(?P<new>.+?)"
    r"(?:\s+instead of\s+(?:an?\s+|the\s+)?(?P<old>.+?)|\s+(?:instead|rather))?"
    r"(?:\s+(?:in|for|on)\s+(?P<where>(?:the\s+)?(?:step|\w+ step)\b.*))?$",
    re.I,
)
TIMED = re.compile(rf"{MOVE.pattern}|\b(?:to|at|until|till|for|by|in|on)\b|\d", re.I)
BY = re.compile(r"^by (?P<time>.+)$", re.I)
COUNTED = re.compile(r"^(?P<number>\d+) (?P<noun>[a-z ]+)$", re.I)
VERSION = re.compile(r"^v?\d+(\.\d+)+\S*$", re.I)


class NotUnderstood(SignoffError):
    """Not understood as a change of this plan; the sentence says what would be."""


def understand(text: str, about: EditContext) -> PlanSpec:
    """The draft that these words ask for; NotUnderstood when any part of them means nothing here."""
    said = POLITE.sub("", _plain(text))
    changes = [_clause(said, about)] if said else []
    if not all(changes):
        parts = [POLITE.sub("", part) for part in CLAUSES.split(said) if part.strip()]
        changes = [_clause(part, about) for part in parts] if len(parts) > 1 else changes
    if not changes or not all(changes):
        raise NotUnderstood(f"I do not understand that as a change of this plan. {examples(about)}")
    draft = about.spec
    for change in changes:
        draft = change(draft) if change else draft
    return draft


def examples(about: EditContext) -> str:
    """What could be said about this plan."""
    number = len(about.spec.steps)
    said = [f"“move step {number} to 2am”", *_choices(about)][:2]
    said += [f"“drop step {number - 1}”"] if number > 1 else []
    return f"I understand, for example: {', '.join(said)}. Or use Edit."


def _choices(about: EditContext) -> Iterator[str]:
    for step in about.spec.steps:
        for name, known in offered(step, about).items():
            other = [choice for choice in known if choice != step.parameters.get(name)]
            if other:
                yield f"“use {other[0]} instead”"


def _clause(text: str, about: EditContext) -> Change | None:
    """One thing to change. The steps are numbered as they stood before any of it."""
    for read in (_swap, _order, _drop, _add, _move, _named, _use):
        if found := read(text, about):
            return found
    return None


def _move(text: str, about: EditContext) -> Change | None:
    """Every place where the step's name may end and its time begin; a time that is wrong is said."""
    words, doubt = MOVE.sub("", text).split(), None
    for cut in range(1, len(words)):
        keys = steps_named(" ".join(words[:cut]), about.spec)
        if not keys:
            continue
        try:
            when_ = _time(" ".join(words[cut:]), keys, about)
        except BadTime as error:
            doubt = doubt or error
            continue
        return lambda spec: timed(spec, keys, when_)
    return _doubtful(doubt, text, about) if doubt and TIMED.search(text) else None


def _doubtful(error: BadTime, text: str, about: EditContext) -> Change | None:
    """A bad time is only told where nothing else can be meant."""
    if any(read(text, about) for read in (_named, _use)):
        return None
    raise error


def _time(text: str, keys: list[str], about: EditContext) -> str:
    """The words for the time, if they are one."""
    words = re.sub(r"^(?:back )?(?:to|until|till|for|at|on|into) (?:start )?", "", text, flags=re.I)
    if later := BY.match(words):
        starts = [start for key in keys if (start := about.spec.find(key).schedule.not_before)]
        found = when.resolve(f"in {later['time']}", max(starts, default=about.now), zone="UTC", windows={})
        return utc(found.not_before) if found.not_before else "now"
    when.resolve(words, about.now, zone=about.config.zone, windows=about.config.windows)
    return words


def _drop(text: str, about: EditContext) -> Change | None:
    found = DROP.match(text)
    keys = steps_named(found["step"], about.spec, everything=False) if found else []
    return (lambda spec: without(spec, keys[0])) if keys else None


def _swap(text: str, about: EditContext) -> Change | None:
    found = SWAP.match(text)
    if not found:
        return None
    one, other = (steps_named(found[name], about.spec, everything=False) for name in ("one", "other"))
    if not one or not other:
        return None
    swapped = {one[0]: other[0], other[0]: one[0]}
    return lambda spec: placed(spec, [swapped.get(step.id, step.id) for step in spec.steps])


def _order(text: str, about: EditContext) -> Change | None:
    found = ORDER.match(text)
    if not found:
        return None
    one, other = (steps_named(found[name], about.spec, everything=False) for name in ("one", "other"))
    if not one or not other or one == other:
        return None

    def change(spec: PlanSpec) -> PlanSpec:
        order = [step.id for step in spec.steps if step.id != one[0]]
        order.insert(order.index(other[0]) + (found["way"].lower() == "after"), one[0])
        return placed(spec, order)

    return change


def _add(text: str, about: EditContext) -> Change | None:
    found = ADD.match(text)
    if not found or about.plan is None:
        return None
    more = about.plan(re.sub(r"\s+(?:at the end|afterwards|at last)$", "", found["wish"], flags=re.I))
    return lambda spec: joined(spec, more)


def _named(text: str, about: EditContext) -> Change | None:
    """ "set strategy to canary", "version: v2.1.5"."""
    if not (found := NAMED.match(text)):
        return None
    name = re.sub(r"^(?:the )", "", found["name"] or found["short"], flags=re.I)
    where = _where(found["where"], about)
    spots = [(s, parameter) for s in where for parameter in schema(s, about) if fits(name, parameter)]
    spots = [spot for spot in spots if spot[0].parameters.get(spot[1])] or spots
    if not spots:  # "change full to smoke"
        return _to(found["new"], name, where, about)
    return _set(
        [(step, parameter, _choice(found["new"], step, parameter, about)) for step, parameter in spots],
        about,
    )


def _choice(said: str, step: StepSpec, name: str, about: EditContext) -> str:
    """The listed value that is meant, or the words as they are."""
    return next((known for known in offered(step, about).get(name, ()) if alike(said, known, name)), said)


def _use(text: str, about: EditContext) -> Change | None:
    """ "use canary instead", "the smoke suite instead of full", "use v2.1.5", "5 replicas"."""
    found = USE.match(text)
    return _to(found["new"], found["old"] or "", _where(found["where"], about), about) if found else None


def _to(new: str, old: str, where: list[StepSpec], about: EditContext) -> Change | None:
    spots = [spot for step in where for spot in _spots(step, new, about)]
    if old:
        spots = [spot for spot in spots if alike(old, spot[0].parameters.get(spot[1]), spot[1])]
    return _set(spots, about)


def valued_at(new: str, where: Iterable[StepSpec], about: EditContext) -> bool:
    """Whether these words are a value that some parameter of these steps could have."""
    return any(spot for step in where for spot in _spots(step, new, about))


def use(new: str, where: list[StepSpec], about: EditContext) -> Change | None:
    """This value in the one place where it can be meant; NotUnderstood where there are several."""
    return _to(new, "", where, about)


def _spots(step: StepSpec, new: str, about: EditContext) -> Iterator[tuple[StepSpec, str, str]]:
    """Where this value could stand in a step."""
    counted, choices = COUNTED.match(new), offered(step, about)
    for name, field in schema(step, about).items():
        for choice in choices.get(name, ()):
            if alike(new, choice, name):
                yield step, name, choice
        known = str(step.parameters.get(name, ""))
        if VERSION.match(new) and VERSION.match(known):
            yield step, name, f"v{new}" if known[0] == "v" and new[0] != "v" else new  # as it is spelt there
        if counted and field.get("type") == "integer" and fits(counted["noun"], name):
            yield step, name, counted["number"]


def _set(spots: list[tuple[StepSpec, str, str]], about: EditContext) -> Change | None:
    """One meaning, or none: steps that share a parameter and its value change together."""
    if not spots:
        return None
    meanings = {(name, str(step.parameters.get(name)), value) for step, name, value in spots}
    if len(meanings) > 1:
        places = ", ".join(f"{name} in {step.id}" for step, name, _ in spots)
        raise NotUnderstood(
            f"That could be {places}. Please say which, as in “set {spots[0][1]} to … in step 1”."
        )

    def change(spec: PlanSpec) -> PlanSpec:
        for step, name, value in spots:
            spec = valued(spec, step.id, name, typed(value, schema(step, about)[name]))
        return spec

    return change


def _where(said: str | None, about: EditContext) -> list[StepSpec]:
    keys = steps_named(said, about.spec) if said else []
    return [step for step in about.spec.steps if not said or step.id in keys]


def _plain(text: str) -> str:
    return " ".join(line for line in _lines(text) if line).rstrip(" .!?")


def _lines(text: str) -> Iterable[str]:
    return (" ".join(re.sub(r"<@[UW]\w+>", " ", line).split()) for line in text.splitlines())
