"""What a plan's journal says of the plan's rows, as far as it was read. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from storage.journal.words import PREVIEWED


class Said(Protocol):
    """An event, by what is gathered of it."""

    @property
    def verb(self) -> str: ...
    @property
    def actor(self) -> str: ...
    @property
    def data(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Told:
    """What it has told so far; of what it tells again, the last."""

    wish: tuple[Any, ...] = ()  # the words and the channel of the first event
    words: str = ""  # the hash of what people read of the last revision
    reports: Mapping[str, str | None] = field(default_factory=dict)  # by step; None: not named by its hash
    previews: Mapping[tuple[Any, str], Mapping[str, Any]] = field(
        default_factory=dict
    )  # by revision and step
    moved: frozenset[int] = frozenset()  # the revisions that only move the one before later
    yes: frozenset[tuple[Any, str]] = frozenset()  # who approved which digest
    earlier: Mapping[str, str] = field(default_factory=dict)  # by digest: the one that it only moves later

    def and_then(self, events: Sequence[Said]) -> "Told":
        """With what comes behind it."""
        first = [(e.data.get("text"), e.data.get("channel")) for e in events[:1]]
        words = [e.data["words"] for e in events if "words" in e.data]
        moves = [e.data for e in events if e.verb == "postpone"]
        return Told(
            wish=self.wish or (first[0] if first else ()),
            words=words[-1] if words else self.words,
            reports={**self.reports, **{e.data["step"]: e.data.get("report") for e in events if _reports(e)}},
            previews={
                **self.previews,
                **{_of(e.data): _shown(e.data) for e in events if e.verb == "preview"},
            },
            moved=self.moved | {data["revision"] for data in moves},
            yes=self.yes | {(e.data.get("digest"), e.actor) for e in events if e.verb == "approve"},
            earlier={**self.earlier, **{str(data["digest"]): str(data["earlier"]) for data in moves}},
        )

    def shows(self, revision: int) -> int:
        """Whose previews a revision shows: what was only moved later keeps those of the one before."""
        while revision in self.moved:
            revision -= 1
        return revision

    def approved(self, digest: str) -> set[str]:
        """Who said yes to this, or to what it only moves later."""
        found = [digest]
        while (digest := self.earlier.get(digest, "")) and digest not in found:
            found.append(digest)
        return {who for said, who in self.yes if said in found}


def _reports(event: Said) -> bool:
    """Whether this wrote a step's report. An earlier release did not name it by its hash everywhere."""
    data = event.data
    said = data.get("answer") == "ran" or data.get("choice") in {"confirm", "take_over"}
    return "step" in data and ("report" in data or event.verb == "fail" or said)


def _of(data: Mapping[str, Any]) -> tuple[Any, str]:
    return data.get("revision"), data["step"]


def _shown(data: Mapping[str, Any]) -> dict[str, Any]:
    """What was told of a preview. An earlier release told of text and basis only."""
    return {name: data[name] for name in PREVIEWED if name in data}
