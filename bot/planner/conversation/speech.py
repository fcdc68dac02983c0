"""Speech acts that are said whole: cancelling, approving words, thanks, once more, the way back."""

import re
from collections.abc import Iterable
from functools import cache

from bot.planner.conversation.acts import Act, Kind
from bot.planner.conversation.listed import phrases
from bot.planner.language.lexicon.names import mistyped
from bot.planner.language.lexicon.plain import plain

LONGEST = 300  # characters; a longer text is talk
KINDS: tuple[Kind, ...] = ("cancel", "approving", "thanks", "hello", "retry", "again", "undo")
REPEATED = frozenset({"approving", "thanks"})  # “lgtm 👍”, “yes, ship it!”
WAIT = Act(
    "unclear",
    asks="It goes on until somebody cancels it. To move it, say when, as in “make it 3am”.",
    choices=(("Cancel Plan", "cancel"),),
)


SLIP = Act("unclear", asks="Shall it be cancelled?", choices=(("Cancel Plan", "cancel"),))


@cache
def said_as(*names: str) -> str:
    """A pattern for any phrase of these lists."""
    things = _either(phrases()["things"])
    made = (re.escape(one) for name in names for one in phrases()[name])
    whole = (one.replace(r"\ \{thing\}", f"(?: {things})?").replace(r"\{it\}", things) for one in made)
    return f"(?:{'|'.join(sorted(whole, key=len, reverse=True))})"


def _either(texts: Iterable[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, sorted(texts, key=len, reverse=True)))})"


@cache
def _polite() -> tuple[re.Pattern[str], re.Pattern[str]]:
    words = said_as("polite")
    return re.compile(rf"^(?:{words}(?![\w'])[,:.!]* *)+"), re.compile(rf"(?:[ ,]+{words}(?![\w']))+$")


@cache
def _praise() -> re.Pattern[str]:
    turn, praise = said_as("turns"), said_as("approving", "mild")
    behind = rf"(?: *[,.!;:]+ *(?:{turn}\b[ ,]*)?| +[-–]+ +| +{turn}\b[ ,]*| +and +(?=can|could|please|let))"
    return re.compile(rf"^(?:{praise}{behind})+")


def normal(text: str) -> str:
    """The words in lower case, without markup, mentions and marks at the end."""
    said = re.sub(r"@[\w.-]+|:rocket:|🚀", " ", plain(text).text.lower())
    return " ".join(said.split()).strip(" .!,;…")


def bare(text: str) -> str:
    """The same without politeness before and behind."""
    said = normal(text).rstrip("? ")
    head, tail = _polite()
    shorter = tail.sub("", head.sub("", said)).strip(" ,.!")
    return shorter or said


def unpraised(text: str) -> str:
    """What is said after “looks good, but”; the praise approves nothing."""
    said = normal(text)
    rest = _praise().sub("", said)
    return rest if rest and rest != said else text


def whole(text: str) -> Act | None:
    """The act that these words are as a whole, if they are one."""
    if len(text) > LONGEST:
        return None
    said = {one.replace(",", "") for one in (normal(text).rstrip("? "), bare(text))}
    for kind in KINDS:
        one_way = rf"{said_as(kind)}(?:[ .!,]+{said_as(kind)})*" if kind in REPEATED else said_as(kind)
        if any(re.fullmatch(one_way, one) for one in said):
            return Act(kind)
    if any(re.fullmatch(said_as("pause"), one) for one in said):
        return WAIT
    return SLIP if any(_slips(one) for one in said) else None


def _slips(said: str) -> bool:
    """“cancle it”: a slip of the word that ends a plan, and nothing else."""
    first, _, rest = said.partition(" ")
    ends = mistyped(first, ("cancel", "abort", "withdraw"))
    return bool(ends) and (not rest or rest in phrases()["things"])
