"""Courtesy that is built, not listed: “if you'd be so kind”, “it would be great if you could”."""

import re
from collections.abc import Mapping, Sequence

from bot.planner.language.lexicon.words import Word

YOU = r"(?:you|u|somebody|someone|anybody|anyone)(?:'d|'re|'ve)?"
HAVE = "would|could|can|are|be|have|had|get|got|find|found|feel"
FILL = rf"(?: (?:{HAVE}|so|very|really|a|the|any|some|spare|free|like))*"
FREE = r"(?:kind|ready|time|minute|min|moment|chance|free|sec|second|able|nice|good|bored|mind|it|well)"
EASY = r"(?:ok|okay|possible|convenient|no trouble|no bother|not too much (?:trouble|to ask)|alright)"
GLAD = r"(?:grateful|thankful|glad|happy|obliged|delighted)"
FINE = r"(?:great|nice|good|lovely|awesome|wonderful|super|cool|helpful|perfect|fantastic|appreciated)"
COULD = rf" if (?:{YOU}|we|i)(?: could| can| would| might)?"
PATTERNS = re.compile(
    rf"(?<!\S)(?:(?:if|when|whenever) {YOU}{FILL} {FREE}(?: to spare| for it| now)?"
    rf"|if (?:at all )?possible|be an? (?:star|dear|hero|angel|champ|darling|pal|sport|good sport) and"
    r"|sorry (?:for|about) (?:the |this |that |all the )?(?:noise|trouble|bother|mess|rush|ping|spam)"
    r"(?: ,? ?but)?|sorry to (?:bother|interrupt|disturb)(?: you)?(?: ,? ?but)?"
    rf"|if (?:it|that|this)(?:'s| is|'d be| would be|'s not| is not| isn't)? {EASY}(?: for you| with you)?"
    rf"|(?:it|that|this)(?:'d| would| will|'ll) be (?:really |very |so |just )?{FINE}(?:{COULD}| to)?"
    rf"|i(?:'d| would) be (?:very |so |really |much |most )?{GLAD}(?: for|{COULD}| to get| to have)?"
    rf"|i(?:'d| would) (?:really )?appreciate(?: it)?{COULD}"
    r"|pretty please|heya|howdy|thanks a (?:million|ton|bunch|lot)|many thanks(?: in advance)?)(?= |$)"
)


def courtesies(words: Sequence[Word], taken: Mapping[int, str]) -> dict[int, str]:
    """The words of every courtesy that has a known build; none that holds a name or a time."""
    line, places = "", list[int]()
    for index, word in enumerate(words):
        text = "\x00" if index in taken else word.text
        line += f"{text} "
        places += [index] * (len(text) + 1)
    found = (range(match.start(), match.end()) for match in PATTERNS.finditer(line.rstrip()))
    return {places[offset]: "polite" for span in found for offset in span if offset < len(places)}
