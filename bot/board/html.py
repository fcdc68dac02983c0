"""HTML by functions. What is not `Safe` is escaped and made inert: people, workers or models wrote it."""

from html import escape

from bot.untrusted import legible

VOID = frozenset({"meta", "link", "input", "br"})
RENAMED = {"class_": "class", "for_": "for"}


class Safe(str):
    """Markup that `tag` has made, and nobody else."""

    __slots__ = ()


Kid = str | int | None


def tag(name: str, /, *kids: "Kid | list[Kid] | list[Safe]", **attributes: str | int | bool | None) -> Safe:
    """An element. Attributes with the value None or False are left out, those with True stand alone."""
    given = "".join(_attribute(key, value) for key, value in attributes.items() if value not in (None, False))
    if name in VOID:
        return Safe(f"<{name}{given}>")
    return Safe(f"<{name}{given}>{joined(*kids)}</{name}>")


def joined(*kids: "Kid | list[Kid] | list[Safe]") -> Safe:
    """What stands beside each other; None is nothing."""
    return Safe("".join(_kid(kid) for kid in _flat(kids)))


def _flat(kids: "tuple[Kid | list[Kid] | list[Safe], ...]") -> list[Kid]:
    return [one for kid in kids for one in (kid if isinstance(kid, list) else [kid])]


def _kid(kid: Kid) -> str:
    if kid is None:
        return ""
    return kid if isinstance(kid, Safe) else escape(legible(str(kid)), quote=False)


def _attribute(key: str, value: str | int | bool | None) -> str:
    name = RENAMED.get(key, key.replace("_", "-"))
    if value is True:
        return f" {name}"
    said = str(value)
    if name in {"href", "action"} and (said.startswith("//") or not said.startswith(LEADS)):
        said = "#"  # no other scheme leads anywhere
    return f' {name}="{escape(legible(said) if name not in URLS else said)}"'


URLS = {"href", "action", "src"}
LEADS = ("/", "#", "?", "https://", "http://")


def page(head: Safe, body: Safe) -> bytes:
    whole = tag("html", head, body, lang="en")
    return f"<!doctype html>\n{whole}\n".encode()
