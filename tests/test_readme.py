"""The README tells the truth: every setting stands in its table."""

from bot.config import BotSettings
from tests.support.places import ROOT
from workers.__main__ import WorkersSettings

README = (ROOT / "README.md").read_text(encoding="utf-8")
INTERNAL = {"SIGNOFF_CLOCK", "SIGNOFF_PARENT"}  # the demo's clock and the supervisor set these


def test_every_setting_stands_in_the_table():
    fields = {**BotSettings.model_fields, **WorkersSettings.model_fields}
    names = {
        str(field.validation_alias.choices[0]) if field.validation_alias else f"SIGNOFF_{name.upper()}"
        for name, field in fields.items()
    }

    assert {name for name in names - INTERNAL if f"`{name}`" not in README} == set()
