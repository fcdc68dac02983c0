"""What the app shows to one person: a stack of modals, and its home tab."""

import secrets
from collections.abc import Callable

from bot.local.shapes import APP_ID, BOT_ID, TEAM_ID, Json, Member, Refused
from bot.local.state.ids import number_blocks
from bot.local.state.persistence import Memory

DEEPEST = 3


class Views:
    """Each view has a hash that changes with it; who updates with an old one is refused."""

    def __init__(self, memory: Memory, next_ts: Callable[[], str]) -> None:
        self.modals = memory.records("view")
        self.homes = memory.records("home")
        self._next_ts = next_ts

    def open(self, user: Member, view: Json) -> Json:
        """A modal in front of this person, instead of whatever was there."""
        self._check_external_id(view)
        self.close(self.stack(user))
        return self._keep(user, view, under=None)

    def push(self, user: Member, view: Json) -> Json:
        """A modal on top of the one that is open."""
        self._check_external_id(view)
        stack = self.stack(user)
        if not stack:
            raise Refused("not_found")
        if len(stack) >= DEEPEST:
            raise Refused("push_limit_reached")
        return self._keep(user, view, under=stack[-1])

    def _keep(self, user: Member, view: Json, *, under: Json | None) -> Json:
        id = _new_id()
        frame = _frame(id, user) | {
            "root_view_id": under["root_view_id"] if under else id,
            "previous_view_id": under["id"] if under else None,
        }
        return self.modals.keep(id, frame | self._body(view))

    def update(self, view_id: str, view: Json) -> Json:
        """Another content; the view stays the same one."""
        old = self.find(view_id)
        if (old["type"], view_id) != (view["type"], old["id"]):
            raise Refused("invalid_arguments", "[ERROR] a view keeps its type")
        self._check_external_id(view, except_id=view_id)
        frame = {name: old[name] for name in _FRAME if name in old}
        records, key = (self.homes, old["user"]) if old["type"] == "home" else (self.modals, view_id)
        return records.keep(key, frame | self._body(view))

    def publish(self, user: Member, view: Json, *, hash: str = "") -> Json:
        """The person's home tab, now with this content."""
        before = self.homes.get(user.id)
        if hash and (before is None or before["hash"] != hash):
            raise Refused("hash_conflict")
        self._check_external_id(view, except_id=before["id"] if before else "")
        id = before["id"] if before else _new_id()
        frame = _frame(id, user) | {"root_view_id": id, "previous_view_id": None}
        return self.homes.keep(user.id, frame | self._body(view))

    def _body(self, view: Json) -> Json:
        blank = {"submit": None, "close": None, "private_metadata": "", "callback_id": "", "external_id": ""}
        flags = {"clear_on_close": False, "notify_on_close": False, "state": {"values": {}}}
        return number_blocks(blank | flags | view) | {"hash": f"{self._next_ts()}.{secrets.token_hex(4)}"}

    def _check_external_id(self, view: Json, *, except_id: str = "") -> None:
        wanted = view.get("external_id")
        if wanted and any(v["external_id"] == wanted and v["id"] != except_id for v in self._all()):
            raise Refused("duplicate_external_id")

    def find(self, view_id: str | None, external_id: str | None = None) -> Json:
        for view in self._all():
            if view["id"] == view_id or (external_id and view["external_id"] == external_id):
                return view
        raise Refused("not_found")

    def _all(self) -> list[Json]:
        return [*self.modals, *self.homes]

    def stack(self, user: Member) -> list[Json]:
        """The person's open modals, the visible one last."""
        return [view for view in self.modals if view["user"] == user.id]

    def close(self, views: list[Json]) -> None:
        for view in views:
            self.modals.drop(view["id"])

    def clear(self) -> None:
        self.modals.clear()
        self.homes.clear()


_FRAME = (
    "id",
    "team_id",
    "app_id",
    "bot_id",
    "app_installed_team_id",
    "root_view_id",
    "previous_view_id",
    "user",
)


def _new_id() -> str:
    return "V" + secrets.token_hex(5).upper()


def _frame(id: str, user: Member) -> Json:
    return {
        "id": id,
        "team_id": TEAM_ID,
        "app_id": APP_ID,
        "bot_id": BOT_ID,
        "app_installed_team_id": TEAM_ID,
        "user": user.id,
    }
