"""What was understood of a request, as one document, and what a sentence is read against."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from bot.planner.language.doubts import leftovers
from bot.planner.language.lexicon.names import Lexicon, Name, lexicon
from bot.planner.language.lexicon.plain import Doubt
from bot.planner.language.lexicon.vocabulary import Vocabulary, shipped, vocabulary
from bot.planner.language.lexicon.words import Word
from bot.planner.language.meaning.clauses import Part
from bot.planner.language.meaning.intents import Grammar, Hit, Intent, grammar, intent_of
from bot.planner.language.meaning.values import Clause, Facts, Value
from bot.planner.language.times.moment import Time
from bot.planner.runbooks.book import Runbook
from storage.config import SignoffConfig
from storage.contract.capability import Contract

Fact = tuple[str, str, bool]  # worker, action, whether it changes or drafts anything


@dataclass(frozen=True)
class World:
    """What a sentence is read against."""

    grammar: Grammar
    lexicon: Lexicon
    config: SignoffConfig
    now: datetime | None = None
    rules: frozenset[str] = leftovers.RULES

    @property
    def vocabulary(self) -> Vocabulary:
        return self.grammar.vocabulary


@dataclass(frozen=True)
class Wish:
    """One thing that is wanted: which runbook, which values, when, and whether it waits for another."""

    runbook: str
    values: Mapping[str, Value]
    when: Time | None = None
    follows: bool = False
    changes: bool = True
    score: float = 0.0
    guesses: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """The document: what is wanted, what was not used, how words were read, and what must be asked."""

    text: str
    wishes: tuple[Wish, ...] = ()
    every: Time | None = None
    at: Time | None = None  # the hour of what recurs
    unused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    refusal: str = ""
    question: bool = False
    about_change: tuple[str, ...] = ()  # the changes that a question speaks of
    scores: Mapping[str, float] = field(default_factory=dict)
    near: tuple[str, ...] = ()  # runbooks that may be meant, best first
    mentioned: Mapping[str, Value] = field(default_factory=dict)  # names that were said, by table


@dataclass(frozen=True)
class Sentence:
    """Everything that was found in the words before any of them was given a meaning."""

    words: Sequence[Word]
    names: Sequence[Name]
    times: Sequence[Time]
    roles: Mapping[int, str]
    hits: Sequence[Hit]
    notes: tuple[str, ...] = ()

    def clause(self, span: range) -> Clause:
        return Clause(self.words, span, self.names, self.roles)


@dataclass(frozen=True)
class Understood:
    """One clause, understood."""

    part: Part
    intent: Intent
    facts: Facts
    verb: int
    claimed: frozenset[int]
    score: float
    inherited: bool = False  # its verb is the one of the clause before
    question: bool = False
    form: str = "base"
    core: int = 0


def world(
    books: Sequence[Runbook],
    config: SignoffConfig,
    contracts: Sequence[Contract] = (),
    now: datetime | None = None,
) -> World:
    """Without the contracts, every runbook counts as one that changes something."""
    facts = frozenset(
        (name, one.action, not one.reads) for one in contracts for name in (one.worker, *one.aliases)
    )
    key = (*map(id, books), id(config), facts)
    if key not in _made:
        while len(_made) >= KEPT:
            _made.pop(next(iter(_made)), None)
        _made[key] = ((*books,), config, _world(books, config, facts))
    return replace(_made[key][2], now=now)


KEPT = 8
# Made once for the same runbooks, configuration and contracts; it holds them, so that their ids stay theirs.
_made: dict[tuple[object, ...], tuple[tuple[Runbook, ...], SignoffConfig, World]] = {}


def _world(books: Sequence[Runbook], config: SignoffConfig, facts: frozenset[Fact]) -> World:
    words = vocabulary(config.vocabulary) if config.vocabulary else shipped()
    intents = [
        intent_of(book.id, book.asks, book.slots, changes(book, facts), words) for book in books if book.asks
    ]
    return World(grammar(intents, words), lexicon(config.inventory, _choices(books), words), config)


def changes(book: Runbook, facts: Iterable[Fact]) -> bool:
    """Whether any of its calls changes something, as the contracts say; what no contract speaks of does."""
    known = {(worker, action): changing for worker, action, changing in facts}
    steps = [*book.plan.get("steps", ()), *book.plan.get("rollback", ())]
    return any(known.get((step["worker"], step["action"]), True) for step in steps)


def _choices(books: Sequence[Runbook]) -> Iterator[tuple[str, str, str]]:
    """The choices and synonyms of slots, as (table, said, meant)."""
    for book in books:
        for name, slot in book.slots.items():
            yield from ((f"={name}", choice, choice) for choice in slot.choices)
            yield from ((f"={name}", said, meant) for said, meant in slot.synonyms.items())
