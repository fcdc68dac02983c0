"""A repository, a scripted model on loopback, and what a change step needs, for tests of the fleet."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.scratch import at
from workers.base import Context, Report
from workers.builtin.code.change.code_agent import ChangeData, ChangeParams, CodeAgent
from workers.builtin.code.ground import model as api
from workers.builtin.code.ground.git import Git
from workers.builtin.code.ground.repository import Entry, entry_of
from workers.builtin.code.ground.subtasks import read_plan, write
from workers.commands import box
from workers.practice import sample_repository
from workers.practice.model import Model, Server, handler

boxed = pytest.mark.skipif(
    box.kind() == "none", reason="this machine offers no namespaces: bubblewrap cannot box"
)


@contextmanager
def serving(model: Model, monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    server = Server(("127.0.0.1", 0), handler(model))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-that-must-stay-here")
    api.client.cache_clear()
    try:
        yield model
    finally:
        if api.client.cache_info().currsize:
            api.client("", "ANTHROPIC_API_KEY", 120.0).close()
        api.client.cache_clear()
        server.shutdown()
        server.server_close()
        thread.join()


class Ground:
    """One repository with some parts that are not written yet."""

    def __init__(self, home: Path, parts: int = 3, **entry: Any) -> None:
        self.home, self.repository = home, home / "shop"
        sample_repository.plant(self.repository, parts)
        self.raw = {
            "source": str(self.repository),
            "pool": str(home / "pool"),
            "suite": [sys.executable, "-I", "-B", "tests/run.py"],
            **entry,
        }
        self.plan = sample_repository.subtasks(parts)

    @property
    def entry(self) -> Entry:
        return entry_of("shop", self.raw)

    @property
    def inventory(self) -> dict[str, dict[str, dict[str, Any]]]:
        return {"repositories": {"shop": self.raw}}

    def git(self, step: str = "look") -> Git:
        return Git(self.entry, at(self.home / "attempts", step))

    def work(self, plan: str = "") -> str:
        """The file that a decompose step would have left."""
        context = at(self.home / "attempts", "decompose")
        base = self.git("decompose").fetch()
        return write(read_plan(plan or self.plan, "shop", base), context.scratch)[0]

    def change(
        self, item: int = 0, *, attempt: int = 1, work: str = "", **context: Any
    ) -> Report[ChangeData]:
        step = f"change-{item}"
        place = self.home / "attempts" / "plan-1" / step / str(attempt)
        ctx = Context(
            plan=1,
            step=step,
            attempt=attempt,
            key=f"plan-1-{step}-abc",
            place=place,
            now=at(self.home).now,
            **context,
        )
        worker = CodeAgent(self.inventory)
        params = ChangeParams(repository="shop", work=work or self.work(), item=item)
        return CodeAgent.change.run(worker, params, ctx)
