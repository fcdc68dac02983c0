"""Letters that look like others: words that mix alphabets, or pass for Latin ones and are not. Pure."""

import re
import unicodedata
from collections.abc import Iterator

WORD = re.compile(r"[^\W_]+")
# Letters of other alphabets that pass for Latin letters or digits (Unicode's table of confusables, UTS 39).
FOREIGN = (
    "ͺͿΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγινορσυϒϜϱϲϳϹϺᴦιϨⲅⲎⲒⲔⲘⲚⲞⲟⲢⲣⲤⲥⲦⲨⲬⳊⳌⳐⳒ𐋵ЅІЈАВЕЗКМНОРСТУХЬабгео"
    "рсухѕіјѡѴѵҮүһҽӀӏӠԁԌԛԜԝꙄꙇՍՏՕագզհոռսցքօဝ၀ყჿሀዐᎠᎡᎢᎥᎩᎪᎫᎬᎳᎷᎻᎽᏀᏂᏃᏎᏏᏒᏔᏕᏙᏚᏞᏟᏢᏦᏧᏮᏳᏴꭵꮁꮃ"
    "ꮓꮩꮪꮯᐯᑌᑭᑯᑲᒍᒪᒿᕁᕼᕽᖇᖯᖴᗅᗞᗪᗰᗷᚷᛁᛕᛖⴸⴹⵏⵔⵕⵝꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ𐊂𐊆𐊇𐊊𐊐𐊒𐊕𐊖𐊗𐊠𐊡𐊢𐊥𐊫𐊰𐊱𐊲"
    "𐊴𐋏𐌁𐌂𐌉𐌑𐌕𐌗𐌚𐌠𐌢𐐄𐐕𐐛𐐠𐐬𐐽𐑈𐒴𐓂𐓎𐓒𐓪𐓶𐔓𐔖𐔘𐔜𐔝𐔥𐔦𐔧𑢠𑢢𑢣𑢤𑢦𑢩𑢬𑢮𑢯𑢲𑢵𑢸𑢻𑢼𑣀𑣁𑣂𑣃𑣄𑣆𑣈𑣊𑣌𑣕𑣖𑣗𑣘𑣜𑣠𑣥𑣦𑣩𑣬𑣯𑣲𖼈𖼊𖼖𖼨𖼵𖼺𖼻𖽀𖽂"
    "𖽃"
)
# Letters of the Latin alphabet that hardly anybody writes with, and that pass for others of it.
RARE = "ƄƍƖƦƧƷƼƽǀȜɑɡɩɪɯʏᴄᴏᴑᴜᴠᴡᴢᶃᶌẝỿꜱꝚꝪꝮꞘꞙꞟꞫꞲꞳꞴꬲꬵꬽꭇꭈꭎꭒꭚ"
SIGNS = "ªºµ"  # 1º, Mª, µs
# Signs that pass for "-", "." or "/" inside a name, and dashes that open a word as an option does.
POSING = re.compile(
    r"(?<=[A-Za-z])[‐‑−﹣⁃․﹒⁄∕](?=[A-Za-z0-9])|(?<=[A-Za-z0-9])[‐‑−﹣⁃․﹒⁄∕](?=[A-Za-z])"
    r"|(?<![^\s=:,'\"(\[])[‐‑‒–—―−﹣－](?=[A-Za-z‐‑‒–—―−﹣－-])"
)
EAST = {"LATIN", "FULLWIDTH", "HALFWIDTH", "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC",
        "HANGUL", "BOPOMOFO"}  # fmt: skip
LATIN = {"LATIN", "FULLWIDTH", "HALFWIDTH"}


def doubtful(text: str) -> list[str]:
    """The words that may not be what they look like, in their order.

    A word mixes alphabets, or is all of letters that pass for Latin ones while nothing else in the text is
    clearly written in its alphabet. Japanese, Chinese and Korean are written together with Latin.
    """
    words = [(word, _alphabets(word)) for word in WORD.findall(text)]
    plain = {next(iter(found)) for word, found in words if len(found) == 1 and not all(map(_passes, word))}
    return [word for word, found in words if _mixes(found) or _poses(word, found, plain)]


def marked(text: str) -> str:
    """The text, with its code point after each letter that makes a word doubtful."""
    if text.isascii():
        return text
    odd = {*doubtful(text)}
    spelt = WORD.sub(lambda found: _spelled(found[0]) if found[0] in odd else found[0], text)
    return POSING.sub(lambda found: f"{found[0]}‹U+{ord(found[0]):04X}›", spelt)


def _spelled(word: str) -> str:
    return "".join(f"{ch}‹U+{ord(ch):04X}›" if _alphabet(ch) not in {"", "LATIN"} else ch for ch in word)


def _alphabets(word: str) -> set[str]:
    return {_alphabet(ch) for ch in word} - {""}


def _alphabet(ch: str) -> str:
    """The first word of a letter's name; "" for what every alphabet uses."""
    if ch.isascii():
        return "LATIN" if ch.isalpha() else ""
    letter = unicodedata.category(ch)[0] == "L" or unicodedata.category(ch) in {"Nl", "Nd"}
    name = unicodedata.name(ch, "UNKNOWN").partition(" ")[0]
    if not letter or ch in SIGNS or (name == "GREEK" and ch not in FOREIGN):
        return ""  # units are written with them: kΩ, Δt
    return "RARE" if name == "LATIN" and (ch in RARE or _disguised(ch)) else name


def _disguised(ch: str) -> bool:
    """Whether it is an ASCII letter or digit in other clothes: bold, wide, a Roman numeral."""
    usual = unicodedata.normalize("NFKC", ch)
    return not ch.isascii() and len(usual) == 1 and usual.isascii() and usual.isalnum()


def _passes(ch: str) -> bool:
    return ch in FOREIGN or ch in RARE or _disguised(ch) or (ch.isascii() and not ch.isalpha())


def _mixes(found: set[str]) -> bool:
    eastern = found <= EAST and bool(found - LATIN)
    return len(found) > 1 and not eastern


def _poses(word: str, found: set[str], plain: set[str]) -> bool:
    """Whether a word of one other alphabet passes for a Latin one, where nothing says that it is not."""
    return len(found) == 1 and "LATIN" not in found and found.isdisjoint(plain) and all(map(_passes, word))


def odd_letters(text: str) -> Iterator[str]:
    """Each letter that makes a word of the text doubtful, as a person can look it up."""
    for word in doubtful(text):
        for ch in dict.fromkeys(word):
            if _alphabet(ch) not in {"", "LATIN"}:
                yield _named(ch)
    yield from map(_named, dict.fromkeys(POSING.findall(text)))


def _named(ch: str) -> str:
    return f"“{ch}” is U+{ord(ch):04X} {unicodedata.name(ch, '').lower()}"
