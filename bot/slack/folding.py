"""When many lines of one thread wait, they go as one message; reads in one that grows. Pure."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from bot.cards.blocks import Block, section
from bot.slack.kinds import BARELY
from bot.slack.refusals import UNUSABLE
from storage.exchange.outbox import Due

STEPS = 12  # of a plan; of more, what only looked is told in one message that grows
BUSY = 20  # messages that wait for a channel; behind more, too
FEW = 3  # lines that are said one by one though somebody waits for what comes behind them
MOST = 150
SOON = timedelta(seconds=2)  # what was only looked up waits so long for the line that comes next
ROOM = 9_000  # characters of one message; what one of its sections takes; and its words, when it is changed
SECTION = 2_900
WORDS = 3_000


def along(first: Due, waiting: Sequence[Due], *, few: int = FEW) -> list[Due]:
    """The lines that go with this one, where there are so many: they come at the same moment anyway."""
    rest: list[Due] = []
    for one in behind(first, waiting) if is_line(first) else ():
        if not is_line(one) or one.sending or len(rest) == MOST - 1:
            break
        rest.append(one)
    return rest if len(rest) >= few else []


def ending(first: Due, waiting: Sequence[Due]) -> tuple[list[Due], Due] | None:
    """The last lines of a thread and its summary, where they wait together: they go as one message."""
    if not is_line(first) or first.sending:
        return None
    lines = [first, *along(first, waiting, few=0)]
    last = next((one for one in behind(first, waiting) if one.id > lines[-1].id), None)
    return (lines, last) if last and last.kind == "summary" and not (last.ts or _odd(last)) else None


def held(message: Due, waiting: Sequence[Due], now: datetime) -> bool:
    """Whether what was only looked up a moment ago can wait: most likely something is said at once."""
    return not message.tries and now < message.not_before + SOON and not behind(message, waiting)


def behind(first: Due, waiting: Sequence[Due]) -> list[Due]:
    """What else its thread is to be told, in its order."""
    return sorted((m for m in waiting if _says(m, first) and m.kind != "card"), key=lambda m: m.id)


def letters(first: Due, waiting: Sequence[Due]) -> list[Due]:
    """What else one person is to be told directly, and was not tried yet: a flood comes as few messages."""
    alike = (m for m in waiting if (m.kind, m.user) == (first.kind, first.user) and m.id != first.id)
    fresh = [m for m in alike if not (m.ts or m.tries or m.sending)]
    return sorted(fresh, key=lambda m: m.id)[: MOST - 1] if first.kind == "tell" and not first.tries else []


def reads(first: Due, waiting: Sequence[Due], read: Callable[[Due], bool]) -> list[Due]:
    """All that wait in this thread and only tell what was looked up: they go in the message that grows."""
    mine = (m for m in waiting if _says(m, first) and is_line(m) and not m.sending and read(m))
    return sorted(mine, key=lambda m: m.id)[: MOST - 1]


def crowded(first: Due, waiting: Sequence[Due]) -> bool:
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


def _says(message: Due, first: Due) -> bool:
    return message.plan_id == first.plan_id and message.id > first.id and message.kind != "file"


def is_line(message: Due) -> bool:
    """Whether it only tells that a step is done: no question, nothing shown already or refused as drawn."""
    return message.kind == "outcome" and not (message.urgent or message.ts or _odd(message))


def _odd(message: Due) -> bool:
    """Whether Slack has refused it as it was drawn, or it cannot be drawn."""
    odd = message.problem.startswith(BARELY) or message.problem in UNUSABLE
    return bool(message.tries) and odd
