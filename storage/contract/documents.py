"""Reading stored plan documents: what they say now, by their text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from storage.contract.spec import PlanSpec, StepSpec


@dataclass(frozen=True)
class Reading:
    """What a stored document says now: the plan, its digest, and the digest of each step."""

    spec: PlanSpec
    digest: str
    steps: Mapping[str, tuple[StepSpec, str]]


DOCUMENTS = 512  # remembered
_approved: dict[str, tuple[str, Reading]] = {}


@lru_cache(maxsize=DOCUMENTS)
def read_spec(text: str) -> Reading:
    """Remembered by the text, so an edit is seen."""
    spec = PlanSpec.model_validate_json(text)
    return Reading(spec, spec.digest(), {s.id: (s, s.digest()) for s in (*spec.steps, *spec.rollback)})


def read_approved(text: str, digest: str) -> Reading:
    """The same for a document that comes again with every claim: comparing costs a tenth of hashing."""
    known = _approved.get(digest)
    if known is None or known[0] != text:
        if len(_approved) >= DOCUMENTS:
            _approved.clear()
        known = _approved[digest] = (text, read_spec(text))
    return known[1]


def readable(text: str, keys: Iterable[str]) -> PlanSpec | None:
    """What a stored document says, if it can be read and knows the steps that stand beside it."""
    try:
        reading = read_spec(text)
    except ValueError:
        return None
    return reading.spec if reading.steps.keys() >= set(keys) else None
