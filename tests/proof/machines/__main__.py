"""MCP tools at full size, `python -m tests.proof.machines`: a 20 MB answer, and npm's filesystem server."""

import shutil
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

from storage.config import SignoffConfig
from tests.support.scratch import context
from workers.builtin.mcp.pin import pinned_lines
from workers.registry import load

HOSTILE = Path(__file__).parents[2] / "support" / "doors" / "hostile_mcp.py"


def called(server: str, entry: dict[str, Any], tool: str, place: Path, **given: str) -> Any:
    """Pin what the server has now, lend one tool of it, and call it."""
    kind = entry | {"command": [*entry["command"]]}
    tools = tomllib.loads("\n".join(pinned_lines(server, kind)))["inventory"]["mcp"][server]["tools"]
    inventory = {"mcp": {server: entry | {"tools": {tool: tools[tool]}}}}
    registry = load(SignoffConfig.model_validate({"workers": [f"mcp-{server}"], "inventory": inventory}))
    worker, action, model = registry.action(f"mcp-{server}", tool)
    return action.run(worker, model.model_validate({"server": server} | given), context(place))


def main() -> int:
    with tempfile.TemporaryDirectory() as home:
        place, began = Path(home).resolve(), time.monotonic()
        large = {"command": [sys.executable, str(HOSTILE), "large", "20000000"]}
        report = called("hostile", large, "touch", place, path=str(place / "file"))
        said = f"kept {len(report.data.text):,} of {report.data.characters:,} characters"
        print(f"20 MB: {said} in {time.monotonic() - began:.0f} s")
        npx = shutil.which("npx")
        if not npx:
            print("NOT TRIED: npm's filesystem server needs npx")
            return 0
        files = {"command": [npx, "-y", "@modelcontextprotocol/server-filesystem@2026.8.31", str(place)]}
        report = called("files", files, "write_file", place, path=str(place / "new"), content="hello")
        print(f"filesystem: {report.summary}: {(place / 'new').read_text()}")
        return int((place / "new").read_text() != "hello")


if __name__ == "__main__":
    sys.exit(main())
