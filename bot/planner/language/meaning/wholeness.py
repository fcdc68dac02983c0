"""What a clause takes over: “it”, the one environment, the only database; and notes on how it was read."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.planner.language.document import Sentence, Understood, World
from bot.planner.language.lexicon.names import version
from bot.planner.language.lexicon.plain import Doubt
from bot.planner.language.meaning.scoring import IT
from bot.planner.language.meaning.values import Facts, Value
from bot.planner.runbooks.environments import ENVIRONMENTS
from bot.planner.runbooks.slots import names_of


def shared_facts(sentence: Sentence, known: Sequence[Understood]) -> dict[str, Value]:
    """What is said once holds for all that lack it: the environment, and a strategy."""
    found: dict[str, set[str]] = {}
    values_: dict[str, Value] = {}
    for name in sentence.names:
        for meaning in name.meanings:
            if meaning.table == ENVIRONMENTS or meaning.table.startswith("="):
                found.setdefault(meaning.table, set()).add(meaning.name)
                values_[meaning.table] = Value(name.said, meaning.name, "inherited")
    return {table: values_[table] for table, said in found.items() if len(said) == 1}


def completed(
    sentence: Sentence, one: Understood, last: Mapping[str, Value], shared: Mapping[str, Value], world: World
) -> Facts:
    """What a clause says, and what it takes over: “it”, the one environment, the only database."""
    given, doubts, guesses = dict(one.facts.values), [*one.facts.doubts], dict(one.facts.guesses)
    for name, slot in one.intent.slots.items():
        doubtful = any(doubt.field == name for doubt in doubts)
        if name in given and given[name].how in {"typo", "part"} and one.intent.changes and slot.inventory:
            value = given.pop(name)
            guesses[name] = value.meant
            doubts.append(Doubt(value.how, value.said, name, f"“{value.said}” may be {value.meant}."))
        elif name not in given and not doubtful:
            found = _taken_over(sentence, one, name, last, shared, world)
            if found:
                given[name] = found
        if name not in given and slot.inventory == ENVIRONMENTS:
            _environment(sentence, one, name, given, guesses, doubts, world)
    return Facts(given, one.facts.used, tuple(doubts), guesses)


def _taken_over(
    sentence: Sentence,
    one: Understood,
    name: str,
    last: Mapping[str, Value],
    shared: Mapping[str, Value],
    world: World,
) -> Value | None:
    slot = one.intent.slots[name]
    allowed = names_of(slot, world.config)
    if slot.inventory == ENVIRONMENTS or (slot.choices and not slot.inventory):
        found = shared.get(ENVIRONMENTS if slot.inventory == ENVIRONMENTS else f"={name}")
        return found if found and found.meant in allowed else None
    if not slot.inventory:
        return _said_of_it(sentence, one) if slot.kind == "version" else None
    said = {word.text for word in sentence.words[one.part.span.start : one.part.span.stop]}
    if (
        slot.inventory in last
        and (said & IT or one.intent.trouble or not one.intent.changes)
        and last[slot.inventory].meant in allowed
    ):
        return replace(last[slot.inventory], how="inherited")
    if only := _only_said(sentence, one, slot.inventory, allowed):
        return only
    if fact := _fact(sentence, one, slot.inventory, last, world):
        return fact
    unnamed = (
        not any(_unknown_word(sentence, one, i, world) for i in one.part.span) and not one.intent.asks.by_name
    )
    return Value("", allowed[0], "default") if len(allowed) == 1 and unnamed else None


def _said_of_it(sentence: Sentence, one: Understood) -> Value | None:
    """“checkout 3.0.2 is ready, deploy it”: the one version that was said at all."""
    words = {sentence.words[i].text for i in one.part.span}
    found = [i for i, role in sentence.roles.items() if role == "value" and i < one.part.span.start]
    text = version(sentence.words[found[0]]) if len(found) == 1 and words & IT else ""
    return Value(text, text, "inherited") if text else None


def _only_said(sentence: Sentence, one: Understood, table: str, allowed: Sequence[str]) -> Value | None:
    """“Alerts for checkout. What's going on?”: what is read is the one thing that was named at all."""
    found = [(name.said, m.name) for name in sentence.names if (m := name.of(table)) and m.name in allowed]
    single = not one.intent.changes and len({meant for _, meant in found}) == 1
    return Value(found[0][0], found[0][1], "inherited") if single else None


def _unknown_word(sentence: Sentence, one: Understood, index: int, world: World) -> bool:
    word = sentence.words[index]
    plainly = (
        word.bare in world.vocabulary.small
        or word.kind == "mark"
        or index in one.claimed
        or index in one.facts.used
    )
    kind = any(word.bare in known for known in world.vocabulary.kinds.values())
    other = sentence.roles.get(index) == "name" and not any(
        n.of(ENVIRONMENTS) for n in sentence.names if n.start <= index < n.end
    )
    return not plainly and not kind and (sentence.roles.get(index) is None or other)


def _fact(
    sentence: Sentence, one: Understood, table: str, last: Mapping[str, Value], world: World
) -> Value | None:
    """The database of a service that was named; for a change only if the word “database” was said."""
    singular = table.removesuffix("s")
    words = {sentence.words[i].bare for i in one.part.span}
    if one.intent.changes and not words & world.vocabulary.kinds.get(table, frozenset()):
        return None
    for name in sentence.names:
        for meaning in name.meanings if name.start in one.part.span else ():
            fact = world.config.inventory.get(meaning.table, {}).get(meaning.name, {}).get(singular)
            if isinstance(fact, str) and fact in world.config.inventory.get(table, {}):
                return Value(name.said, fact, "variant")
    return None


def _environment(
    sentence: Sentence,
    one: Understood,
    name: str,
    given: dict[str, Value],
    guesses: dict[str, str],
    doubts: list[Doubt],
    world: World,
) -> None:
    """An environment that was not said: for a read the one of its target; for a change a suggestion."""
    said = [n for n in sentence.names if n.start in one.part.span and n.of(ENVIRONMENTS)]
    if said:
        odd = said[0].of(ENVIRONMENTS)
        if odd and odd.name not in names_of(one.intent.slots[name], world.config):
            doubts.append(Doubt("unknown", said[0].said, name, f"I know no environment “{said[0].said}”."))
        return
    for slot, value in [*given.items()]:
        place = (
            world.config.inventory.get(one.intent.slots[slot].inventory, {})
            .get(value.meant, {})
            .get("environment")
        )
        if isinstance(place, str) and one.intent.changes:
            guesses[name] = place
        elif isinstance(place, str):
            given[name] = Value("", place, "default")


def notes_on(one: Understood, facts: Facts) -> list[str]:
    """How words were read where that is not plain."""
    made = []
    for name, value in facts.values.items():
        if (
            value.how in {"variant", "typo", "part"}
            and value.said.replace(" ", "-") != value.meant.replace("_", "-")
        ) or (
            value.how == "variant"
            and value.said
            not in {
                value.meant,
                value.meant.replace("-", " ").replace("_", " "),
            }
        ):
            made.append(f"Read “{value.said}” as {value.meant}")
        elif value.how == "default" and one.intent.slots[name].inventory not in {"", ENVIRONMENTS}:
            made.append(f"{value.meant} is the only {one.intent.slots[name].inventory.removesuffix('s')}")
    return made
