"""Courtesy that is built, not listed: “if you'd be so kind”, “would someone be willing to”."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from bot.planner.language.lexicon.words import Word

WHO = r"(?:you|u|somebody|someone|anybody|anyone|sb|smb|some1|any1|you guys|(?:one|any) of you|y'all)"
YOU = rf"{WHO}(?:'d|'re|'ve|'s)?"
HAVE = "would|could|can|are|be|have|had|get|got|find|found|feel|happen to"
SOFT = r"(?:please|kindly|possibly|just|also|quickly|perhaps also|so|very|really|ever so|be so)"
FILL = rf"(?: (?:{HAVE}|so|very|really|a|the|any|some|spare|free|like|it))*"
FREE = (
    r"(?:kind|ready|time|minute|min|moment|chance|free|sec|second|able|nice|good|bored|mind|it|well|please"
    r"|cycles|capacity|bandwidth|round to it|around to it|available|possible)"
)
SPARE = (
    r"(?:a|any|some|the)? ?(?:quick |spare |free )?(?:sec|second|secs|minute|min|moment|time|chance"
    r"|bandwidth|cycles)"
)
EASY = (
    r"(?:ok|okay|possible|convenient|no trouble|no bother|not too much (?:trouble|to ask)|alright|all right"
    r"|fine|cool|feasible|doable)"
)
GLAD = r"(?:grateful|thankful|glad|happy|obliged|delighted|pleased)"
FINE = (
    r"(?:great|nice|good|lovely|awesome|wonderful|super|cool|helpful|perfect|fantastic|appreciated|ideal"
    r"|brilliant|amazing|a great help|much appreciated|a lifesaver|kind of you|so kind)"
)
VERY = r"(?:(?:really|very|so|just|super|extremely|incredibly|most|quite|highly|ever so) )*"
MAY = r"(?: could| can| would| might)"
COULD = rf" if (?:{YOU}|we|i){MAY}?(?: {SOFT})*"
ABLE = (
    r"(?:willing|able|kind|nice|good|up|happy|ok|okay|open|free|available|so kind|so nice|so good|a dear"
    r"|an angel)"
)
WILLING = rf"be (?:{SOFT} )*{ABLE}(?: enough| as)?(?: to| for| and)?"
PATTERNS = re.compile(
    rf"(?<!\S)(?:(?:if|when|whenever|once) {YOU}{FILL} {FREE}(?: to spare| for it| now| left| please)?"
    r"|(?:if|when|whenever) (?:it|that|this) (?:suits|works|fits|pleases)(?: for)?(?: you)?(?: best)?"
    rf"|if (?:at all )?possible|be an? (?:star|dear|hero|angel|champ|darling|pal|sport|good sport|gem) and"
    r"|(?:so )?sorry (?:for|about) (?:the |this |that |all the )?(?:noise|trouble|bother|mess|rush|ping|spam"
    r"|short notice|delay|late notice)"
    r"(?: ,? ?but)?|sorry to (?:bother|interrupt|disturb|ask)(?: you)?(?: again)?(?: ,? ?but)?"
    r"|sorry (?:to|for|about|that)(?! not)(?: (?!not |never |no )\w[\w']*){1,6} ,? ?but"
    rf"|if (?:it|that|this)(?:'s| is|'d be| would be|'s not| is not| isn't)? {EASY}(?: for you| with you)?"
    r"|if (?:it|that|this)(?:'s| is)?(?: not|n't)? (?:too much(?: of a)? (?:trouble|to ask|bother|hassle)"
    r"|a (?:bother|problem|hassle|big deal))(?: for you)?"
    rf"|if {WHO}{MAY}(?: {SOFT})*"
    rf"|(?:is there )?any (?:chance|way|possibility) (?:that |for )?(?:{WHO}|we|i){MAY}?(?: {SOFT})*"
    rf"|(?:i|we)(?: {SOFT})* (?:ask|request|beg|urge|invite) (?:you|someone|somebody|the team"
    rf"|everybody)(?: all)? (?:to|for)"
    rf"|(?:it|that|this)(?:'d| would| will|'ll) be {VERY}{FINE}(?:{COULD}| to(?: have| get| see)?)?"
    rf"|would be {VERY}{FINE}(?:{COULD}| to(?: have| get| see)?)?"
    rf"|(?:i|we)(?:'d| would) be (?:very |so |really |much |most |ever so )?{GLAD}(?: for|{COULD}| to get"
    rf"| to have)?"
    rf"|(?:i|we)(?:'d| would) (?:really |much |greatly )?appreciate(?: it)?{COULD}"
    rf"|(?:i|we)(?:'d| would)(?: {SOFT})* (?:appreciate|need|want|like|love)(?: it)?(?: (?:you|someone"
    rf"|somebody|to have|to get|to see|to))*"
    rf"|(?:i|we) (?:was|were|am|are)?(?: just)? ?(?:wondering|hoping|asking)(?: if| whether| that)? (?:{WHO}"
    rf"|we){MAY}?(?: {SOFT})*(?: {WILLING})?"
    rf"|(?:i|we)(?:'m|'re| am| are)? (?:wonder|hope) (?:if|whether|that)? ?(?:{WHO}|we){MAY}(?: {SOFT})*"
    rf"|(?:would|could|can|will|might) (?:{WHO}|we)(?: {SOFT})*"
    rf"(?: {WILLING}| have {SPARE} to| find {SPARE} to| take {SPARE} to| spare {SPARE} to| help(?: me"
    rf"| us)?(?: out)?(?: and| to| by| with)?"
    r"| do (?:me|us) a (?:quick |big |small |huge )?favou?r (?:and|:|,)| go ahead and| manage to"
    r"| get (?:around|round) to| see to it that you)?"
    rf"|(?:do|have) {WHO} (?:have|got) {SPARE} (?:free |to spare |left |today )?to"
    rf"|would it be (?:{EASY}|too much(?: trouble)?(?: to ask)?|at all possible)(?: (?:to|if (?:{WHO}"
    rf"|we){MAY}?|for {WHO} to))"
    r"|(?:may|might|could|can) (?:i|we) (?:please |kindly |just )?(?:ask|trouble|bother|get|request) (?:you"
    r"|someone|somebody)(?: guys)? (?:to|for|with)"
    r"|(?:may|might|could|can) (?:i|we) (?:please |kindly |just )?(?:ask for|request|trouble you for)"
    r"|(?:i'm |i am )?(?:afraid|sorry)(?: but|,)? (?:i|we) (?:have to|need to|must|need|'ll have to"
    r"|will have to)"
    r"|(?:it's|it is) (?:about|high) time (?:to|for|we)|feel free to|would you do (?:me|us) the (?:honou?rs?"
    r"|kindness|favou?r) (?:of|and)"
    r"|please (?:be sure to|make sure to|make sure you|see that you|do|go and|go ahead and|help me|help us)"
    r"|pretty please|pretty pls|heya|howdy|greetings|thanks a (?:million|ton|bunch|lot)|(?:thank you|thanks"
    r"|thx) (?:so|very) much"
    r"|(?:so|very) much appreciated|thanks (?:so|very) much|many thanks(?: in advance)?|thank you (?:all"
    r"|guys|team|folks|kindly|in advance)|hope (?:you're|you are|all are|everyone is"
    r"|all is) (?:all )?(?:well|fine|good|having a (?:good|nice|great) \w+))(?= |$)"
)
OPENS = frozenset({"if", "when", "whenever", "once"})
JOINED = frozenset({",", "and", "then", "but", ".", "!", "?", "\n", ";", "-", "–", "—", ":", "("})


def courtesies(words: Sequence[Word], taken: Mapping[int, str]) -> Iterator[range]:
    """The words of every courtesy that has a known build; none that holds a name or a time."""
    line, places = "", list[int]()
    for index, word in enumerate(words):
        text = "\x00" if index in taken else word.text
        line += f"{text} "
        places += [index] * (len(text) + 1)
    for match in PATTERNS.finditer(line.rstrip()):
        yield range(places[match.start()], places[min(match.end(), len(places)) - 1] + 1)


def closed(words: Sequence[Word], span: range, roles: Mapping[int, str], begins: Collection[str]) -> bool:
    """Whether “if you can” is only polite: nothing hangs on it, as in “if you can reproduce the bug”."""
    if not any(words[i].text in OPENS for i in span):
        return True
    after = span.stop
    if (
        after >= len(words)
        or words[after].kind in {"mark", "emoji", "mention"}
        or roles.get(after) == "polite"
    ):
        return True
    before = span.start - 1
    while before >= 0 and roles.get(before) in {"polite", "mention", "emoji"}:
        before -= 1
    opens = before < 0 or words[before].text in JOINED
    return opens and words[after].text in begins
