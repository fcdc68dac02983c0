"""The ids that Slack makes up where the app gave none."""

import secrets

from bot.local.shapes import Json


def number_blocks(body: Json) -> Json:
    """Give every block and element of a message or view its id."""
    if "blocks" not in body:
        return body
    return body | {"blocks": [_number_block(block) for block in body["blocks"]]}


def _number_block(given: Json) -> Json:
    block: Json = {"block_id": secrets.token_urlsafe(4)} | given
    for name in ("elements", "child_blocks"):
        if name in block and block["type"] in ("actions", "container"):
            number = _number_block if name == "child_blocks" else _number_element
            block[name] = [number(part) for part in block[name]]
    for name in ("accessory", "element"):
        if name in block:
            block[name] = _number_element(block[name])
    return block


def _number_element(element: Json) -> Json:
    return {"action_id": secrets.token_urlsafe(4)} | element
