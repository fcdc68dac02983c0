"""A sample repository for the demo and the tests: parts that are not written yet, each with a test."""

import json
import subprocess
from pathlib import Path

RUNNER = '''"""Runs the named test files, or all: exit 1 when a test fails, 5 when there is none."""
import pathlib, sys, unittest
root = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(root))
names = sys.argv[1:] or sorted(str(one.relative_to(root)) for one in (root / "tests").glob("test_*.py"))
if not names or any(not (root / name).is_file() for name in names):
    print("there is no such test"); sys.exit(5)
modules = [name.removesuffix(".py").replace("/", ".") for name in names]
result = unittest.TextTestRunner(verbosity=1).run(unittest.defaultTestLoader.loadTestsFromNames(modules))
sys.exit(0 if result.wasSuccessful() else 1)
'''
PART = '''"""Part {n} of the shop.

Wanted: def price_{n}(count): return count * {k} + {n}
"""
'''
TEST = """import unittest


class Part{n}(unittest.TestCase):
    def test_price(self):
        from shop.part_{n:03} import price_{n}

        self.assertEqual([price_{n}(count) for count in (0, 1, 7)], [{n}, {k} + {n}, 7 * {k} + {n}])
"""
TITLES = (
    "Price tables",
    "Price chairs",
    "Price lamps",
    "Price shelves",
    "Price carpets",
    "Price mirrors",
    "Price clocks",
    "Price vases",
)


def title_of(number: int) -> str:
    return TITLES[number] if number < len(TITLES) else f"Price part {number}"


def plant(place: Path, parts: int) -> None:
    """A repository with one commit, unless there is one."""
    if (place / ".git").exists():
        return
    for name in ("shop", "tests"):
        (place / name).mkdir(parents=True, exist_ok=True)
        (place / name / "__init__.py").write_text("")
    (place / "tests" / "run.py").write_text(RUNNER)
    (place / "README.md").write_text("# Shop\n\nA sample repository: its parts are not written yet.\n")
    for n in range(parts):
        k = 3 + n % 7
        (place / "shop" / f"part_{n:03}.py").write_text(PART.format(n=n, k=k))
        (place / "tests" / f"test_part_{n:03}.py").write_text(TEST.format(n=n, k=k))
    _git(place, "init", "--quiet", "-b", "main")
    _git(place, "add", ".")
    author = ("-c", "user.name=Shop", "-c", "user.email=shop@example.com")
    _git(place, *author, "commit", "--quiet", "-m", "A shop whose parts are not written yet")


def subtasks(parts: int) -> str:
    """The plan file: one subtask for each part."""
    return json.dumps(
        {
            "subtasks": [
                {
                    "title": title_of(n),
                    "brief": f"Write what the docstring of shop/part_{n:03}.py wants.",
                    "paths": [f"shop/part_{n:03}.py"],
                    "tests": [f"tests/test_part_{n:03}.py"],
                }
                for n in range(parts)
            ]
        },
        indent=1,
    )


def _git(place: Path, *words: str) -> None:
    env = {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "PATH": "/usr/bin:/bin",
        "HOME": "/nonexistent",
    }
    subprocess.run(["git", *words], cwd=place, check=True, capture_output=True, env=env)  # noqa: S603, S607 # constants
