"""Collections of requests with the right decisions (`signoff eval --cases FILE`): marks and their figures."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bot.given_once import json_of
from bot.planner.evaluation import Plans, Row, contracts, forbidden, is_call, kind_of, missing, offline
from bot.planner.model.wire import Declined
from bot.planner.runbooks.book import Planned
from bot.planner.validate import Catalogue
from storage.errors import BadConfig


@dataclass(frozen=True)
class Mark:
    """What came of one row. Wrong automatic: a plan that is not the right one; soft: one click away."""

    family: str
    say: str
    kind: str
    wrong: tuple[str, ...] = ()
    forbidden: int = 0
    wrong_automatic: bool = False
    soft: bool = False
    plan_class: bool = False


def collected(file: Path) -> list[Row]:
    """The requests of a file, one JSON object a line."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(
            f"“{file.name}” cannot be read: {getattr(error, 'strerror', '') or 'no text'}."
        ) from None
    return [_row(number, line) for number, line in enumerate(lines, 1) if line.strip()]


def _row(number: int, line: str) -> Row:
    try:
        return Row.model_validate(json_of(line))
    except ValidationError as error:
        first = error.errors()[0]
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except ValueError:
        why = "it is no JSON object"
    raise BadConfig(f"Line {number} is no request with its right answers: {why}.") from None


def mark(row: Row, planner: Plans) -> Mark:
    """Judge one answer to a request of a collection."""
    answer, catalogue = planner(row.request), Catalogue(contracts())
    kind = kind_of(answer)
    wrong = [] if kind in row.answer else [f"answered with {kind}"]
    banned: list[str] = []
    if isinstance(answer, Planned):
        banned = [*forbidden(row, answer.spec, catalogue)]
        wrong += [*missing(row, answer.spec, catalogue), *_others(row, answer, catalogue), *banned]
    soft = isinstance(answer, Declined) and row.runbook in {offer.id for offer in answer.offers}
    return Mark(
        row.family, row.request, kind, tuple(wrong), len(banned),
        bool(wrong) and isinstance(answer, Planned), bool(wrong) and soft, {*row.answer} <= {"plan", "recur"},
    )  # fmt: skip


def _others(row: Row, answer: Planned, catalogue: Catalogue) -> Iterable[str]:
    steps = answer.spec.steps
    if row.any_of and not any(is_call(step, text, catalogue) for text in row.any_of for step in steps):
        yield f"has none of {', '.join(row.any_of)}"
    if row.cron and (answer.every is None or answer.every.cron != row.cron):
        yield f"recurs at {answer.every.cron if answer.every else 'no time'}"


def tally(marks: Sequence[Mark]) -> dict[str, Any]:
    """The figures of a collection, as `--json` prints them."""
    plans = [mark for mark in marks if mark.plan_class]
    return {
        "cases": len(marks),
        "right": sum(not mark.wrong for mark in marks),
        "plan_class": {"cases": len(plans), "right": sum(not mark.wrong for mark in plans)},
        "forbidden": sum(mark.forbidden for mark in marks),
        "wrong_automatic": sum(mark.wrong_automatic for mark in marks),
        "families": {name: _members(marks, name) for name in sorted({mark.family for mark in marks})},
    }


def _members(marks: Sequence[Mark], name: str) -> dict[str, int]:
    ours = [mark for mark in marks if mark.family == name]
    return {
        "cases": len(ours),
        "right": sum(not mark.wrong for mark in ours),
        "soft": sum(mark.soft for mark in ours),
    }


def on_file(file: Path, *, as_json: bool, floor: float, planner: Plans = offline) -> tuple[str, int]:
    """What `signoff eval --cases` prints. 1 below the floor, and whenever a plan was forbidden or wrong."""
    marks = [mark(row, planner) for row in collected(file)]
    found = tally(marks)
    share = found["right"] / max(1, found["cases"])
    bad = found["forbidden"] or found["wrong_automatic"] or share < floor
    return json.dumps(found, indent=2) if as_json else _printed(found, marks), int(bool(bad))


def _printed(found: dict[str, Any], marks: Sequence[Mark]) -> str:
    lines = [
        f"{name:<14}{one['right']:>4} of {one['cases']:>3} right, {one['soft']} soft, {_bad(marks, name)}"
        for name, one in found["families"].items()
    ]
    plans = found["plan_class"]
    lines += [f"{'all':<14}{found['right']:>4} of {found['cases']:>3} right"]
    lines += [f"{'plan class':<14}{plans['right']:>4} of {plans['cases']:>3} right"]
    lines += [f"forbidden: {found['forbidden']} · wrong automatic: {found['wrong_automatic']}"]
    wrong = [f"  {mark.say!r}: {'; '.join(mark.wrong)}" for mark in marks if mark.wrong]
    return "\n".join([*lines, *(["", "Not right:", *wrong] if wrong else [])])


def _bad(marks: Sequence[Mark], family: str) -> str:
    ours = [mark for mark in marks if mark.family == family]
    forbidden, wrong = sum(mark.forbidden for mark in ours), sum(mark.wrong_automatic for mark in ours)
    return f"{forbidden} forbidden, {wrong} wrong automatic"
