"""How good a worker is for the people who approve its steps: bronze, silver, gold, rule by rule. Pure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from workers.base import Action, Worker
from workers.kit.promises import findings
from workers.registry import actions

Grade = Literal["", "bronze", "silver", "gold"]
GRADES: tuple[Grade, ...] = ("bronze", "silver", "gold")


@dataclass(frozen=True)
class Rule:
    """What each action that it speaks of must have."""

    grade: Grade
    words: str
    speaks_of: Callable[[Action], bool]
    keeps: Callable[[Action, "Offered"], bool]


Offered = dict[str, Action]


@dataclass(frozen=True)
class Verdict:
    """One rule on one worker; `lacking` are the actions that break it."""

    grade: Grade
    words: str
    lacking: tuple[str, ...]

    def __str__(self) -> str:
        sign, missing = ("✗", f": not {', '.join(self.lacking)}") if self.lacking else ("✓", "")
        return f"{sign} {self.grade:<7}{self.words}{missing}"


def _changes(action: Action) -> bool:
    return action.changes


def _any(action: Action) -> bool:
    return True


def _said(action: Action, offered: Offered) -> bool:
    return bool(action.says)


def _told(action: Action, offered: Offered) -> bool:
    return bool((action.run.__doc__ or "").strip())


def _placed(action: Action, offered: Offered) -> bool:
    return bool(action.target)


def _found_out(action: Action, offered: Offered) -> bool:
    return action.repeat == "safe" or "probe" in action.hooks


def _shown(action: Action, offered: Offered) -> bool:
    return "preview" in action.hooks


def _checked(action: Action, offered: Offered) -> bool:
    return bool(action.criteria)


def _returns(action: Action, offered: Offered) -> bool:
    return bool(action.undo) or any(offered.get(one.undo) is action for one in offered.values())


def _concluded(action: Action, offered: Offered) -> bool:
    return bool(action.leaves)


RULES = (
    Rule("silver", "each action says in a line what it would do", _any, _said),
    Rule("silver", "each action has words of its own for planners", _any, _told),
    Rule("silver", "what changes something names its target", _changes, _placed),
    Rule("silver", "after a crash inside it one finds out: safe to repeat, or a probe", _any, _found_out),
    Rule("gold", "what changes something shows first what it would do", _changes, _shown),
    Rule("gold", "what changes something has checks by name", _changes, _checked),
    Rule("gold", "what changes something has a way back, or is one", _changes, _returns),
    Rule("gold", "what changes something says what is true afterwards", _changes, _concluded),
)


def verdicts(worker: Worker) -> Iterator[Verdict]:
    """Rule by rule, the easier grades first."""
    wrong = {
        found.place.partition(".")[2] or found.place for found in findings(worker) if found.level == "error"
    }
    yield Verdict("bronze", "the contract holds", tuple(sorted(wrong)))
    offered = actions(worker)
    for rule in RULES:
        lacking = [
            name for name, one in offered.items() if rule.speaks_of(one) and not rule.keeps(one, offered)
        ]
        yield Verdict(rule.grade, rule.words, tuple(sorted(lacking)))


def grade(found: list[Verdict]) -> Grade:
    """The highest whose rules are kept, with those of all below it."""
    best: Grade = ""
    for one in GRADES:
        if any(verdict.lacking for verdict in found if verdict.grade == one):
            break
        best = one
    return best
