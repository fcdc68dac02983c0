"""What developers run is the same everywhere, and what it names exists."""

import re

from hypothesis import settings

from tests.support.places import ROOT


def test_a_run_here_and_a_run_on_ci_draw_the_same_cases() -> None:
    assert settings.get_current_profile_name() == "signoff"


def test_how_cases_are_drawn_is_said_in_one_place() -> None:
    """How many are drawn is each test's own choice."""
    own = re.compile(r"\b(deadline|derandomize|database|print_blob)=(None|True|False)\b")
    odd = [file.name for file in (ROOT / "tests").rglob("*.py") if own.search(file.read_text("utf-8"))]

    assert odd == ["conftest.py"]
