"""The files that go with a thread message, and what of them may be read."""

import stat
from pathlib import Path

from storage.tables import Event
from storage.views import PlanView

LARGEST_LOG = 1_000_000


def attachments(kind: str, view: PlanView, event: Event | None) -> list[tuple[str, str]]:
    """(key, path) of the files that go with a thread message: logs of a failure; at the end, the timeline."""
    if kind == "summary" and len(view.steps) > 1 and any(step.started_at for step in view.steps):
        return [(f"timeline:{view.id}", "")]
    key = str(event.data.get("step")) if event and event.verb == "fail" else ""
    report = view.step(key).report if view.has(key) else None
    if kind != "outcome" or report is None or event is None:
        return []
    return [(f"log:{view.id}:{event.seq}:{n}", path) for n, path in enumerate(report.artifacts[:3]) if path]


def read_log(path: str, root: Path) -> str:
    """The text, if it is a plain file of bounded size under the root; "" for everything else."""
    try:
        real = Path(path).resolve(strict=True)
        facts = real.stat()
        # A report must not make the bot show a file of its own, such as a key.
        if (
            not real.is_relative_to(root.resolve())
            or not stat.S_ISREG(facts.st_mode)
            or facts.st_size > LARGEST_LOG
        ):
            return ""
        return real.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return ""
