"""Install the built wheel into a clean environment, as the Dockerfile does; run what the image would run."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[2]
PACKAGES = ("bot", "workers", "storage")


def main(wheel: Path) -> int:
    if left := left_out(wheel):
        sys.stdout.write(f"The wheel lacks {', '.join(left)}\n")
        return 1
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        venv.create(home / "signoff", with_pip=True)
        bin_ = home / "signoff" / "bin"
        pip = [str(bin_ / "pip"), "install", "--quiet"]
        lock = str(ROOT / "requirements.lock")
        subprocess.run([*pip, "--require-hashes", "-r", lock, "-c", lock], check=True)
        subprocess.run([*pip, "--no-deps", str(wheel.resolve())], check=True)
        return rehearse(home, bin_)


def left_out(wheel: Path) -> list[str]:
    """Pages, migrations, runbooks, cases: what lies in a package is part of it, though nothing imports it."""
    ours = [file for package in PACKAGES for file in (ROOT / package).rglob("*") if file.is_file()]
    names = {str(file.relative_to(ROOT)) for file in ours if "__pycache__" not in file.parts}
    return sorted(names - {*ZipFile(wheel).namelist()})


def rehearse(home: Path, bin_: Path) -> int:
    """Without tokens the command says what to do, and fails; the health check fails with nobody there."""
    (home / "signoff.toml").write_text((ROOT / "signoff.example.toml").read_text())
    env = {"PATH": f"{bin_}:{os.environ['PATH']}", "HOME": str(home), "SIGNOFF_STATE": str(home / "state"),
           "SIGNOFF_CONFIG": str(home / "signoff.toml")}  # fmt: skip
    for words in commands((ROOT / "Dockerfile").read_text()):
        ran = subprocess.run(
            words, cwd=home, env=env, capture_output=True, text=True, timeout=120, check=False
        )
        said = ran.stdout + ran.stderr
        if "healthz" in words[-1]:
            if ran.returncode != 1 or "Connection refused" not in said:
                return 1
            continue
        sys.stdout.write(f"$ {shlex.join(words)}\n{said}")
        if ran.returncode != 1 or "SLACK_BOT_TOKEN is not set" not in said or "Traceback" in said:
            return 1
    ran = subprocess.run(["python", "-m", "workers", "capabilities"], cwd=home, env=env, check=False,
                         stdout=subprocess.DEVNULL, timeout=120)  # fmt: skip
    return ran.returncode


def commands(dockerfile: str) -> list[list[str]]:
    """The words of CMD and HEALTHCHECK."""
    return [re.findall(r'"([^"]+)"', found) for found in re.findall(r"CMD (\[.*\])", dockerfile)]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
