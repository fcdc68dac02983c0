"""The stage of the demo's stories: who acts, what is said about it, and how long a person has to read it."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.local.client.person import Person, WorkspaceClient
from storage.intention import Intention
from storage.reading.plan_view import PlanView

ANN, BOB, CAROL = "U0ANN", "U0BOB", "U0CAROL"
SHORTEST, LETTERS = (
    2.5,
    17.0,
)  # seconds that a caption stands at least, and letters that a person reads in one
PATIENCE = 90.0


@dataclass
class Stage:
    """Acts go through the workspace as a person's would; only the captions are the demo's own."""

    store: Intention
    workspace: Callable[[], WorkspaceClient]
    pace: float = 1.0  # 0 is as fast as it goes
    of: int = 0
    number: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    def person(self, user: str) -> Person:
        return self.workspace().person(user)

    def say(self, text: str, *, me: str = "", thread: str = "") -> None:
        """A caption, and the time to read it."""
        self.number += 1
        self.workspace().caption(text, me=me, thread=thread, number=self.number, of=self.of)
        self.over.wait(self.pace * max(SHORTEST, len(text) / LETTERS))

    def clear(self) -> None:
        self.workspace().caption()

    def asks(self, user: str, words: str) -> PlanView:
        """Somebody says this; the plan that comes of it."""
        known = {plan.id for plan in self.store.recent(5)}
        self.person(user).says(words)
        return self.until(lambda plan: plan.id not in known and bool(plan.card), f"a card for “{words}”")

    def until(self, look: Callable[[PlanView], bool], what: str) -> PlanView:
        """The newest plan, as soon as it looks so."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not self.over.is_set():
            if (found := self.store.recent(1)) and look(found[0]):
                return found[0]
            time.sleep(0.1)
        raise TimeoutError(f"The story waited in vain for {what}.")

    def approves(self, user: str, plan: PlanView) -> None:
        self.person(user).clicks("approve", message=plan.card)
        self.until(lambda now: now.state != "proposed", "the approval")

    def ends(self) -> PlanView:
        return self.until(lambda plan: str(plan.state) == "done", "the end of the plan")
