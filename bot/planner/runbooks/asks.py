"""The words that ask for a runbook: verbs, nouns, and what may be said besides. No patterns."""

from typing import Annotated

from pydantic import AfterValidator

from storage.contract.capability import Document

GAP = "…"


def _words(phrases: tuple[str, ...]) -> tuple[str, ...]:
    """Plain words in small letters; “...” is a gap, too."""
    made = tuple(" ".join(phrase.lower().replace("...", GAP).split()) for phrase in phrases)
    for phrase in made:
        if not phrase or phrase.startswith(GAP) or phrase.endswith(GAP):
            raise ValueError(f"“{phrase}” must begin and end with a word")
        if any(sign in phrase for sign in "\\^$*[]()|+?{}"):
            raise ValueError(f"“{phrase}” looks like a pattern; here stand only words, and … for a gap")
    return made


Phrases = Annotated[tuple[str, ...], AfterValidator(_words)]


class Asks(Document):
    """Words that choose a runbook. A head of the vocabulary brings its synonyms and other languages."""

    verbs: Phrases = ()  # "restart"
    also: Phrases = ()  # phrases of its own; … is a gap of names
    loose: Phrases = ()  # verbs that mean this only where everything that it needs is said
    nouns: Phrases = ()  # "I need a restart of …"
    about: Phrases = ()  # may be said, and means nothing
    requires: Phrases = ()  # one of these must be said
    by_name: bool = False  # for what only reads: the name alone, in a question, chooses it
    looks: bool = True  # false for what does work although it changes nothing: it answers no question
