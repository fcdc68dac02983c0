"""Every sign that we write by name is one that the page can draw."""

import re
from pathlib import Path

import bot

HERE = Path(bot.__file__).parent
NAMED = re.compile(r"[\"' (]:([a-z_]{3,}):")


def test_the_page_knows_every_sign_by_its_name():
    page = (HERE / "local" / "web" / "page" / "emoji.js").read_text()
    rooms = (HERE / room for room in ("cards", "inbox", "plans", "slack", "turns"))
    used = {name for room in rooms for path in room.rglob("*.py") for name in NAMED.findall(path.read_text())}

    assert {"white_check_mark", "raised_hand"} <= used
    assert {name for name in used if f"{name}:" not in page} == set()
