"""What a row of the outbox is: its kinds, the call of Slack that it takes, its barest words. Pure."""

import json

from bot.slack.pace import POST, UPDATE
from bot.untrusted import clip
from storage.database.tables import Message
from storage.exchange.outbox import Due
from storage.reading.plan_view import PlanView

PLAIN = {"react", "unreact", "say", "stop", "resume", "glass", "recurring"}
PERSONAL = {"whisper", "choose", "tell", "home", "enter"}
TOLD = {"card", "question", "decision", "summary"}  # what is told of at all where others read
ASKING = {"outcome", "question", "review"}  # with buttons, they wait for a person: the channel sees them
METHODS = {"home": "views.publish", "whisper": "chat.postEphemeral", "choose": "chat.postEphemeral",
           "enter": "chat.postEphemeral",
           "react": "reactions.add",
           "unreact": "reactions.remove",
           "file": "files.completeUploadExternal"}  # fmt: skip
BARELY = "barely: "  # before the problem of a message that is now said without being drawn


def method(message: Message | Due) -> str:
    """The call of Slack that this message takes: a shown one is changed."""
    return METHODS.get(message.kind) or (UPDATE if message.ts else POST)


def barely(message: Message) -> bool:
    """Whether it is now said without being drawn."""
    return bool(message.tries) and message.problem.startswith(BARELY)


def bare(message: Message) -> str:
    """What can be said of a message that cannot be drawn."""
    if message.kind == "enter":
        return "I could not hand you the way to the board. Please ask for it again: `/plan board`"
    if not message.plan_id or message.text:
        return clip(message.text, 3000)
    what = f"plan {message.plan_id}" if message.kind == "card" else f"what happened in plan {message.plan_id}"
    return (
        f":warning: I cannot draw {what} here. Nothing else changes, and nothing can be pressed. "
        f"`signoff show {message.plan_id}` shows it to an operator."
    )


def calls_to(message: Message) -> int:
    """The plan whose decision this asks one person for; 0 for every other message."""
    what, _, more = message.key.partition(":")
    return int(more.partition(":")[0]) if message.kind == "tell" and what in {"waits", "half", "late"} else 0


def said_alone(message: Message) -> str:
    """The words of an answer to one person."""
    return str(json.loads(message.text)["text"]) if message.kind == "choose" else message.text


def file_key(view: PlanView) -> str:
    """Under which the file with a whole revision is sent."""
    return f"plan:{view.id}:{view.revision}"
