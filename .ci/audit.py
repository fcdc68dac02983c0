"""Hold the lock files against the public list of known weaknesses. It fails on one, not on silence.

pip-audit alone calls it good when it could look nothing up.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

OPTIONS = ("--require-hashes", "--disable-pip", "--progress-spinner", "off", "--format", "json")
UNREACHED = "NOT AUDITED, because the database of known weaknesses could not be reached"


def main(locks: list[str]) -> int:
    return max(audit(lock) for lock in locks)


def audit(lock: str) -> int:
    program = Path(sys.executable).with_name("pip-audit")
    argv = [str(program), *OPTIONS, "--requirement", lock]
    ran = subprocess.run(argv, capture_output=True, text=True, check=False)  # noqa: S603 # our own tool
    if ran.stdout:
        code, sentence = verdict(json.loads(ran.stdout)["dependencies"])
    else:
        code, sentence = silence(ran.stderr)
    sys.stdout.write(f"{lock}: {sentence}\n")
    return code


def silence(said: str) -> tuple[int, str]:
    """Only a network that is not there excuses an audit without an answer."""
    unreachable = re.search(r"connect|resolve|timed out|proxy", said, re.IGNORECASE)
    return (0, UNREACHED) if unreachable else (1, said.strip())


def verdict(found: list[dict[str, Any]]) -> tuple[int, str]:
    """1 for a known weakness; what was not looked up is told, and is no failure."""
    unknown = sum("skip_reason" in one for one in found)
    weak = [f"{one['name']} {one['version']}: {weakness['id']}, mended in {mended(weakness)}"
            for one in found for weakness in one.get("vulns", ())]  # fmt: skip
    if weak:
        return 1, "; ".join(weak)
    if unknown == len(found):
        return 0, UNREACHED
    left = f"; NOT AUDITED: {unknown}, which the database does not know" if unknown else ""
    return 0, f"no known weakness in {len(found) - unknown} packages{left}"


def mended(weakness: dict[str, Any]) -> str:
    return ", ".join(weakness["fix_versions"]) or "no version yet"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
