"""Plans to draw, the worst words to draw them with, and what to look for in what was drawn."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from bot.cards.card import PLAINER, WORDS, card
from bot.cards.thread import message
from storage.contract.report import AnyReport
from storage.contract.states import PlanState, StepState
from storage.database.tables import Event
from storage.reading.plan_view import PlanView, StepView
from tests.support.fakes import CONTRACTS, NOW, plan_spec, step

Json = dict[str, Any]
EVIL = "<!channel> <!here> <@UEVIL> <https://evil.example|Approve> *bold* `code` & \u202e\u200b\x00\x1b[31m"
HUGE = EVIL * 200  # about 20 kB
KINDS = {"outcome": ["succeed", "fail"], "question": ["lose", "stall"], "summary": ["finish"],
         "decision": ["approve", "reject", "withdraw", "expire", "cancel"], "changes": ["amend"]}  # fmt: skip


def plan_view(*steps: StepView, **fields: Any) -> PlanView:
    spec = plan_spec(*(found.spec for found in steps), goal=fields.pop("goal", "Deploy a"))
    given: Json = {
        "id": 1, "state": PlanState.proposed, "version": 3, "text": "deploy a", "team": "T1",
        "requester": "UANN", "channel": "C1", "thread": "", "card": "", "outcome": "", "reason": "",
        "created_at": NOW, "revision": 1, "spec": spec, "digest": spec.digest(), "risk": "high",
        "reasons": ("it changes a",), "needed": 1, "approvers": ("UBOB",), "authors": ("UANN",),
        "seconds": 60.0, "author": "UBOB", "expires_at": NOW + timedelta(hours=1),
        "contracts": {(made.worker, made.action): made for made in CONTRACTS.values()},
        "steps": steps or tuple(StepView(found) for found in spec.steps),
    }  # fmt: skip
    return PlanView(**given | fields)


def happening(verb: str, **data: Any) -> Event:
    return Event(plan_id=1, seq=1, at=NOW, verb=verb, actor="UBOB", data=data, prev="", hash="")


def hostile(text: str, count: int = 3, **fields: Any) -> PlanView:
    """Every place where foreign words can stand holds this text."""
    report = AnyReport.failed(text, recommendations=(text, text))
    steps = [
        StepView(
            step(f"s{number}", purpose=text, parameters={"service": text}, schedule={"at": text}),
            state=list(StepState)[number % len(StepState)],
            report=report,
            choices=("retry", "skip", "rollback", "abort") if number == 3 else (),
        )
        for number in range(count)
    ]
    given: Json = {
        "text": text, "goal": text, "reason": text, "note": text, "reasons": (text,), "changes": (text, text),
        "outcome": "failed", "lost": (text,), "outdated": (text,), "ahead": (text,),
    }  # fmt: skip
    return plan_view(*steps, **given | fields)


def messages(view: PlanView, text: str = "x") -> Iterator[tuple[str, list[Json]]]:
    """Every message that could be made of a view."""
    yield card(view, NOW)
    yield card(view, NOW, workers=False)
    yield card(view, NOW, plainness=PLAINER)
    yield card(view, NOW, plainness=WORDS)
    data = {"summary": text, "reason": text, "changes": [text], "given": 1, "needed": 2, "revision": 1}
    for kind, verbs in KINDS.items():
        for verb in verbs:
            for found in view.steps[:7] or (None,):
                more = {"step": found.spec.id} if found and kind in {"outcome", "question"} else {}
                if found or kind != "outcome":
                    yield message(kind, view, happening(verb, **data, **more), NOW)


def markup(node: Any) -> Iterator[str]:
    """Every text in which Slack looks for mentions and links."""
    if isinstance(node, list):
        for part in node:
            yield from markup(part)
    elif isinstance(node, dict):
        if node.get("type") == "mrkdwn":
            yield node["text"]
        for part in node.values():
            yield from markup(part)


def harmless(text: str) -> bool:
    return not any(
        sign in text for sign in ("<!channel", "<!here", "<!everyone", "<@UEVIL", "<http", "\u202e")
    )


def buttons(blocks: list[Json]) -> list[str]:
    return [made["action_id"] for block in blocks if block["type"] == "actions" for made in block["elements"]]


def strings(node: Any) -> Iterator[str]:
    """Every text of a message, wherever it stands."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, list | tuple | dict):
        for part in node.values() if isinstance(node, dict) else node:
            yield from strings(part)
