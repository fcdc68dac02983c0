"""The people of the soak: one asks, one approves and answers, and both only look at Slack and at a file."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from bot.local.client.person import Button, WorkspaceClient
from bot.local.people.inputs import find
from bot.local.server import LocalSlack
from bot.local.shapes import Json, Refused
from storage.contract.states import PlanState, StepState
from storage.errors import SignoffError
from storage.reading.plan_view import PlanView
from tests.soak.fleet import Fleet
from tests.support.store import Store

ROOMS = 20
WISH = "note number {}"
MOST = 60  # plans that are open at once


@dataclass
class Crowd:
    """What people did, and how long they waited to be asked."""

    slack: LocalSlack
    store: Store
    fleet: Fleet
    acked: dict[int, bool] = field(default_factory=dict)
    waiting: dict[tuple[int, str], float] = field(default_factory=dict)  # questions that nobody sees yet
    waited: list[float] = field(default_factory=list)
    open: int = 0  # plans
    over: threading.Event = field(default_factory=threading.Event)
    stumbles: Counter[str] = field(default_factory=Counter)  # acts of people that failed, by why

    def __post_init__(self) -> None:
        self.workspace: WorkspaceClient = self.slack.client(patience=300.0)

    def ask(self, wishes: int, seconds: float) -> None:
        """So many wishes, evenly over the time. What Slack could not deliver, a person does not repeat.

        On a machine that cannot keep up people wait: then there are fewer, and that is said.
        """
        began, ann = time.monotonic(), self.workspace.person("U0ANN")
        for number in range(wishes):
            time.sleep(max(0.0, began + seconds * number / wishes - time.monotonic()))
            while self.open > MOST and time.monotonic() < began + seconds:
                time.sleep(0.5)
            if time.monotonic() > began + seconds:
                return
            self.acked[number] = False
            with suppress(Refused, OSError):
                said = ann.says(f"/plan {WISH.format(number)}", channel=f"C{number % ROOMS:03}")
                self.acked[number] = said.acked

    def decide(self) -> None:
        """Until it is over: approve what is proposed, answer what is asked. What fails holds up nobody."""
        while not self.over.wait(0.2):
            plans: list[PlanView] = []
            with self._stumbling():
                plans = self.store.open_plans()
                self.open = len(plans)
            for view in plans:
                with self._stumbling():
                    self.look_at(view)

    @contextmanager
    def _stumbling(self) -> Iterator[None]:
        """While processes and the database come and go, an act may fail; it is tried again, and counted."""
        try:
            yield
        except (SignoffError, Refused, OSError, AssertionError) as error:
            self.stumbles[f"{type(error).__name__}: {error}"[:80]] += 1

    def look_at(self, view: PlanView) -> None:
        if view.state == PlanState.proposed and view.card:
            self._press(view, "approve")
        for step in view.steps:
            if step.state == StepState.unknown and not step.probing:
                self._resolve(view, step.spec.id)
            else:
                self.waiting.pop((view.id, step.spec.id), None)

    def _resolve(self, view: PlanView, key: str) -> None:
        """By what the file says; how long the question took to be shown is put down."""
        since = self.waiting.setdefault((view.id, key), time.monotonic())
        name = view.step(key).spec.parameters["name"]
        ran = f"effect {name}" in self.fleet.lines()
        if self._press(view, "resolve_ran" if ran else "resolve_did_not", f"resolve_{key}"):
            self.waited.append(time.monotonic() - since)
            self.waiting.pop((view.id, key))

    def _press(self, view: PlanView, action: str, block: str | None = None) -> bool:
        """Whether there was such a button to press."""
        thread: list[Json] = self.workspace.thread(view.card, view.channel) if view.card else []
        for message in reversed(thread):
            if found := find(message.get("blocks", []), action, block):
                button = Button(message["ts"], view.channel, found[0]["block_id"], found[1])
                self.workspace.person("U0BOB").clicks(button)
                return True
        return False


def running(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread
