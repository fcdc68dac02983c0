"""`make proof`: runs every proof of the Makefile's list, and writes one page with every figure.

python -m tests.proof.parts.report "command" "command" …
"""

import html
import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from tests.support.places import ARTIFACTS, ROOT

PAGE = ARTIFACTS / "proof.html"
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 980px; margin: 32px auto; padding: 0 16px; }
h1 { font-size: 24px; } h2 { font-size: 15px; margin: 26px 0 6px; font-family: ui-monospace, monospace; }
.bad { color: #b0123b; } .good { color: #146c4a; } .muted { color: #5d5c60; }
pre { background: #f6f6f7; padding: 12px; border-radius: 8px; overflow-x: auto; font-size: 13px; }
@media (prefers-color-scheme: dark) { body { background: #1a1d21; color: #ddd; } pre { background: #222; } }
"""


@dataclass(frozen=True)
class Proof:
    """One command, what it said, and how it ended."""

    command: str
    output: str
    code: int
    seconds: float


def prove(command: str) -> Proof:
    """Run it, with its words on the terminal as they come."""
    began, lines = time.monotonic(), list[str]()
    print(f"\n$ {command}", flush=True)
    words = ["sh", "-c", command]  # the Makefile's own line
    with subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as run:
        for line in run.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    return Proof(command, "".join(lines).strip(), run.returncode, time.monotonic() - began)


def page(proofs: list[Proof], at: datetime, commit: str) -> str:
    bad = [one for one in proofs if one.code]
    verdict = f"{len(proofs) - len(bad)} of {len(proofs)} hold"
    kind = "bad" if bad else "good"
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    where = f"commit {commit} · {at:%Y-%m-%d %H:%M} UTC · {machine}, Python {platform.python_version()}"
    head = f"<!doctype html><meta charset=utf-8><title>{verdict}</title><style>{STYLE}</style>"
    top = f"<h1>Signoff: what was proved</h1><p><b class={kind}>{verdict}</b>"
    return f"{head}{top} <span class=muted>· {html.escape(where)}</span></p>" + "".join(map(_section, proofs))


def _section(one: Proof) -> str:
    kind, word = ("bad", f"exit code {one.code}") if one.code else ("good", "holds")
    said = html.escape(one.output[-20_000:] or "it printed nothing")
    return (
        f"<h2>{html.escape(one.command)}</h2><p><b class={kind}>{word}</b> "
        f"<span class=muted>in {one.seconds:.0f} s</span></p><pre>{said}</pre>"
    )


def main(commands: list[str]) -> int:
    proofs = [prove(command) for command in commands]
    told = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(proofs, datetime.now(UTC), told.stdout.strip() or "unknown"), encoding="utf-8")
    print(f"\nEvery figure with its command: {PAGE.relative_to(ROOT)}")
    return max((one.code for one in proofs), default=0) and 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
