"""What the rules of policy ask for one revision: kept with it, and shown before anybody clicks."""

from collections.abc import Collection, Iterable
from typing import Literal

from pydantic import Field

from storage.contract.capability import Document

Part = Literal["window", "freeze", "approvals"]


class Quorum(Document):
    """So many people out of these: Slack user ids and group ids."""

    needed: int
    of: tuple[str, ...]
    general: bool = False  # the approvers, whoever they are by the time
    why: str = ""

    def short(self, given: Iterable[Collection[str]]) -> int:
        """How many are still missing; each of those given is the ids a person held when they approved."""
        return max(0, self.needed - sum(self.general or bool({*self.of} & {*held}) for held in given))


class Overridable(Document):
    """What these people may override in an emergency."""

    part: Part
    of: tuple[str, ...]


class Demands(Document):
    """Everything that a number of approvals does not say."""

    quorums: tuple[Quorum, ...] = ()
    second_factor: bool = False  # every approval needs one
    read: bool = Field(default=False, exclude_if=lambda given: not given)  # every approver opens Details
    authors: bool = False  # they may approve, too
    denied: tuple[str, ...] = ()  # why nobody may approve it
    said: tuple[str, ...] = ()  # what the rules say, each with its reason
    glass: tuple[Overridable, ...] = ()


NOTHING = Demands()


def read(stored: str) -> Demands:
    """As it was kept; what cannot be read was changed behind our back, and lets nobody approve."""
    try:
        return Demands.model_validate_json(stored) if stored else NOTHING
    except ValueError:
        return Demands(denied=("what its policy asked for was changed behind the bot's back",))
