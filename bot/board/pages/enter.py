"""The door: a link is shown before it is used, and what is refused is said in a sentence."""

from bot.board.html import Safe, page, tag


def entry(name: str, ticket: str, static: dict[str, str]) -> bytes:
    """Before the link is used: previews and scanners fetch links, people press buttons."""
    form = tag(
        "form",
        tag("input", type="hidden", name="t", value=ticket),
        tag("button", f"Open the board as {name}", class_="btn main", type="submit"),
        method="post",
        action="/enter",
    )
    said = tag("p", "You see what you could read in Slack. Nothing is decided here.", class_="mute")
    return _door("Signoff", [tag("h1", "The board"), said, form], static)


def refused(title: str, sentence: str, static: dict[str, str]) -> bytes:
    return _door(title, [tag("h1", title), tag("p", sentence)], static)


def _door(title: str, parts: list[Safe], static: dict[str, str]) -> bytes:
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title} · Signoff"),
        tag("link", rel="icon", href=static["icon.svg"], type="image/svg+xml"),
        tag("link", rel="stylesheet", href=static["board.css"]),
    )
    return page(head, tag("body", tag("main", *parts, class_="door", id="main")))
