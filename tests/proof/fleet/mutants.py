"""What the fleet must not do, done: python -m tests.proof.fleet.mutants. Each must be seen by a test.

Each is written into a copy of the tree, and the named tests run there.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.support.places import ROOT

CODE = "workers/builtin/code/"
TESTS = "tests/workers/builtin/code/"


class Mutant(NamedTuple):
    what: str
    file: str
    right: str
    wrong: str
    tests: str


MUTANTS = (
    Mutant("tests are not restored before judging", CODE + "ground/acceptance.py",
           "and not matches(path, entry.protected)", "", TESTS + "ground/test_acceptance.py"),
    Mutant("tests outside of the globs are anybody's", CODE + "ground/acceptance.py",
           "and path not in judges", "", TESTS + "ground/test_acceptance.py"),
    Mutant("git finds its directory by itself", CODE + "ground/git.py",
           '{"GIT_DIR": str(self.dir)} |', "{} |", TESTS + "ground/test_queue.py"),
    Mutant("the checkout finds its directory by itself", "workers/builtin/testing/checkout.py",
           '"GIT_DIR": str(place / ".git"),', "", "tests/workers/builtin/testing/test_checkout.py"),
    Mutant("exit 127 counts as red", CODE + "ground/acceptance.py",
           "done.returncode == RED or", "done.returncode in (RED, 127) or",
           TESTS + "ground/test_acceptance.py"),
    Mutant("exit 0 alone is believed", CODE + "ground/acceptance.py",
           "re.search(git.entry.finished(), done.text())", "True",
           TESTS + "ground/test_acceptance.py"),
    Mutant("a branch moves without a look at where it stood", CODE + "ground/git.py",
           'self.run("update-ref", ref, new, old or "0" * 40)', 'self.run("update-ref", ref, new)',
           TESTS + "ground/test_queue.py"),
    Mutant("dead locks stay", CODE + "ground/places.py",
           "lock.unlink(missing_ok=True)", "pass", TESTS + "ground/test_queue.py"),
    Mutant("the key is missing from the trailers", CODE + "change/code_agent.py",
           '"Key": self.ctx.key,', "", TESTS + "change/test_code_agent.py"),
    Mutant("trouble of the API uses up a rung", CODE + "change/code_agent.py",
           'return self._failed(str(error), "api", kind="transient")',
           'self.rungs.note("api"); return self._failed(str(error), "api", kind="transient")',
           TESTS + "change/test_code_agent.py"),
    Mutant("the gate holds nothing", CODE + "ground/gate.py",
           "return [*dict.fromkeys([*found, *_size(entry, added)])][:10]", "return []",
           TESTS + "change/test_code_agent.py"),
    Mutant("the box has a network", "workers/commands/box.py", '"--unshare-net",', "",
           "tests/workers/commands/test_box.py"),
    Mutant("the box passes variables on", "workers/commands/box.py", '"--clearenv",', "",
           "tests/workers/commands/test_box.py"),
    Mutant("any item is taken", CODE + "ground/subtasks.py",
           "if not 0 <= number < len(self.items):", "if False:", TESTS + "change/test_code_agent.py"),
    Mutant("a part may change what is not its own", CODE + "reading/splitting.py",
           "if not matches(path, item.paths)", "if False", TESTS + "reading/test_splitting.py"),
    Mutant("a part may leave a test out", CODE + "reading/splitting.py",
           "if not any(one == test or one.startswith(f\"{test}::\") for one in named):", "if False:",
           TESTS + "reading/test_splitting.py"),
    Mutant("parts are cut further", CODE + "reading/splitting.py",
           "if item.instead is None", "if True", TESTS + "reading/test_splitting.py"),
    Mutant("a draft goes back again and again", CODE + "reading/reworking.py",
           "if work.item(number).instead is not None and work.since]", "if False]",
           TESTS + "reading/test_reworking.py"),
    Mutant("a silent API uses up a rung", CODE + "change/code_agent.py",
           'return self._failed(str(error), "stalled", kind="transient")',
           'self.rungs.note("quiet"); return self._failed(str(error), "stalled", kind="transient")',
           TESTS + "change/test_code_agent.py"),
    Mutant("any file is work", CODE + "ground/subtasks.py",
           "if not inside or path.is_symlink() or not path.is_file():", "if not path.is_file():",
           TESTS + "change/test_code_agent.py"),
)  # fmt: skip


def copied(place: Path) -> None:
    for name in ("bot", "storage", "workers", "tests"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__", "artifacts"))
    for name in ("pyproject.toml", "manifest.yml"):
        shutil.copy(ROOT / name, place / name)


def places(mutant: Mutant) -> int:
    """How often what it replaces is there: once, or it is no mutant any more."""
    return (ROOT / mutant.file).read_text().count(mutant.right)


def seen(mutant: Mutant, place: Path) -> bool:
    """Whether its tests fail with it."""
    file = place / mutant.file
    right = file.read_text()
    try:
        file.write_text(right.replace(mutant.right, mutant.wrong))
        words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", mutant.tests]
        env = {**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(words, cwd=place, env=env, capture_output=True, check=False).returncode == 1
    finally:
        file.write_text(right)


def main() -> int:
    place = Path(tempfile.mkdtemp(prefix="mutants-"))
    copied(place)
    missed = 0
    for mutant in MUTANTS:
        good = seen(mutant, place)
        missed += not good
        sys.stdout.write(f"{'seen  ' if good else 'MISSED'}  {mutant.what}\n")
        sys.stdout.flush()
    shutil.rmtree(place, ignore_errors=True)
    sys.stdout.write(f"{len(MUTANTS) - missed} of {len(MUTANTS)} mutants are seen\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
