"""The files that go with a plan's thread: which ones, what stands in them, and what of a disk may be read."""

import re
from pathlib import Path

from bot.cards.face.durations import informed, learnt
from bot.cards.face.lines import title
from bot.cards.face.long_plan import in_full, named
from bot.cards.summary import lengthy, results, results_file
from bot.cards.timeline import timeline
from storage.database.tables import Event, Message
from storage.extras import missing
from storage.intention import Intention
from storage.private_files import open_plain
from storage.reading.plan_view import PlanView

LARGEST_LOG = 1_000_000
MACHINE = {".xml", ".json"}  # what programs read, such as the report of a test run


def attachments(kind: str, view: PlanView, event: Event | None) -> list[tuple[str, str]]:
    """(key, path) of the files that go with a thread message: logs of a failure; at the end, the timeline."""
    if kind == "summary" and len(view.steps) > 1 and any(step.started_at for step in view.steps):
        made = {f"timeline:{view.id}": not missing("PIL"), f"results:{view.id}": lengthy(view)}
        return [(key, "") for key, wanted in made.items() if wanted]
    key = str(event.data.get("step")) if event and event.verb == "fail" else ""
    report = view.step(key).report if view.has(key) else None
    if kind != "outcome" or report is None or event is None:
        return []
    logs = [path for path in report.artifacts if path and Path(path).suffix not in MACHINE]
    return [(f"log:{view.id}:{event.seq}:{n}", path) for n, path in enumerate(logs[:3])]


def content(store: Intention, message: Message, view: PlanView, artifacts: Path | None) -> tuple[str, bytes]:
    """The name and bytes of a file: a step's log by its path, or what is made of the plan."""
    if message.text:
        return _log(store, message, view, artifacts)
    kind = message.key.partition(":")[0]
    if kind == "runbook":
        event = store.event(message.plan_id, message.seq)
        data = event.data if event else {}
        return f"{data.get('name', 'runbook')}.yml", str(data.get("text", "")).encode()
    if kind == "timeline":
        lately = informed(view, store.contracts())
        known = {s.spec.id: took for s in view.steps if (took := learnt(lately, s.spec)) is not None}
        return f"plan-{view.id}-timeline.png", timeline(view, known)
    name, text = (named(view), in_full(view)) if kind == "plan" else (results_file(view), results(view))
    return name, store.redact.text(text).encode()


def _log(store: Intention, message: Message, view: PlanView, artifacts: Path | None) -> tuple[str, bytes]:
    """A log is called as the step that wrote it."""
    text = read_log(message.text, artifacts) if artifacts else ""
    event = store.event(message.plan_id, message.seq)
    key = str(event.data.get("step")) if event else ""
    named = title(view, view.step(key).spec) if view.has(key) else "log"
    number = int(message.key.rpartition(":")[2]) + 1
    name = "-".join(re.findall(r"[\w.]+", named.lower()))[:60].strip("-.") or "log"
    return f"{name}{f'-{number}' if number > 1 else ''}.txt", store.redact.text(text).encode()


def read_log(path: str, root: Path) -> str:
    """The text, if it is a plain file of bounded size under the root; "" for everything else.

    A report must not make the bot show a file of its own, such as a key: no link is followed.
    """
    try:
        with open(open_plain(Path(path).absolute(), root.resolve()), "rb") as file:
            text = file.read(LARGEST_LOG + 1)
    except (OSError, ValueError):
        return ""
    return text.decode(errors="replace") if len(text) <= LARGEST_LOG else ""
