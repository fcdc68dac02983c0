"""The first five minutes, and one's own first job: what the README says, done literally and timed.

python -m tests.proof.first              from a clean clone and an empty HOME
python -m tests.proof.first --installed  with the Signoff that is installed here: the own first job only
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from playwright.sync_api import Browser, Page, expect

from tests.proof.first.site import BEFORE, Mine, empty_home, mine
from tests.support.browser import chromium, shot, visit
from tests.support.cluster.control_plane import tied, until
from tests.support.places import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
TEN_MINUTES = 600.0
PATIENCE = 1200.0  # seconds: an index may be far away


class Times:
    """A line for each thing that was done, with the seconds since the beginning."""

    def __init__(self, title: str) -> None:
        self.began = time.monotonic()
        print(f"{title}", flush=True)

    def say(self, what: str) -> float:
        passed = time.monotonic() - self.began
        print(f"  {passed:6.1f} s  {what}", flush=True)
        return passed


def own_commands() -> list[str]:
    """The commands under “Your own first job”, as they stand there."""
    section = README.partition("## Your own first job")[2].partition("\n## ")[0]
    return [
        line.strip().partition("  #")[0].strip() for line in section.splitlines() if line.startswith("    ")
    ]


def own_words() -> str:
    """What the README says to say."""
    return re.findall(r"`(/plan deploy [^`]+)`", README)[0]


@contextmanager
def shell(script: str, folder: Path, env: dict[str, str]) -> Iterator[IO[str]]:
    """The script in a shell; what it prints; and it is interrupted in the end, as a person does."""
    words = [*tied(), "bash", "-ec", script]
    with subprocess.Popen(words, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, text=True, start_new_session=True) as run:  # fmt: skip
        assert run.stdout
        try:
            yield run.stdout
        finally:
            subprocess.run(["kill", "-INT", "--", f"-{run.pid}"], check=False)
            run.stdout.read()


def address(output: IO[str], times: Times, marks: dict[str, str]) -> str:
    """Of the page, once it is printed; each mark is told with its time as it goes by."""
    seen: list[str] = []
    for line in output:
        seen.append(line)
        if line.strip() in marks:
            times.say(marks[line.strip()])
        if found := re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line):
            return found[0]
    raise SystemExit(f"It ended without an address:\n{''.join(seen[-30:])}")


def demo(folder: Path, browser: Browser) -> float:
    """`make demo`, and nothing but *Play the story*."""
    times = Times("make demo, from a clean clone and an empty HOME")
    begin = [f"git clone -q {ROOT} signoff", "echo @cloned", "cd signoff"]
    script = [*begin, "make install", "echo @installed", "make demo"]
    marks = {"@cloned": "cloned", "@installed": "installed"}
    with shell("\n".join(script), folder, empty_home(folder)) as output:
        url = address(output, times, marks)
        times.say("the demo is there")
        with visit(browser, url, 1180, 760) as page:
            page.get_by_test_id("lead").click()
            channel = page.get_by_test_id("channel")
            expect(channel).to_contain_text("auth-service is v2.1.4 on production", timeout=180_000)
            shot(page, "first-1-demo")
        return times.say("the founding story is finished")


def own_job(folder: Path, browser: Browser, *, installed: bool) -> float:
    """The README's commands, its words, and an approval; the cluster says whether it happened."""
    with mine(folder) as site:
        times = Times("my own first job: two deployments, a database, a repository with pytest")
        lines = [line.replace("git clone …", f"git clone -q {ROOT}") for line in own_commands()]
        if installed:
            lines[0] = f"export PATH={ROOT / '.venv' / 'bin'}:$PATH"
        marked = [f"{line}\necho @{number}" for number, line in enumerate(lines)]
        marks = {f"@{number}": line.split(" && ")[0] for number, line in enumerate(own_commands())}
        with shell("\n".join(marked), folder, site.env) as output:
            url = address(output, times, marks)
            times.say("signoff up --local: the page is there")
            with visit(browser, url, 1180, 860) as page:
                return deployed(page, site, times)


def deployed(page: Page, site: Mine, times: Times) -> float:
    """Asked by oneself, approved by the approver, run: seen on the card and in the cluster."""
    words = own_words()
    version = re.findall(r" (v[0-9.]+) ", words)[0]
    assert site.runs() == {BEFORE}
    expect(page.get_by_role("img", name="Signoff is connected")).to_be_visible(timeout=120_000)
    page.get_by_test_id("composer").first.fill(words)
    page.get_by_test_id("send").first.click()
    card = page.get_by_test_id("message").last
    expect(card).to_contain_text("can approve", timeout=120_000)
    shot(page, "first-2-card")
    times.say(f"the card for {words}")
    page.get_by_test_id("member").nth(1).click()
    card.locator('[data-testid="button"][data-action-id="approve"]').click()
    expect(card).to_contain_text(f"is {version} on production", timeout=180_000)
    until(lambda: site.runs() == {version}, f"the cluster runs {version}")
    shot(page, "first-3-done")
    assert site.runs("my-worker") == {BEFORE}
    return times.say(f"approved, tested, backed up, deployed: the cluster runs {version}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--installed", action="store_true", help="with the Signoff that is installed here")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, chromium() as browser:
        took = [] if given.installed else [demo(Path(place) / "demo", browser)]
        took.append(own_job(Path(place) / "own", browser, installed=given.installed))
    slow = max(took) > TEN_MINUTES
    print(f"{'LONGER THAN' if slow else 'within'} ten minutes")
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
