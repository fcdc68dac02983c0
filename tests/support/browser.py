"""A headless Chromium for tests; without one they are skipped with the reason, and on CI they fail."""

import io
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.support.places import ARTIFACTS

# A headless test browser has nothing to fetch or to report.
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--no-first-run")  # fmt: skip
PATIENCE = 30_000  # milliseconds


def shot(page: Page, name: str) -> None:
    """Keep what the page looks like now in tests/artifacts."""
    ARTIFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTIFACTS / f"{name}.png")


@contextmanager
def chromium() -> Iterator[Browser]:
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        reason = "There is no Chromium on this machine. On Debian: apt-get install chromium"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=[*QUIET])
        yield browser
        browser.close()


@contextmanager
def visit(browser: Browser, url: str, width: int = 1280, height: int = 900, **options: Any) -> Iterator[Page]:
    """A page in a window of its own, without motion; in the end nothing has gone wrong in it."""
    size: Any = {"width": width, "height": height}
    context = browser.new_context(viewport=size, reduced_motion="reduce", **options)
    page, wrongs = context.new_page(), list[str]()
    page.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    page.on("pageerror", lambda error: wrongs.append(str(error)))
    page.on("console", lambda message: wrongs.append(message.text) if message.type == "error" else None)
    page.goto(url)
    try:
        yield page
    finally:
        context.close()
    assert not wrongs, wrongs


WIDTH = 860
LONGEST, SHORTEST = 2600, 120  # milliseconds that a frame stands


class Recording:
    """Looks when it is told to."""

    def __init__(self, page: Page) -> None:
        self.page, self.frames, self.times = page, list[Image.Image](), list[float]()

    def look(self) -> None:
        """A frame, if anything has changed since the last one."""
        seen = Image.open(io.BytesIO(self.page.screenshot(type="png"))).convert("RGB")
        small = seen.resize((WIDTH, round(seen.height * WIDTH / seen.width)), Image.Resampling.LANCZOS)
        if not self.frames or ImageChops.difference(small, self.frames[-1]).getbbox():
            self.frames.append(small)
            self.times.append(time.monotonic())

    def write(self, name: str) -> None:
        """Into tests/artifacts. Nobody waits while nothing happens, and nothing flashes by."""
        stood = [b - a for a, b in zip(self.times, [*self.times[1:], self.times[-1] + 3], strict=True)]
        times = [round(min(LONGEST, max(SHORTEST, 2500 * seconds))) for seconds in stood]
        ARTIFACTS.mkdir(exist_ok=True)
        first, *rest = self.frames
        first.save(
            ARTIFACTS / name, save_all=True, append_images=rest, duration=times, loop=0, quality=62, method=4
        )
