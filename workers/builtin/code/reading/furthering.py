"""Work with subtasks added behind it: the earlier ones keep their numbers."""

from pydantic import BaseModel

from workers.base import Context
from workers.builtin.code.ground import subtasks
from workers.builtin.code.ground.subtasks import Work


class FurtherData(BaseModel):
    """`items` is the file that change steps are pointed to; `fresh` are the numbers that are new in it."""

    items: str
    hash: str
    base: str
    fresh: list[int]
    instead: list[int]  # for each of them, in whose place it stands
    model: str = ""
    usd: float = 0.0


def further(before: Work, found: Work, ctx: Context, *, model: str = "", usd: float = 0.0) -> FurtherData:
    """What was added, with the file that holds all of it."""
    file, digest = subtasks.write(found, ctx.scratch)
    fresh = [*range(len(before.items), len(found.items))]
    instead = [number for item in found.items[len(before.items) :] if (number := item.instead) is not None]
    return FurtherData(
        items=file, hash=digest, base=found.base, fresh=fresh, instead=instead, model=model, usd=usd
    )
