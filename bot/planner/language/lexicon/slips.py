"""How many slips one word is away from another: a letter too few, too many or another, or two swapped."""

from collections.abc import Iterable

LIMIT = 3  # of the nearest that are compared; among more, nobody knows what was meant


def nearest(said: str, known: Iterable[str], most: int) -> list[str]:
    """The known words that are fewest letters away, and no more than `most`."""
    letters = set(said)
    close = [
        text
        for text in known  # each slip adds one kind of letter at most, and takes one away
        if abs(len(text) - len(said)) <= most and len(letters.symmetric_difference(text)) <= 2 * most
    ]
    ranked = sorted((away, n) for n, text in enumerate(close) if (away := distance(said, text, most)) <= most)
    return [close[n] for away, n in ranked[:LIMIT] if away == ranked[0][0]]


def distance(one: str, two: str, most: int) -> int:
    """The optimal string alignment distance; what is more than `most` is only known to be so."""
    far = most + 1
    before: list[int] = []
    last: list[int] = [*range(len(two) + 1)]
    for i, letter in enumerate(one, 1):
        row: list[int] = [i, *[far] * len(two)]
        for j in range(max(1, i - most), min(len(two), i + most) + 1):  # further off, more is left out
            other = two[j - 1]
            away = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == two[j - 2] and one[i - 2] == other:
                away = min(away, before[j - 2] + 1)
            row[j] = away
        if min(row) > most and min(last) > most:  # a swap looks two rows back
            return far
        before, last = last, row
    return last[-1]
