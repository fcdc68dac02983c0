"""The ladder of one subtask, remembered between attempts: trouble of the API uses up no rung."""

import json
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from workers.builtin.code.ground.repository import Model

AGAIN = 2  # conversations with each model


def last_tried(pool: Path, plan: int, step: str) -> str:
    """Why its last attempt came to nothing, or ""."""
    return (_read(_file(pool, plan, step)) or [""])[-1]


def exhausted(pool: Path, plan: int, step: str, models: int) -> bool:
    """Whether every model has tried it as often as it may."""
    return len(_read(_file(pool, plan, step))) >= AGAIN * models


def forget_all(pool: Path, plan: int) -> None:
    """The plan is over."""
    shutil.rmtree(pool / "rungs" / str(plan), ignore_errors=True)


def _file(pool: Path, plan: int, step: str) -> Path:
    return pool / "rungs" / str(plan) / f"{step}.json"


def _read(file: Path) -> list[str]:
    with suppress(OSError, ValueError):
        return [str(line) for line in json.loads(file.read_text())]
    return []


class Rungs:
    """How often a subtask was red, and in two lines what was tried."""

    def __init__(self, pool: Path, plan: int, step: str, models: int) -> None:
        self._file, self._models = _file(pool, plan, step), models
        self._tried = _read(self._file)

    def model(self, models: Sequence[Model]) -> Model:
        """Cheap first; a dearer one when that came to nothing."""
        return models[min(len(self._tried) // AGAIN, len(models) - 1)]

    def said(self) -> str:
        return "\n".join(line[:200] for line in self._tried[-2:])

    def note(self, why: str) -> None:
        self._tried.append(why)
        self._write()

    def left(self, *, skip: bool = False) -> bool:
        """Whether there is a rung before a person; after a refusal, the next one is another model."""
        if skip:
            self._tried += ["it refused"] * (-len(self._tried) % AGAIN)
            self._write()
        return len(self._tried) < AGAIN * self._models

    def forget(self) -> None:
        self._file.unlink(missing_ok=True)

    def _write(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        draft = self._file.with_suffix(".partial")
        draft.write_text(json.dumps(self._tried))
        draft.replace(self._file)
