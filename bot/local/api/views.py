"""views.*: modals, stacked or alone, and the home tab."""

from bot.local.api.parts import Method, Parts
from bot.local.schema import limits
from bot.local.shapes import Json, Refused


def _open(parts: Parts, given: Json) -> Json:
    limits.check_view(given.get("view"))
    parts.files.check_images(given["view"]["blocks"])
    user = parts.triggers.exchange(str(given.get("trigger_id") or ""))
    return {"view": _shown(parts.views.open(parts.workspace.member(user), given["view"]))}


def _push(parts: Parts, given: Json) -> Json:
    limits.check_view(given.get("view"))
    parts.files.check_images(given["view"]["blocks"])
    user = parts.triggers.exchange(str(given.get("trigger_id") or ""))
    return {"view": _shown(parts.views.push(parts.workspace.member(user), given["view"]))}


def _update(parts: Parts, given: Json) -> Json:
    """By id or by the app's own name for it; with a hash, only what has not changed since."""
    if not given.get("view_id") and not given.get("external_id"):
        raise Refused("invalid_arguments", "[ERROR] missing required field: view_id or external_id")
    old = parts.views.find(given.get("view_id"), given.get("external_id"))
    check = limits.check_home if old["type"] == "home" else limits.check_view
    check(given.get("view"))
    parts.files.check_images(given["view"]["blocks"])
    if parts.faults.strikes("stale_view") or given.get("hash", old["hash"]) != old["hash"]:
        raise Refused("hash_conflict")
    return {"view": _shown(parts.views.update(old["id"], given["view"]))}


def _publish(parts: Parts, given: Json) -> Json:
    limits.check_home(given.get("view"))
    parts.files.check_images(given["view"]["blocks"])
    user = parts.workspace.member(given.get("user_id"))
    if parts.faults.strikes("stale_view"):
        raise Refused("hash_conflict")
    return {"view": _shown(parts.views.publish(user, given["view"], hash=given.get("hash") or ""))}


def _shown(view: Json) -> Json:
    return {name: part for name, part in view.items() if name != "user"}


METHODS: dict[str, Method] = {
    "views.open": _open,
    "views.push": _push,
    "views.update": _update,
    "views.publish": _publish,
}
