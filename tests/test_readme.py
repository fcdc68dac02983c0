"""The README is a map: every module stands on it, every setting in its table, every test it names exists."""

import re
from pathlib import Path

from bot.config import BotSettings
from workers.__main__ import WorkersSettings

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAP = README.partition("## How it is built")[2]
INTERNAL = {"SIGNOFF_CLOCK", "SIGNOFF_PARENT"}  # the demo's clock and the supervisor set these


def test_every_module_stands_on_the_map():
    files = [path for part in ("bot", "workers", "storage") for path in (ROOT / part).rglob("*.py")]
    modules = {f.stem for f in files if not {"sample", "versions", "migrations"} & {*f.parts}} - {
        "__init__",
        "__main__",
    }

    assert {name for name in modules if not re.search(rf"\b{name}\b", MAP)} == set()


def test_every_setting_stands_in_the_table():
    fields = {**BotSettings.model_fields, **WorkersSettings.model_fields}
    names = {
        str(field.validation_alias.choices[0]) if field.validation_alias else f"SIGNOFF_{name.upper()}"
        for name, field in fields.items()
    }

    assert {name for name in names - INTERNAL if f"`{name}`" not in README} == set()


def test_every_test_that_is_named_exists():
    named = re.findall(r"`(tests/\w+\.py)`", README)

    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
