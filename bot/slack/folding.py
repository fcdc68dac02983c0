"""When many lines of one thread wait, they go as one message; reads in one that grows. Pure."""

from collections.abc import Callable, Sequence

from bot.cards.blocks import Block, section
from bot.slack.kinds import BARELY
from bot.slack.refusals import UNUSABLE
from storage.database.tables import Message

STEPS = 12  # of a plan; of more, what only looked is told in one message that grows
BUSY = 20  # messages that wait for a channel; behind more, too
FEW = 3  # lines that are said one by one though somebody waits for what comes behind them
MOST = 100
ROOM = 9_000  # characters of one message; what one of its sections takes; and its words, when it is changed
SECTION = 2_900
WORDS = 3_000


def along(first: Message, waiting: Sequence[Message], *, tight: bool) -> list[Message]:
    """The lines that go with this one, since somebody is asked, or waits for the end, behind all of them.

    `tight`: what is said one by one now would keep the whole channel waiting, a second for each.
    """
    thread = sorted((m for m in waiting if _says(m, first)), key=lambda m: m.id) if is_line(first) else []
    rest: list[Message] = []
    for one in thread:
        if not is_line(one) or one.sending or len(rest) == MOST - 1:
            break
        rest.append(one)
    return rest if tight or len(rest) >= FEW else []


def reads(first: Message, waiting: Sequence[Message], read: Callable[[Message], bool]) -> list[Message]:
    """All that wait in this thread and only tell what was looked up: they go in the message that grows."""
    mine = (m for m in waiting if _says(m, first) and is_line(m) and not m.sending and read(m))
    return sorted(mine, key=lambda m: m.id)[: MOST - 1]


def crowded(first: Message, waiting: Sequence[Message]) -> bool:
    """Whether more wait for its channel than people can read at that moment."""
    return sum(one.channel == first.channel for one in waiting) > BUSY


def folded(lines: Sequence[str]) -> tuple[int, str, list[Block]]:
    """How many of these lines fit into one message, its words, and its blocks."""
    fit = next((n for n in range(len(lines), 1, -1) if sum(map(len, lines[:n])) + n <= ROOM), 1)
    parts: list[list[str]] = [[]]
    for line in lines[:fit]:
        if sum(map(len, parts[-1])) + len(parts[-1]) + len(line) > SECTION:
            parts.append([])
        parts[-1].append(line)
    return fit, "\n".join(lines[:fit]), [section("\n".join(part)) for part in parts if part]


def latest(text: str) -> str:
    """As many of the last lines as Slack takes for the words of a message that is changed."""
    return text if len(text) <= WORDS else "…" + text[-WORDS:].partition("\n")[2]


def _says(message: Message, first: Message) -> bool:
    return message.plan_id == first.plan_id and message.id > first.id and message.kind != "file"


def is_line(message: Message) -> bool:
    """Whether it only tells that a step is done: no question, nothing shown already or refused as drawn."""
    odd = message.problem.startswith(BARELY) or message.problem in UNUSABLE
    return message.kind == "outcome" and not (message.urgent or message.ts or (message.tries and odd))
