"""What thoughts that are under way have set aside of their budgets, so that calls at once hold them, too."""

from dataclasses import dataclass, field
from threading import Condition

AT_MOST = 1.0  # USD that all calls for one thought may cost, repairs included


@dataclass
class Purse:
    """What is set aside by the thoughts that are under way: for whom, and in all."""

    room: Condition = field(default_factory=Condition)
    aside: list[tuple[int, str]] = field(default_factory=list)

    def beside(self, plan_id: int, user: str) -> tuple[float, float, float]:
        """What others have set aside of this plan's, this person's and everybody's budget."""
        mine = (
            sum(plan == plan_id for plan, _ in self.aside),
            sum(who == user for _, who in self.aside),
            len(self.aside),
        )
        return mine[0] * AT_MOST, mine[1] * AT_MOST, mine[2] * AT_MOST
