"""Hides secrets: first by known value, in every usual encoding, then by pattern. Pure but for `Quiet`.

Four doors call it, each at one point: what enters the database, the log, the model, Slack.
"""

import base64
import json
import logging
import re
import string
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus, unquote

from storage.secrets.patterns import CONTEXTS, HINTED, LONGEST, OPEN_KEY, SECRET_NAME, TOKENS, Pattern

HIDDEN = "[redacted]"
Match = tuple[int, int, int]
LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
SHORT = 64  # characters of a text whose cleaning is remembered
SHORTEST = 6  # a shorter value would hide ordinary words
ORDINARY = frozenset({"password", "secret", "postgres", "changeme", "default", "admin123", "localhost"})
PATH = re.compile(r"[~.]{0,2}/[a-z][\w.-]*(?:/[\w.-]+)*/?")
LOGIN = re.compile(r"\w://[^\s:/?@]*:([^\s/?]+)@")
REFERENCE = re.compile(r"\$?\{?[A-Z][A-Z0-9_]*\}?")  # the name of an environment variable


class Redactor:
    """Knows some secrets by value, and all others by their looks."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known = frozenset(form for value in known for form in encodings(value))
        self.reach = max([LONGEST, *map(len, self._known)])  # how far apart a secret's ends can lie
        self._short = lru_cache(4096)(self._clean)  # keys, verbs and names come again and again

    def text(self, text: str) -> str:
        """The text with every secret replaced."""
        return self._short(text) if len(text) <= SHORT else self._clean(text)

    def _clean(self, text: str) -> str:
        return hide(text, self.matches(text))

    def data(self, value: Any) -> Any:
        """JSON with every secret replaced; what stands under a secret's name is hidden in any case."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self._named(str(key), inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.data(inner) for inner in value]
        return value

    def document(self, text: str) -> str:
        """A JSON text with every secret in it replaced; it stays one, whatever stood there."""
        try:
            given = json.loads(text, object_pairs_hook=_once)
        except (ValueError, RecursionError):
            return self.text(text)
        clean = self.data(given)
        return text if clean == given else json.dumps(clean, ensure_ascii=False)

    def stream(self) -> "Stream":
        """For text that comes in pieces."""
        return Stream(self)

    def matches(self, text: str) -> list[Match]:
        """Where secrets stand: where what gives one away begins, where it begins, where it ends."""
        return [*self._known_matches(text), *_pattern_matches(text)]

    def _named(self, key: str, value: Any) -> Any:
        named = isinstance(value, str) and len(value) >= SHORTEST and SECRET_NAME.search(key)
        return HIDDEN if named and not PATH.fullmatch(value) else self.data(value)

    def _known_matches(self, text: str) -> Iterator[Match]:
        for form in [form for form in self._known if form in text]:
            at = text.find(form)
            while at >= 0:
                yield at, at, at + len(form)
                at = text.find(form, at + 1)


class Stream:
    """Redacts pieces: holds back what may be the beginning of a secret, and lets go of the rest."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""

    def feed(self, piece: str) -> str:
        """What may be shown now."""
        text = self._held = self._held + piece
        if "\n" not in piece and len(text) < 2 * self._redactor.reach:
            return ""
        matches = self._redactor.matches(text)
        safe = self._safe(text, matches)
        self._held = text[safe:]
        return hide(text[:safe], [match for match in matches if match[2] <= safe])

    def close(self) -> str:
        """The rest; nothing comes any more."""
        rest, self._held = self._held, ""
        return self._redactor.text(rest)

    def _safe(self, text: str, matches: list[Match]) -> int:
        """Where nothing is cut: after a line, unless a private key is open; else far enough from the end."""
        far = max(0, len(text) - self._redactor.reach)
        safe = max(text.rfind("\n") + 1, far)
        if opened := OPEN_KEY.search(text, far):
            safe = min(safe, opened.start())
        while cut := [begin for begin, _, end in matches if begin < safe < end]:
            safe = min(cut)
        return safe


class Quiet(logging.Formatter):
    """The log's door: whatever a formatter makes of a record, traceback and all, is redacted."""

    def __init__(self, redactor: Redactor, inner: logging.Formatter) -> None:
        super().__init__()
        self._redactor, self._inner = redactor, inner

    def format(self, record: logging.LogRecord) -> str:
        return self._redactor.text(self._inner.format(record))


def known_values(environment: Mapping[str, str], named: Iterable[str] = ()) -> list[str]:
    """The secrets of an environment: variables named like one or by configuration, and logins in URLs."""
    listed = set(named)
    secret = [value for name, value in environment.items() if name in listed or _names_secret(name)]
    logins = [found for value in environment.values() for found in LOGIN.findall(value)]
    lines = [line for value in secret for line in value.splitlines() if len(line) >= 16]
    values = {value.strip() for value in (*secret, *logins, *map(unquote, logins), *lines)}
    return sorted(value for value in values if _is_secret(value))


def encodings(value: str) -> set[str]:
    """A value as it stands in text, JSON, a URL, hex, and base64 at each of its three offsets."""
    raw = value.encode(errors="surrogatepass")
    quoted = {quote(value, safe=""), quote(value), quote_plus(value)} if value.isprintable() else set()
    lower = {re.sub("%..", lambda found: found[0].lower(), form) for form in quoted}
    escaped = _json(value)
    twice = {again for form in escaped for again in _json(form)}
    said = {repr(value)[1:-1], value.replace("\\", "\\\\").replace("'", "\\'")}  # as a traceback quotes it
    forms = {value, *quoted, *lower, *escaped, *twice, *said, raw.hex(), raw.hex().upper(), *_base64(raw)}
    return {form for form in forms if len(form) >= SHORTEST}


def secret_in(raw: Mapping[str, Any]) -> list[str]:
    """The keys of a configuration that hold what looks like a secret."""
    return [path for path, key, value in _leaves(raw) if _looks_secret(key, value)]


def hide(text: str, matches: Iterable[Match]) -> str:
    """The text with these secrets replaced; those that overlap are one."""
    parts, at = [], 0
    for start, end in sorted((start, end) for _, start, end in matches):
        if start >= at:
            parts += [text[at:start], HIDDEN]
        at = max(at, end)
    return "".join((*parts, text[at:]))


def _pattern_matches(text: str) -> Iterator[Match]:
    lower = text.lower()
    if len(lower) != len(text):  # as for "İ"; places must stay what they are
        lower = text.translate(LOWER)
    for hint in [hint for hint in HINTED if hint in lower]:
        for pattern in HINTED[hint]:
            yield from _near(hint, pattern, text, lower)


def _near(hint: str, pattern: Pattern, text: str, lower: str) -> Iterator[Match]:
    """What the pattern finds on lines that have its hint."""
    group = "secret" if "secret" in pattern.regex.groupindex else 0
    at = lower.find(hint)
    while at >= 0:
        begin, end = lower.rfind("\n", 0, at) + 1, lower.find("\n", at)
        if pattern.lines or end < 0:
            end = len(text)
        yield from ((found.start(), *found.span(group)) for found in pattern.regex.finditer(text, begin, end))
        at = lower.find(hint, end)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two values for one name none is taken away here: whoever reads the document must see both."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a name is given twice")
    return made


def _json(value: str) -> set[str]:
    return {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}


def _base64(raw: bytes) -> Iterator[str]:
    """What of a value stands in base64 whatever surrounds it, at each offset, in both alphabets."""
    for offset, cut in ((0, 0), (1, 2), (2, 3)):
        whole = (offset + len(raw)) * 8 // 6  # the characters that depend on nothing behind the value
        coded = base64.b64encode(b"\0" * offset + raw).decode()[cut:whole]
        yield coded
        yield coded.replace("+", "-").replace("/", "_")


def _names_secret(name: str) -> bool:
    return bool(SECRET_NAME.search(name)) and name not in {"PWD", "OLDPWD"}


def _is_secret(value: str) -> bool:
    return len(value) >= SHORTEST and value.lower() not in ORDINARY and not PATH.fullmatch(value)


def _leaves(value: Any, path: str = "", key: str = "") -> Iterator[tuple[str, str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}" if path else str(name), str(name))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{path}.{index}", key)
    elif isinstance(value, str):
        yield path, key, value


def _looks_secret(key: str, value: str) -> bool:
    named = SECRET_NAME.search(key) and _is_secret(value) and not REFERENCE.fullmatch(value)
    return bool(named) or any(pattern.regex.search(value) for pattern in (*TOKENS, *CONTEXTS))
