"""What stands around every page: the head, the way between pages, who looks, and the shapes of states."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.board.html import Safe, joined, page, tag
from bot.board.parts.times import Now
from storage.config import RELEASE

PAGES = {
    "now": ("/", "Now"),
    "tonight": ("/tonight", "Tonight"),
    "plans": ("/plans", "Plans"),
    "fleet": ("/fleet", "Fleet"),
    "figures": ("/figures", "Figures"),
    "journal": ("/journal", "Journal"),
}


@dataclass(frozen=True)
class Frame:
    """What is the same on every page of one person."""

    now: Now
    user: str  # as people say it
    static: Mapping[str, str]  # name → address
    badges: Mapping[str, tuple[int, str]] = field(default_factory=dict)  # page → how many, of what
    lifeless: bool = False  # a page that shall not fetch itself: its own words must stay


def framed(frame: Frame, name: str, title: str, main: Safe) -> bytes:
    """A whole page."""
    css, script, morph, picture = (
        frame.static[file] for file in ("board.css", "board.js", "idiomorph.min.js", "icon.svg")
    )
    refresh = tag("noscript", tag("meta", http_equiv="refresh", content="15"))
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title} · Signoff"),
        tag("link", rel="icon", href=picture, type="image/svg+xml"),
        tag("link", rel="stylesheet", href=css),
        None if frame.lifeless else refresh,
        None
        if frame.lifeless
        else joined(tag("script", src=morph, defer=True), tag("script", src=script, defer=True)),
    )
    skip = tag("a", "Skip to the content", class_="skip", href="#main")
    return page(head, tag("body", skip, shapes(), _top(frame, name), main, _foot(frame)))


def shell(content: Safe, *, plan: int = 0) -> Safe:
    """The part that is fetched again."""
    return tag("main", content, id="main", tabindex="-1", data_plan=str(plan) if plan else None)


def heading(title: str, said: Safe | str | None, *acts: Safe, above: Safe | None = None) -> Safe:
    words = tag(
        "div",
        above,
        tag("h1", title, data_title=f"{title} · Signoff"),
        tag("p", said, class_="mute") if said else None,
    )
    return tag("div", words, tag("div", *acts, class_="acts") if acts else None, class_="head")


def panel(title: str, *kids: Safe | None, aside: Safe | str | None = None, **attributes: str) -> Safe:
    side = tag("span", aside, class_="mute") if aside else None
    return tag("section", tag("header", tag("h2", title), side), *kids, class_="panel", **attributes)


def tile(name: str, value: str, about: str) -> Safe:
    """One figure, and what it is of."""
    said = tag("p", about, class_="mute")
    return tag("section", tag("h2", name), tag("p", value, class_="big"), said, class_="panel pad")


def empty(sentence: str) -> Safe:
    return tag("p", sentence, class_="empty")


def button(label: str, href: str, *, main: bool = False, current: bool = False, about: str = "") -> Safe:
    current_ = "page" if current else None
    return tag(
        "a",
        label,
        class_="btn main" if main else "btn",
        href=href,
        aria_current=current_,
        aria_label=about or None,
    )


def _top(frame: Frame, name: str) -> Safe:
    mark = tag(
        "svg",
        tag("rect", class_="f-run", width="20", height="20", rx="5"),
        tag("path", d="M5 10.4 8.6 14 15 6.6"),
        viewBox="0 0 20 20",
        aria_hidden="true",
    )
    links = [_link(frame, key, current=key == name) for key in PAGES]
    find = tag(
        "form",
        tag("label", "Find a plan", class_="sr", for_="find"),
        tag(
            "input", id="find", type="search", name="q", placeholder="Find a plan, a target", maxlength="100"
        ),
        class_="find",
        role="search",
        aria_label="Plans",
        action="/plans",
    )
    return tag(
        "header",
        tag(
            "div",
            tag("a", mark, "Signoff", class_="brand", href="/"),
            tag("nav", *links, class_="nav", aria_label="Pages"),
            find,
            _who(frame),
        ),
        class_="top",
    )


def _link(frame: Frame, key: str, *, current: bool) -> Safe:
    href, word = PAGES[key]
    count, what = frame.badges.get(key, (0, ""))
    badge = tag("b", str(count), role="img", aria_label=f"{count} {what}") if count else None
    return tag("a", word, badge, href=href, aria_current="page" if current else None)


def _who(frame: Frame) -> Safe:
    now, live = frame.now, tag("span", "live", class_="live off", hidden=True)
    utc = tag("span", f" · {now.at:%H:%M} UTC", class_="utc") if now.zone != "UTC" else None
    leave = tag("form", tag("button", "leave", type="submit"), method="post", action="/leave")
    time = tag("span", f"{now.clock(now.at)} {now.letters}", utc)
    return tag("div", live, time, tag("span", frame.user), leave, class_="who")


def _foot(frame: Frame) -> Safe:
    return tag("footer", f"Read only: every act is a link to Slack. Release {RELEASE}.", class_="foot")


def shapes() -> Safe:
    """The shapes of states, and the hatching of freezes and of what is hidden."""
    symbols = [tag("symbol", *drawn, id=f"i-{name}", viewBox="0 0 14 14") for name, drawn in SHAPES.items()]
    hatch = tag(
        "pattern",
        tag("rect", width="7", height="7"),
        tag("path", d="M0 0V7"),
        id="hatch",
        width="7",
        height="7",
        patternUnits="userSpaceOnUse",
        patternTransform="rotate(45)",
    )
    return tag("svg", tag("defs", *symbols, hatch), width="0", height="0", aria_hidden="true", class_="sr")


def _line(d: str, width: str, **more: str) -> Safe:
    return tag(
        "path", d=d, fill="none", stroke="currentColor", stroke_width=width, stroke_linecap="round", **more
    )


SHAPES: dict[str, list[Safe]] = {
    "run": [
        tag("circle", cx="7", cy="7", r="5.2", fill="none", stroke="currentColor", stroke_width="1.8"),
        tag("path", d="M7 1.8A5.2 5.2 0 0 1 12.2 7L7 7z", fill="currentColor"),
    ],
    "ok": [_line("M2.2 7.6 5.6 11 12 3.6", "2.1", stroke_linejoin="round")],
    "bad": [_line("M3 3l8 8M11 3l-8 8", "2.1")],
    "ask": [tag("path", d="M7 .9 13.1 7 7 13.1.9 7z", fill="currentColor")],
    "unk": [
        tag("path", d="M7 1.6 12.4 7 7 12.4 1.6 7z", fill="none", stroke="currentColor", stroke_width="1.8"),
        tag("circle", cx="7", cy="7", r="1.4", fill="currentColor"),
    ],
    "wait": [
        tag("circle", cx="7", cy="7", r="5.4", fill="none", stroke="currentColor", stroke_width="1.6"),
        _line("M7 3.9V7l2.2 1.5", "1.6"),
    ],
    "hold": [_line("M4.4 2.5v9M9.6 2.5v9", "2.4")],
    "skip": [_line("M2.5 7h9", "2.2")],
}
