"""The hashes by which the journal knows what people read: of revisions more than effects, of reports all."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from storage.contract.capability import fingerprint

WORDS = ("spec", "note", "reasons", "changes", "risk", "needed", "approvers", "authors", "demands")

PREVIEWED = ("state", "text", "basis", "found", "was")  # what the event of a preview tells of it


def words_hash(row: Mapping[str, Any]) -> str:
    """Hash of everything in a revision's row that people read; it stands in the event that made it."""
    said = {name: row[name] for name in WORDS}
    plain = {name: [*part] if isinstance(part, tuple) else part for name, part in said.items()}
    return fingerprint(plain)


def report_hash(body: Mapping[str, Any]) -> str:
    """Names the whole report, of which the journal tells the summary. Not every report is canonical JSON."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
