"""views.*: modals and the home tab; what is stacked comes with an ack."""

from bot.local.api.parts import Method, Parts
from bot.local.schema import limits
from bot.local.shapes import Json, Refused


def _open(parts: Parts, given: Json) -> Json:
    limits.check_view(given.get("view"))
    parts.files.check_images(given["view"]["blocks"])
    user = parts.triggers.exchange(str(given.get("trigger_id") or ""))
    return {"view": _shown(parts.views.open(parts.workspace.member(user), given["view"]))}


def _publish(parts: Parts, given: Json) -> Json:
    limits.check_home(given.get("view"))
    parts.files.check_images(given["view"]["blocks"])
    user = parts.workspace.member(given.get("user_id"))
    if parts.faults.strikes("stale_view"):
        raise Refused("hash_conflict")
    return {"view": _shown(parts.views.publish(user, given["view"], hash=given.get("hash") or ""))}


def _shown(view: Json) -> Json:
    return {name: part for name, part in view.items() if name != "user"}


METHODS: dict[str, Method] = {"views.open": _open, "views.publish": _publish}
