"""An installation without extras: in a process of its own, or as this process sees it."""

from importlib.util import find_spec
from pathlib import Path

import pytest

# Python imports a module of this name when it starts.
REFUSE = """
import os, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in os.environ["WITHOUT"].split():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
"""


def without(place: Path, *packages: str) -> dict[str, str]:
    """The environment of a process, and of all that it starts, for which these packages are not there."""
    place.mkdir(exist_ok=True)
    (place / "sitecustomize.py").write_text(REFUSE)
    return {"PYTHONPATH": str(place), "WITHOUT": " ".join(packages)}


def forget(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """These are not there for whoever asks for the sentence, in this process."""
    monkeypatch.setattr(
        "storage.extras.find_spec", lambda name: None if name in packages else find_spec(name)
    )
