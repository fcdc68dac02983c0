"""What a command's own dry run said: fit to show, and the hash that an approval rests on."""

import hashlib
import re
from pathlib import Path
from uuid import uuid4

from pydantic import JsonValue

from workers.base import Preview
from workers.commands.output import plain
from workers.commands.process import Finished

SHOWN = 5000  # characters of it, from its beginning and its end
VERDICT = 40
FAILED = "failed"
RESULT = "{dry_run}"  # in argv and preview: the file in which the dry run leaves what the command then does


def shown(head: str, text: str, *, ignores: str, verdict: str) -> Preview:
    """The words for people, and the basis: what they approved happens, or they are asked again."""
    words, left_out = clipped(text)
    found = (_verdict(text, verdict), *((f"!{left_out} lines of it are not shown",) if left_out else ()))
    return Preview(f"{head}\n{words or 'It printed nothing.'}", basis(text, ignores), found)


def refused(head: str, why: str, last: str) -> Preview:
    """No two failures are alike, so a command whose dry run failed never starts unasked."""
    cause = last.rstrip(".") or "it printed nothing"
    text = f"{head}\nIts dry run {why}: {cause}. It does not start before one works."
    return Preview(text, {FAILED: uuid4().hex}, (f"!dry run {why}"[: VERDICT + 1],))


def failed(found: Preview) -> bool:
    return isinstance(found.basis, dict) and FAILED in found.basis


def last_words(done: Finished) -> str:
    return " / ".join(done.text().strip().split("\n")[-3:])[-300:]


def said(done: Finished, file: Path) -> str:
    """All that it printed, without secrets, and without the name of a file that each run has anew."""
    text = done.mask.text(plain(done.log.read_bytes()))
    lines = [line.rstrip() for line in text.replace(str(file), RESULT).strip().split("\n")]
    return "\n".join(lines)


def basis(text: str, ignores: str) -> JsonValue:
    """Of every line but those that the operator calls noise, in their order."""
    kept = [line for line in text.split("\n") if not (ignores and re.search(ignores, line))]
    return {"dry_run": hashlib.sha256("\n".join(kept).encode()).hexdigest()}


def trouble(done: Finished, fine: tuple[int, ...]) -> str:
    if broken := done.broken_off():
        return broken
    return "" if done.returncode in fine else f"failed with exit code {done.returncode}"


def clipped(text: str) -> tuple[str, int]:
    """Its beginning and its end, with the number of lines between them that are not shown."""
    if len(text) <= SHOWN:
        return text, 0
    head, tail = text[: SHOWN // 2].rpartition("\n")[0], text[-SHOWN // 2 :].partition("\n")[2]
    between = max(1, text.count("\n") - head.count("\n") - tail.count("\n") - 1)
    return f"{head}\n… {between} lines are not shown here …\n{tail}", between


def _verdict(text: str, pattern: str) -> str:
    """One line for the card: what the operator's pattern finds first, or has in brackets; else the last."""
    found = re.search(pattern, text, re.M) if pattern else None
    line = next(filter(None, [*found.groups(), found[0]])) if found else text.strip().split("\n")[-1]
    words = " ".join(line.split()) or "it printed nothing"
    short = words[: VERDICT - 1]
    return words if len(words) <= VERDICT else f"{short.rpartition(' ')[0] or short}…"
