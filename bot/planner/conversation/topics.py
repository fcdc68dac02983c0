"""Questions about a plan: which of its facts is asked for. What names none of them is left to people."""

import re

from bot.planner.conversation.acts import Act
from bot.planner.conversation.pointing import NUMBERS, ORDINALS
from bot.planner.conversation.speech import bare, normal

ASKS = re.compile(
    r"^(?:who|whom|whose|why|when|what|what's|whats|which|where|how|how's|is|are|was|were|does|did|will|"
    r"do(?! not)|would|can|has|have|status|progress|eta|any (?:news|update)s?|update|"
    r"wer|warum|wieso|wann|was|wie|quién|quien|por qué|cuándo|cuando|qué|cómo)\b"
)
# A question to other people: what they think, or what they know.
PEOPLE = re.compile(
    r"\b(?:should|shall|shouldn't|anyone|anybody|you guys|do you|did you|have you|are you|somebody|who wants|"
    r"what do you|thoughts|opinions?)\b"
)
STEP = re.compile(
    rf"\bstep[ -]?#?(?P<number>\d+|{'|'.join(NUMBERS)})\b|\b(?P<place>{'|'.join(ORDINALS)}|last) step\b"
)
CLOCK = r"\b\d{1,2}(?::\d\d)?(?:am|pm)\b|\b\d{1,2}:\d\d\b|\b(?:tonight|tomorrow|today|window)\b"
# The first that fits is meant: what has failed before what may fail, the time before how it stands.
TOPICS: dict[str, tuple[str, ...]] = {
    "failure": (
        r"\b(?:why|what|how come|warum|por qué)\b.*\b(?:failed|went wrong|broke|happened|falló)\b",
        r"\bwhy\b.*\bdid (?:it|this|that|the \w+) (?:fail|break)\b",
        r"^what(?:'s| is) wrong\b",
    ),
    "fails": (
        r"\b(?:if|when|falls|si)\b.*\b(?:fails?|goes wrong|breaks?|scheitert|falla)\b",
        r"\b(?:if|when)\b.*\bdoes(?:n't| not) work\b",
    ),
    "rollback": (
        r"\b(?:roll(?:ed|s)? ?back|rollback|undone|undo|reverted|reversible|way back|go(?:es)? back)\b",
    ),
    "changed": (r"\b(?:changed?|different|differences?|diff|new in (?:this|revision))\b",),
    "risk": (r"\b(?:risk|risky|dangerous|high|safe|riesgo|risiko)\b",),
    "who": (
        r"\b(?:who|whom|wer|quién|quien)\b.*\b(?:approv\w*|signs? off|decide\w*|allowed|may|can|must)\b",
        r"\b(?:who|whom|wer|quién|quien)\b.*\b(?:needs?|wait\w*|for|freigeben|genehmigen|aprobar)\b",
        r"\bapprovers?\b|\bwhose approval\b|\bwait(?:s|ing) (?:on|for) whom?\b",
        r"\bwhat(?:'s| is) it waiting for\b",
    ),
    "long": (
        r"\bhow (?:long|many minutes|much time)\b",
        r"\b(?:duration|eta|take long|wie lange|cuánto (?:tarda|dura))\b",
    ),
    "when": (
        rf"^(?:is|are|will|does|was)\b.*(?:{CLOCK})",
        r"\b(?:when|what time|which day|wann|cuándo|a qué hora)\b",
    ),
    "status": (
        r"\b(?:status|progress|how(?:'s| is| are| far| did)?|going|doing|far|done|finished|ready|running)\b",
        r"\b(?:worked|succeeded|successful|passed)\b",
        r"^(?:did|does) (?:it|this|that|the \w+) (?:work|succeed|pass)\b",
        r"\b(?:started|over|news|updates?|happening|where are we|stand|state|approved|wie|läuft|cómo va)\b",
    ),
    "what": (r"^what(?:'s)?\b.*\b(?:do|does|happens?|this|it|plan|going to|run)\b",),
}
COMPILED = {name: re.compile("|".join(patterns)) for name, patterns in TOPICS.items()}
LONE = {
    "why": "risk", "warum": "risk", "who": "who", "when": "when", "wann": "when", "how long": "long",
    "eta": "long", "status": "status", "progress": "status", "update": "status", "any update": "status",
    "any news": "status", "what": "what",
}  # fmt: skip


def question(text: str) -> Act | None:
    """A question about this plan, if it is one: a question word, and a fact of the plan."""
    said, short = normal(text), bare(text)
    if short in LONE:
        return Act("question", topic=LONE[short])
    if not (said.endswith("?") or ASKS.match(short)) or PEOPLE.search(short):
        return None
    topic = next((name for name, pattern in COMPILED.items() if pattern.search(short)), "")
    if found := STEP.search(short):
        step = found["number"] or found["place"]
        about = topic if topic in {"failure", "fails", "when", "long"} else "step"
        return Act("question", topic=about, step=str(NUMBERS.get(step, ORDINALS.get(step, step))))
    return Act("question", topic=topic) if topic else None
