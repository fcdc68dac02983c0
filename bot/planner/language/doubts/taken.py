"""Which words of a clause have a role in its reading: what is left over is judged."""

from bot.planner.language.document import Sentence, Understood, World
from bot.planner.language.lexicon.names import Name
from bot.planner.language.meaning import clauses
from bot.planner.language.meaning.intents import Hit, says
from bot.planner.runbooks.environments import ENVIRONMENTS


def used(sentence: Sentence, one: Understood, world: World) -> set[int]:
    """Words with a role in the reading; a name that it cannot use has none."""
    found = {*one.claimed, *one.facts.used}
    for name in sentence.names:
        span = {*range(name.start, name.end)}
        if name.start in one.part.span and not found & span and _consistent(sentence, one, name, world):
            found |= span
    facts = {i for i, role in sentence.roles.items() if role in {"name", "value"}}
    linked = clauses.links(sentence.words, facts) & {*one.part.span} if one.part.strong else set()
    joins = clauses.JOINS | clauses.STRONG
    lead = {i for i in one.part.span if sentence.words[i].text in joins and i <= one.verb}
    kinds = {word for table in one.intent.tables() for word in world.vocabulary.kinds.get(table, ())}
    typed = {i for i in one.part.span if sentence.words[i].bare in kinds}
    steered = _steered(sentence, one, found)
    return found | steered | linked | clauses.opening(sentence.words) | lead | typed


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


def phrased(sentence: Sentence, one: Understood) -> set[int]:
    """“the release notes” are no release: words of a phrase that means nothing here."""
    found = says(sentence.words, one.part.span, one.intent.about)
    return {i for span in found if len(span) > 1 for i in span}


def quiet(sentence: Sentence, hit: Hit) -> bool:
    return any(sentence.roles.get(i) in {"polite", "reason", "name", "time"} for i in hit.claimed)
