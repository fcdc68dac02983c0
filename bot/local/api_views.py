"""views.*: modals, stacked modals, and the home tab."""

from bot.local import limits
from bot.local.api_parts import Method, Parts
from bot.local.shapes import Json, Member, Refused


def _open(parts: Parts, given: Json) -> Json:
    limits.check_view(given.get("view"))
    parts.files.check_images(given["view"]["blocks"])
    user, _ = _exchange(parts, given)
    return {"view": _shown(parts.views.open(user, given["view"]))}


def _push(parts: Parts, given: Json) -> Json:
    limits.check_view(given.get("view"))
    parts.files.check_images(given["view"]["blocks"])
    user, view_id = _exchange(parts, given)
    if view_id not in [view["id"] for view in parts.views.stack(user)]:
        raise Refused("not_found")
    return {"view": _shown(parts.views.push(user, given["view"]))}


def _exchange(parts: Parts, given: Json) -> tuple[Member, str]:
    user_id, view_id = parts.triggers.exchange(str(given.get("trigger_id") or ""))
    return parts.workspace.member(user_id), view_id


def _update(parts: Parts, given: Json) -> Json:
    limits.check_view(given.get("view"))
    parts.files.check_images(given["view"]["blocks"])
    view = parts.views.find(given.get("view_id"), given.get("external_id"))
    if parts.faults.strikes("stale_view") or given.get("hash") not in (None, "", view["hash"]):
        raise Refused("hash_conflict")
    return {"view": _shown(parts.views.update(view["id"], given["view"]))}


def _publish(parts: Parts, given: Json) -> Json:
    limits.check_home(given.get("view"))
    parts.files.check_images(given["view"]["blocks"])
    user = parts.workspace.member(given.get("user_id"))
    if parts.faults.strikes("stale_view"):
        raise Refused("hash_conflict")
    return {"view": _shown(parts.views.publish(user, given["view"], hash=given.get("hash") or ""))}


def _shown(view: Json) -> Json:
    return {name: part for name, part in view.items() if name != "user"}


METHODS: dict[str, Method] = {"views.open": _open, "views.update": _update, "views.publish": _publish}
AHEAD: dict[str, Method] = {"views.push": _push}
