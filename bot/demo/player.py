"""Plays one story at a time, in a thread of its own, while the page stays usable."""

import logging
from collections.abc import Callable
from threading import Lock, Thread

from bot.demo.stage import Stage
from storage.errors import SignoffError

logger = logging.getLogger(__name__)


class Player:
    """What plays now, if anything."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self._thread, self._lock = stage, None, Lock()

    _thread: Thread | None

    @property
    def playing(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self, story: Callable[[Stage], None]) -> str:
        with self._lock:
            if self.playing:
                return "A story plays already."
            self._thread = Thread(target=self._play, args=(story,), name="story", daemon=True)
            self._thread.start()
            return ""

    def wait(self, seconds: float) -> None:
        if self._thread:
            self._thread.join(seconds)

    def _play(self, story: Callable[[Stage], None]) -> None:
        self.stage.number = 0
        try:
            story(self.stage)
            self.stage.clear()
        except (SignoffError, TimeoutError, OSError, AssertionError) as error:
            logger.warning("the story broke off: %s", error)
            self.stage.say("The story broke off here. The logs say why; the buttons still work.")
            self.stage.clear()
