"""Three-line builders for Slack's blocks, and the one place where foreign text is made inert."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from bot.untrusted import clip, legible

Block = dict[str, Any]

MENU = "more"  # the dots behind which buttons stand that can wait
PREFIX = 16  # characters of the digest that a button carries
LONGEST = 3000  # characters in one text; what is longer is cut before it is looked at
WHOLE = 2900  # characters in one section
FENCE = "```"
LIMIT = 10_000  # characters in one message; Slack refuses somewhere above 11,000 without saying where


def escape(text: str) -> str:
    """Foreign text for mrkdwn: it cannot mention, link, or look like ours."""
    text = legible(clip(text, LONGEST)).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("`", "ˋ").replace("*", "∗").replace("~", "∼")


def section(text: str) -> Block:
    return {"type": "section", "text": {"type": "mrkdwn", "text": clip(text, WHOLE)}, "expand": True}


def split(texts: Iterable[str]) -> list[str]:
    """The same texts, each in as many parts as sections hold; neither a line nor a block of code is torn."""
    parts: list[str] = []
    for text in filter(None, texts):
        parts.append("")
        for line in text.split("\n"):
            if len(parts[-1]) + len(line) > WHOLE and parts[-1]:
                torn = parts[-1].count(FENCE) % 2
                parts[-1] += f"\n{FENCE}" if torn else ""
                parts.append(FENCE if torn else "")
            parts[-1] += ("\n" if parts[-1] else "") + line
    return parts


def fenced(text: str) -> str:
    """A text as it stands, in a block of code, where nothing in it links or mentions."""
    safe = text.strip("\n").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"{FENCE}\n{safe}\n{FENCE}"


def header(text: str) -> Block:
    return {"type": "header", "text": plain(clip(text, 150))}


def beside(text: str, element: Block) -> Block:
    """A section with a button at its side."""
    return section(text) | {"accessory": element}


def linked(url: str, text: str) -> str:
    """Foreign text as a link of ours; without an address, the text alone."""
    words = escape(text).replace("|", "¦").replace("\n", " ")
    return f"<{url}|{words}>" if url else words


def permalink(site: str, channel: str, ts: str) -> str:
    """Where a message stands, as Slack itself would say; "" while it stands nowhere."""
    return f"{site}archives/{channel}/p{ts.replace('.', '')}" if site and ts else ""


def moment(at: datetime) -> str:
    """An instant in the reader's own zone; where Slack cannot say it, in UTC."""
    return f"<!date^{int(at.timestamp())}^{{date_short_pretty}} {{time}}|{at:%a %H:%M} UTC>"


def clock(at: datetime) -> str:
    """The same without its day."""
    return f"<!date^{int(at.timestamp())}^{{time}}|{at:%H:%M} UTC>"


def context(*texts: str) -> Block:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": clip(t, 1900)} for t in texts[:10]]}


def actions(block_id: str, *buttons: Block) -> Block:
    return {"type": "actions", "block_id": block_id, "elements": list(buttons)}


def button(label: str, action_id: str, value: str, style: str = "") -> Block:
    made: Block = {"type": "button", "action_id": action_id, "text": plain(label), "value": value}
    return made | ({"style": style} if style else {})


def menu(*buttons: Block) -> Block:
    """The same buttons behind three dots: a choice names its button, and counts as pressing that."""
    options = [{"text": one["text"], "value": f"{one['action_id']} {one['value']}"} for one in buttons]
    return {"type": "overflow", "action_id": MENU, "options": options}


def pressed(action: Block) -> tuple[str, str]:
    """Which button was pressed, and what it carries, of what Slack says of a button or of a menu."""
    if action["action_id"] != MENU:
        return action["action_id"], action.get("value", "")
    name, _, value = (action.get("selected_option") or {}).get("value", "").partition(" ")
    return name or MENU, value


def elements(blocks: list[Block]) -> list[Block]:
    """What can be pressed in a message."""
    return [made for block in blocks if block["type"] == "actions" for made in block["elements"]]


def plain(text: str) -> Block:
    return {"type": "plain_text", "text": text}


def rich(text: str) -> Block:
    """Plain words as rich text: nothing in them is markup."""
    return {
        "type": "rich_text",
        "elements": [
            {
                "type": "rich_text_section",
                "elements": [{"type": "text", "text": legible(clip(text, LONGEST)) or " "}],
            }
        ],
    }


def pack(plan: int, revision: int, digest: str, step: str = "") -> str:
    """What a button carries: never trusted, only looked up."""
    return json.dumps({"p": plan, "r": revision, "d": digest[:PREFIX]} | ({"s": step} if step else {}))


def size(blocks: list[Block]) -> int:
    """Characters of text in a message, as Slack seems to count them."""
    return len(json.dumps(blocks, ensure_ascii=False))
