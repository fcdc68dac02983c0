"""What the pages have people type: each command of ours is understood, and nothing comes by a bare name."""

import re
import shlex
from collections.abc import Iterator

import pytest
import yaml

from bot.__main__ import parser
from storage.__main__ import parser as storage_parser
from tests.support.places import ROOT

PAGES = [*sorted((ROOT / "docs").glob("*.md")), *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING"))]
OURS = re.compile(
    r"(?:^|/bin/|&& |run: +|=\S* |\d )signoff ([a-z].*)|^\s*(?:SIGNOFF\S+ )?python -P -m storage (.*)"
)
END = re.compile(r"\s(?:[|>#]|&&).*|\)$|;.*")


def code(text: str) -> Iterator[str]:
    """Every line that is code, and every `span`; what a backslash or YAML folds is one line."""
    for number, part in enumerate(re.split(r"^```.*\n", text, flags=re.MULTILINE)):
        if number % 2:
            yield from re.sub(r"\\\n|>\n|\n\s+(?=--)", " ", part).splitlines()
        else:
            yield from (line.strip() for line in part.splitlines() if line.startswith("    "))
            prose = re.sub(r"^    .*\n", "", part, flags=re.MULTILINE)
            yield from (" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose))


def typed() -> set[tuple[str, str]]:
    """A page and what it says behind `signoff`; storage's own commands are those of `signoff audit`."""
    found = {
        (page.name, END.sub("", " ".join(said.split())))
        for page in PAGES
        for line in code(page.read_text(encoding="utf-8"))
        if (match := OURS.search(line))
        for said in [match[1] or f"audit {match[2]}"]
    }
    assert len(found) > 50
    return found


@pytest.mark.parametrize(("page", "said"), sorted(typed()))
def test_every_command_on_a_page_is_one_that_is_understood(page, said, capsys):
    words = shlex.split(said)
    try:
        if words[0] == "audit" and words[1:]:
            storage_parser("signoff audit").parse_args(words[1:])
        else:
            parser().parse_args(words)
    except SystemExit:
        # In passing, a page names a command without what it needs.
        assert "the following arguments are required" in capsys.readouterr().err, page


def test_nothing_is_installed_by_a_name_that_an_index_may_give_to_somebody_else():
    files = [*PAGES, *(ROOT / room for room in ("bot", "workers", "storage"))]
    texts = [
        file.read_text("utf-8") for top in files for file in ([top] if top.is_file() else top.rglob("*.py"))
    ]

    assert [found for text in texts for found in re.findall(r"pip install '?signoff\b.*", text)] == []


def test_no_word_from_outside_is_put_into_a_pipeline_s_shell():
    """`${{ … }}` in a script is text before there is a shell: a branch's name would be a command."""
    page = (ROOT / "docs" / "machines.md").read_text(encoding="utf-8")
    (job,) = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL))
    runs = [step["run"] for step in job["deploy"]["steps"]]

    assert len(runs) == 2
    assert not any("${{" in run for run in runs)
