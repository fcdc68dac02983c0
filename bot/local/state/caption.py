"""A sentence over the workspace while somebody shows it: what is to be seen, and through whose eyes."""

from collections.abc import Callable

from bot.local.shapes import Json

NOTHING: Json = {"text": "", "me": "", "thread": "", "number": 0, "of": 0}


class Caption:
    """The one in view. `me` is the person that the page acts as from now on, `thread` the thread it opens."""

    def __init__(self, changed: Callable[[str, str, Json | None], None]) -> None:
        self._changed, self.body = changed, NOTHING

    def show(self, **given: str | int) -> None:
        if odd := given.keys() - NOTHING.keys():
            raise ValueError(f"a caption has no {', '.join(sorted(odd))}")
        self.body = {**NOTHING, **given}
        self._changed("caption", "caption", self.body)

    def clear(self) -> None:
        self.show()
