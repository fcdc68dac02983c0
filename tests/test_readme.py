"""The README and the pages beside it tell the truth: every setting is listed, every link leads somewhere."""

import re

import pytest
from PIL import Image

from bot.__main__ import VERBS
from bot.config import BotSettings
from tests.support.places import ROOT
from workers.__main__ import WorkersSettings

README = (ROOT / "README.md").read_text(encoding="utf-8")
SETTINGS = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
INTERNAL = {"SIGNOFF_CLOCK", "SIGNOFF_PARENT"}  # the demo's clock and the supervisor set these


def test_every_setting_stands_in_the_table():
    fields = {**BotSettings.model_fields, **WorkersSettings.model_fields}
    names = {
        str(field.validation_alias.choices[0]) if field.validation_alias else f"SIGNOFF_{name.upper()}"
        for name, field in fields.items()
    }

    assert {name for name in names - INTERNAL if f"`{name}`" not in SETTINGS} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_and_picture_leads_to_a_file(page):
    text = page.read_text(encoding="utf-8")
    named = [*re.findall(r"\]\(([^)#:]+)\)", text), *re.findall(r'<img src="([^":]+)"', text)]

    assert [name for name in named if not (page.parent / name).exists()] == []


def test_the_picture_of_the_card_is_sharp_and_small():
    file = ROOT / "docs" / "pictures" / "card.png"

    with Image.open(file) as picture:
        assert picture.width > 2 * 560
    assert file.stat().st_size < 200_000


def test_the_recording_moves_and_is_small():
    """tests/bot/demo/test_stories.py makes it, in tests/artifacts."""
    file = ROOT / "docs" / "pictures" / "story.webp"

    with Image.open(file) as picture:
        assert picture.n_frames >= 12
        assert picture.width >= 860
    assert file.stat().st_size < 800_000


def test_every_command_that_the_readme_names_is_one_of_ours():
    named = {*re.findall(r"`signoff ([a-z]+)`", README)}

    assert named
    assert named <= VERBS.keys()


def test_the_server_is_installed_as_the_image_is():
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    steps = re.findall(r"/opt/signoff/bin/(pip install \S.*)", README)

    assert len(steps) == 2
    assert [step for step in steps if step not in image] == []
