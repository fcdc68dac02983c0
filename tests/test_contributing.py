"""CONTRIBUTING.md leads somewhere: every place, command and name in it exists."""

import re

import pytest

from tests.support.places import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PLACES = sorted({*re.findall(r"`((?:bot|storage|workers|tests|docs)/(?!a/)[\w/]*(?:\.\w+)?)`", PAGE)})
# A name of the code, and where the page says that it stands.
NAMES = [
    *re.findall(r"`([\w.]+)` (?:in|of)\s+`([\w/]+\.py)`", PAGE),
    ("EVENTS", "storage/database/grants.py"),
]


@pytest.mark.parametrize("place", PLACES)
def test_every_place_exists(place):
    assert (ROOT / place).exists()


def test_there_are_places_and_names():
    assert len(PLACES) > 30
    assert len(NAMES) > 5


@pytest.mark.parametrize(("name", "file"), NAMES)
def test_every_name_stands_where_it_is_said_to(name, file):
    assert re.search(rf"\b{re.escape(name)}\b", (ROOT / file).read_text(encoding="utf-8"))


def test_every_target_of_make_exists():
    named = {*re.findall(r"(?:`|^    )make ([a-z-]+)", PAGE, re.MULTILINE)}
    known = {*re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE)}

    assert {"check", "test", "proof"} <= named
    assert named <= known


def test_every_room_of_the_bot_that_holds_behaviour_is_in_the_table():
    rooms = {f"bot/{room.parent.name}/" for room in (ROOT / "bot").glob("*/__init__.py")}
    named = re.findall(r"`(bot/\w+/)", PAGE)

    assert rooms - {*named} <= {"bot/slack/", "bot/plans/"}


def test_the_changelog_has_the_version_of_the_project():
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)

    assert version
    assert re.findall(r"^## \[([\d.]+)\]", CHANGES, re.MULTILINE)[0] == version[1]
