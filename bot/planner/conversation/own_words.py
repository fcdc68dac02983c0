"""The words that are said to us: `list`, `cancel 7`, `stop everything`. Everything else is a wish. Pure."""

import re
from dataclasses import dataclass
from typing import Literal

from bot.planner.conversation.about_us import asked_of
from bot.planner.conversation.speech import whole
from bot.planner.language.lexicon.names import mistyped

# With more words behind them, they begin a wish.
BARE = frozenset({"help", "list", "runbooks", "windows", "hi", "hello", "hey", "thanks", "thank", "thx"})
LOOKS = BARE | {"show", "schedules", "board", "runbook"}  # they decide nothing
DECIDES = frozenset({"cancel", "approve", "stop", "resume", "break-glass", "reviewed", "every"})
OWN = LOOKS | DECIDES
NOISE = frozenset({"me", "you", "please", "there", "signoff", "all"})
SCOPE = re.compile(r"^(everything|plan \d+|environment [\w-]+|all changes|changes in [\w-]+)\b\s*", re.I)
BOARD = re.compile(r"(?:#?\d{1,9}|token\b.*|end\b.*)?", re.I)  # what is said of it; else it is a wish
HANDED = re.compile(r"(?:test|export|import)\b|$", re.I)
NUMBERED = re.compile(r"^(?:plan )?#?(?P<number>\d+)(?=\s|$)", re.I)
LAST = re.compile(r"^(?:my |the )?(?:last|latest)(?: (?:plan|one))?$", re.I)


@dataclass(frozen=True)
class Opening:
    """What a message is that was said to us: an own word, a slip of one, a question about us, or a wish."""

    kind: Literal["word", "slip", "about us", "wish"]
    word: str = ""
    rest: str = ""


def opening(text: str) -> Opening:
    """How a message begins decides what it is."""
    word, rest = split_word(text)
    if not word:
        return Opening("word", "help")
    word = "show" if word == "status" and NUMBERED.match(rest) else word
    if is_own_word(word, rest):
        return Opening("word", word, rest)
    if meant := meant_word(word, rest):
        return Opening("word" if meant in LOOKS else "slip", meant, rest)
    said = whole(text)
    if said and said.kind in {"hello", "thanks"}:
        return Opening("word", said.kind)
    topic = asked_of(text)
    return Opening("about us", topic) if topic else Opening("wish")


def split_word(text: str) -> tuple[str, str]:
    """The first word, as it is looked up, and the rest."""
    word, _, rest = text.strip().partition(" ")
    return word.lower().rstrip("!?.,:"), rest.strip()


def is_own_word(word: str, rest: str) -> bool:
    """Whether this is said to us: `list` is, "list the backups of auth_prod" is a wish."""
    if word in {"cancel", "approve"}:
        return not rest or bool(NUMBERED.match(rest) or LAST.match(rest))
    if word == "board":
        return bool(BOARD.fullmatch(rest))
    if word == "runbook":
        return bool(HANDED.match(rest))
    bare = {*re.findall(r"\w+", rest.lower())} <= NOISE
    return word in OWN and (word not in BARE or bare) and (word != "show" or " " not in rest)


def meant_word(word: str, rest: str) -> str:
    """The own word that this is a slip of: “hlep”, “cancle 7”; "" where it may be a wish."""
    meant = mistyped(
        word, [known for known in OWN if known not in {"every", "thank", "show", "board", "runbook"}]
    )
    if meant not in {"cancel", "approve", *BARE}:
        return meant if NUMBERED.match(rest) or SCOPE.match(rest) else ""
    return meant if is_own_word(meant, rest) and (rest or meant in BARE) else ""


def is_no_wish(word: str, rest: str) -> bool:
    """Whether it cannot be a wish: beside `/plan`, "cancel 7" is ours, and "stop auth-service" is not."""
    if word in {"stop", "resume"}:
        return bool(SCOPE.match(rest)) or (word == "resume" and not rest)
    return word in BARE or word in {"every", "schedules", "board", "runbook"} or bool(NUMBERED.match(rest))


def label(word: str, rest: str) -> str:
    """The button that says it: “Cancel Plan 7”."""
    found = NUMBERED.match(rest)
    verb = "Open" if word == "approve" else word.capitalize()
    return f"{verb} Plan {found['number']}" if found else f"{word} {rest}".strip().title()
