"""A message or a view as plain text, for whoever reads without a screen."""

from collections.abc import Iterator

from bot.local.shapes import Json

SIGNS = {"pending": "○", "in_progress": "◐", "complete": "✓", "error": "✗"}


def readable(body: Json) -> str:
    """The text people see: the blocks if there are any, else the text; then the names of files."""
    blocks = body.get("blocks")
    shown = [line for block in blocks for line in _lines(block)] if blocks else [str(body.get("text", ""))]
    files = [f"[{file['name']}] {file['title']}" for file in body.get("files", [])]
    return "\n".join([*shown, *files]).strip("\n")


def _lines(block: Json) -> Iterator[str]:
    match block["type"]:
        case "plan":
            yield block["title"]
            yield from (line for task in block["tasks"] for line in _task(task))
        case "rich_text":
            yield rich(block)
        case "image":
            yield f"[image] {_text(block.get('title')) or block['alt_text']}"
        case "table":
            yield from map(_row, block["rows"])
        case "container":
            yield _text(block.get("title")) or rich(block.get("rich_text_title", {}))
            yield from (line for child in block["child_blocks"] for line in _lines(child))
        case "input":
            hint = f" ({_text(block['hint'])})" if "hint" in block else ""
            yield f"{_text(block['label'])}: {_element(block['element'])}{hint}"
        case _:
            yield from _plain_lines(block)


def _plain_lines(block: Json) -> Iterator[str]:
    yield from (text for text in (_text(block.get("text")), *map(_text, block.get("fields", []))) if text)
    if block["type"] == "context":
        yield " ".join(_text(element) for element in block["elements"])
    if block["type"] == "actions":
        yield " ".join(_element(element) for element in block["elements"])
    if "accessory" in block:
        yield _element(block["accessory"])


def _row(cells: list[Json]) -> str:
    return " | ".join(rich(cell) if cell["type"] == "rich_text" else cell["text"] for cell in cells)


def _task(task: Json) -> Iterator[str]:
    yield f"{SIGNS[task['status']]} {task['title']}"
    for name in ("details", "output"):
        if name in task:
            yield f"   {rich(task[name])}"
    yield from (f"   {source['text']} <{source['url']}>" for source in task.get("sources", []))


def _element(element: Json) -> str:
    return f"[{_text(element.get('text')) or element['action_id']}]"


def _text(text: Json | None) -> str:
    return text["text"] if text else ""


def rich(block: Json) -> str:
    return "\n".join(_rich_part(part) for part in block.get("elements", []))


def _rich_part(part: Json) -> str:
    if part["type"] == "rich_text_list":
        return "\n".join(f"• {_rich_part(item)}" for item in part["elements"])
    return "".join(_inline(element) for element in part["elements"])


def _inline(element: Json) -> str:
    match element["type"]:
        case "user":
            return f"<@{element['user_id']}>"
        case "usergroup":
            return f"<!subteam^{element['usergroup_id']}>"
        case "channel":
            return f"<#{element['channel_id']}>"
        case "emoji":
            return f":{element['name']}:"
        case "broadcast":
            return f"@{element['range']}"
        case "link":
            return str(element.get("text", element["url"]))
        case "date":
            return str(element.get("fallback", element["timestamp"]))
    return str(element["text"])
