"""python -m tests.proof.redaction [COUNT] [SEED]: plants secrets, cuts the text anywhere, looks for them."""

import json
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from storage.secrets.redaction import Redactor
from tests.proof.parts.leaks import leaked
from tests.proof.parts.planted import KINDS, Chance, Made, known, unknown

ORDINARY = (Path(__file__).parent / "ordinary.txt").read_text(encoding="utf-8").splitlines()
SEEN = 8  # so many characters of a secret in a row are too many


def plant(chance: Chance, number: int) -> tuple[Redactor, str, Made]:
    """A redactor and one planted text: every third knows the value, the others must see it by its looks."""
    value, forms = known(chance)
    if number % 3:
        kind = [*KINDS][number % len(KINDS)]
        return Redactor([value]), kind, unknown(chance, kind)
    name = chance.choice([*forms])
    return Redactor([value]), f"known value, {name}", forms[name]


def pieces(chance: Chance, text: str, secret: str) -> list[str]:
    """The text cut at random places, and always once inside the secret."""
    inside = text.index(secret) + chance.randint(1, len(secret) - 1)
    cuts = sorted(
        {0, inside, len(text), *(chance.randint(0, len(text)) for _ in range(chance.randint(0, 9)))}
    )
    return [text[begin:end] for begin, end in pairwise(cuts)]


def visible(secret: str, shown: str) -> bool:
    short = min(SEEN, len(secret))
    return any(secret[at : at + short] in shown for at in range(len(secret) - short + 1))


def leaks(count: int, seed: int = 1) -> list[str]:
    """What was seen of so many planted secrets: whole, in pieces, in JSON, and quoted."""
    chance, found = Chance(seed), []
    for number in range(count):
        redactor, kind, (text, secret) = plant(chance, number)
        text = "\n".join([chance.choice(ORDINARY), text, chance.choice(ORDINARY)])
        stream = redactor.stream()
        streamed = "".join([*map(stream.feed, pieces(chance, text, secret)), stream.close()])
        whole = redactor.text(text)
        told = [whole, str(redactor.data([{"out": text}]))]
        if "json" not in kind:  # what was quoted twice already
            told += [redactor.text(json.dumps(text)), redactor.text(repr(text))]
        if streamed != whole or any(visible(secret, shown) for shown in told):
            found.append(f"{kind}: {secret}")
    return found


def altered(lines: list[str]) -> list[str]:
    """Ordinary lines that do not come through as they are."""
    redactor = Redactor()
    return [line for line in lines if redactor.text(line) != line]


def main(count: int = 5000, seed: int = 1) -> int:
    found, wrong = leaks(count, seed), altered(ORDINARY)
    text, redactor = "\n".join(ORDINARY * 20), Redactor(["not-in-the-text-1"])
    begun = time.process_time()
    redactor.text(text)
    speed = len(text) / 1e6 / (time.process_time() - begun)
    say = sys.stdout.write
    say(f"{count} secrets of {len(KINDS)} kinds and 11 encodings planted, {len(found)} seen\n")
    say(f"{len(wrong)} of {len(ORDINARY)} ordinary lines altered; {speed:.1f} MB/s\n")
    with tempfile.TemporaryDirectory() as home:
        doors = leaked(Path(home), count, seed)
    reached = ", ".join(f"{door} {len(secrets)}" for door, secrets in doors.items())
    say(f"{count} secrets through the running product; behind its doors are: {reached}\n")
    return 1 if found or len(wrong) > len(ORDINARY) / 200 or any(doors.values()) else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
