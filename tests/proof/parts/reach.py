"""Which tests reach which definitions of a module: those notice its mutants, the quickest first."""

import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

import pytest


class Reach:
    """A plugin of pytest: while it learns it puts down what each test calls; then it puts them in order."""

    def __init__(self, file: str) -> None:
        self._file, self._now = file, set[str]()
        self._tests: dict[str, tuple[frozenset[str], float]] = {}
        self._owner: str | None = None  # whose tests come first; None: it learns

    def first(self, owner: str) -> "Reach":
        self._owner = owner
        return self

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[object]:
        if self._owner is not None:
            return (yield)
        self._now, began = set(), time.monotonic()
        threading.setprofile(self._saw)
        sys.setprofile(self._saw)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type] # the stubs know of no end
            self._tests[item.nodeid] = frozenset(self._now), time.monotonic() - began

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._owner is not None:
            items.sort(key=lambda item: self._rank(item.nodeid))

    def _rank(self, test: str) -> tuple[bool, float]:
        reached, seconds = self._tests.get(test, (frozenset(), 0.0))
        return bool(self._owner) and self._owner not in reached, seconds

    def _saw(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename == self._file:
            self._now.add(frame.f_code.co_qualname.partition(".<locals>")[0])
