"""The few files that every page needs, each at an address with its hash: a browser keeps them for good."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

PLACE = Path(__file__).parent / "static"
FILES = {
    "board.css": "text/css",
    "board.js": "text/javascript",
    "vendor/idiomorph.min.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


@dataclass(frozen=True)
class File:
    address: str
    kind: str
    body: bytes


def load() -> dict[str, File]:
    """By name, without its folder."""
    found = {}
    for path, kind in FILES.items():
        body, name = (PLACE / path).read_bytes(), Path(path)
        mark = hashlib.sha256(body).hexdigest()[:10]
        found[name.name] = File(f"/static/{name.stem}.{mark}{name.suffix}", kind, body)
    return found
