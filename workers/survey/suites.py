"""How the tests of a folder are run, guessed from the files that its tool leaves there."""

import json
from collections.abc import Callable
from pathlib import Path

from storage.contract.survey import SuiteFound

Guess = tuple[str, tuple[str, ...]]  # the tool as [inventory.suites] calls it, and the command


def look(folder: Path) -> SuiteFound | None:
    """The first tool that is at home there."""
    for guess in (_pytest, _node, _go, _cargo, _make):
        if found := guess(folder):
            return SuiteFound(directory=str(folder.resolve()), tool=found[0], command=found[1])
    return None


def _pytest(folder: Path) -> Guess | None:
    named = [folder / name for name in ("pytest.ini", "conftest.py", "tests/conftest.py")]
    told = "[tool.pytest" in _text(folder / "pyproject.toml") or "[tool:pytest]" in _text(
        folder / "setup.cfg"
    )
    tests = any(True for place in (folder, folder / "tests") for _ in place.glob("test_*.py"))
    if not (told or tests or any(path.exists() for path in named)):
        return None
    own = [folder / place / "bin" / "pytest" for place in (".venv", "venv", "env")]
    program = next((str(path.resolve().parent / path.name) for path in own if path.exists()), "pytest")
    return "pytest", (program, "-q")


def _node(folder: Path) -> Guess | None:
    try:
        package = json.loads(_text(folder / "package.json") or "{}")
        test = str(package.get("scripts", {}).get("test", ""))
    except (ValueError, AttributeError):
        return None
    for word, guess in NODE.items():
        if word in test:
            return guess
    return ("exit-code", ("npm", "test")) if test and "no test specified" not in test else None


NODE: dict[str, Guess] = {
    "vitest": ("vitest", ("npx", "vitest", "run")),
    "jest": ("jest", ("npx", "jest")),
    "node --test": ("node", ("node", "--test")),
}


def _file(name: str, guess: Guess) -> Callable[[Path], Guess | None]:
    return lambda folder: guess if (folder / name).exists() else None


_go = _file("go.mod", ("go", ("go", "test", "./...")))
_cargo = _file("Cargo.toml", ("cargo", ("cargo", "test")))


def _make(folder: Path) -> Guess | None:
    lines = _text(folder / "Makefile").splitlines()
    return ("exit-code", ("make", "test")) if any(line.startswith("test:") for line in lines) else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
