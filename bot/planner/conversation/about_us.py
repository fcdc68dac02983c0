"""Questions about us and our plans: which of them words ask. Pure."""

import re

from bot.planner.conversation.speech import bare

IS = (
    r"(?:what(?:'s| is| are)?|which plans(?: are)?|anything|any plans?|is anything|is there anything|"
    r"show(?: me)?(?: what(?:'s| is))?)"
)
LATELY = r"(?: (?:last night|yesterday|today|overnight|lately))?"
QUESTIONS: dict[str, tuple[str, ...]] = {
    "waiting": (
        rf"{IS} (?:waiting|waits|pending|open) (?:for|on) me|{IS} for me(?: to (?:do|approve|decide))?",
        r"(?:what|which plans) (?:do i need to|must i|should i|can i) (?:approve|decide|answer|review)",
        r"(?:what|which plans) needs? (?:me|my (?:approval|answer|decision))|my (?:approvals|inbox|tasks)",
    ),
    "running": (
        rf"{IS} (?:running|under way|in progress|going on|happening)(?: now| right now| at the moment)?",
    ),
    "mine": (
        r"(?:show |list |what are )?(?:me )?my (?:plans|requests)|what (?:did|have) i ask(?:ed)?(?: for)?",
    ),
    "lately": (rf"what (?:ran|happened|was done|did you do|has run|was deployed){LATELY}",),
    "approvers": (
        r"who (?:can|may|must|is allowed to|needs to) approve(?: (?:things|plans|here|changes))?",
        r"who are the approvers",
    ),
    "all": (r"(?:(?:what(?:'s| is) )?(?:the |your )?)?status|any (?:news|updates?)",),
    "joke": (r"(?:tell|know|give)(?: me| us)?(?: a| another| any)? jokes?|do you know (?:a|any) jokes?",),
    "reminder": (r"remind (?:me|us)(?: .*)?|set (?:a|me a) reminder(?: .*)?",),
    "help": (
        r"what (?:can|do) you do|what can i (?:ask|say|do)|how (?:do|does) (?:you|this|it) work",
        r"what are you(?: for)?|who are you|how (?:do|can) i use (?:you|this|it)|help me out",
    ),
}


def asked_of(text: str) -> str:
    """What is asked about us, or ""."""
    said = bare(text)
    return next(
        (name for name, listed in QUESTIONS.items() if any(re.fullmatch(one, said) for one in listed)), ""
    )
