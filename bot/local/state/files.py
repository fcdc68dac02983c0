"""Files: the app asks for an address, sends the bytes there, and completes the upload into a channel."""

import base64
import secrets
import time
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from bot.local.shapes import Json, Refused
from bot.local.state.persistence import Memory

PNG = b"\x89PNG\r\n\x1a\n"
TYPES = {
    "json": ("application/json", "JSON"),
    "csv": ("text/csv", "CSV"),
    "md": ("text/markdown", "Markdown"),
}
PREVIEW_LINES = 6
PREVIEW_CHARACTERS = 1_000


class Files:
    """What was uploaded. A file can be seen once its upload is complete."""

    def __init__(self, memory: Memory, base_url: str, user_id: str) -> None:
        self._files = memory.records("file")
        self._bytes = memory.records("bytes")
        self._base_url = base_url
        self._user_id = user_id

    def reserve(self, name: Any, length: Any) -> tuple[str, str]:
        """A file's id, and the address that takes its bytes."""
        if not isinstance(name, str) or not name or not str(length or "").isdigit() or int(length) < 1:
            raise Refused("invalid_arguments", "[ERROR] filename and length are required")
        id, ticket = "F" + secrets.token_hex(5).upper(), secrets.token_urlsafe(16)
        self._files.keep(
            id, {"id": id, "name": name, "size": int(length), "ticket": ticket, "at": "reserved"}
        )
        return id, f"{self._base_url}/upload/{ticket}"

    def receive(self, ticket: str, data: bytes) -> None:
        file = next((file for file in self._files if file["ticket"] == ticket), None)
        if file is None or file["at"] != "reserved":
            raise Refused("file_not_found")
        if len(data) != file["size"]:
            raise Refused("invalid_length", f"{len(data)} bytes came instead of {file['size']}")
        self._bytes.keep(file["id"], {"base64": base64.b64encode(data).decode()})
        self._files.keep(file["id"], file | {"at": "received"} | _described(file["name"], data))

    def complete(self, id: Any, title: Any) -> Json:
        """The file as Slack hands it out."""
        file = self._files.get(str(id))
        if file is None or file["at"] == "reserved":
            raise Refused("file_not_found")
        done = file | {"at": "complete", "title": str(title or file["name"]), "created": int(time.time())}
        return self.public(self._files.keep(file["id"], done)["id"])

    def public(self, id: Any) -> Json:
        file = self._files.get(str(id))
        if file is None or file["at"] != "complete":
            raise Refused("file_not_found")
        address = f"{self._base_url}/files/{file['id']}/{quote(file['name'])}"
        facts = {name: part for name, part in file.items() if name not in ("ticket", "at")}
        urls = {"url_private": address, "url_private_download": address}
        return facts | {"timestamp": file["created"], "user": self._user_id, "mode": "hosted"} | urls

    def content(self, id: str) -> tuple[Json, bytes]:
        return self.public(id), base64.b64decode((self._bytes.get(id) or {"base64": ""})["base64"])

    def check_images(self, blocks: list[Json] | None) -> None:
        """An image block shows a file of the app that is an image."""
        for index, block in enumerate(blocks or []):
            if block["type"] == "image" and not self._is_image(block["slack_file"]["id"]):
                raise Refused(
                    "invalid_blocks", f"[ERROR] invalid slack file [json-pointer:/blocks/{index}/slack_file]"
                )

    def _is_image(self, id: str) -> bool:
        file = self._files.get(id)
        return bool(file and file["at"] == "complete" and file["mimetype"].startswith("image/"))

    def clear(self) -> None:
        self._files.clear()
        self._bytes.clear()


def _described(name: str, data: bytes) -> Json:
    suffix = PurePosixPath(name).suffix.lower().lstrip(".")
    if data.startswith(PNG):
        size = {"original_w": int.from_bytes(data[16:20]), "original_h": int.from_bytes(data[20:24])}
        return {"mimetype": "image/png", "filetype": "png", "pretty_type": "PNG"} | size
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {
            "mimetype": "application/octet-stream",
            "filetype": suffix or "binary",
            "pretty_type": "Binary",
        }
    mimetype, pretty = TYPES.get(suffix, ("text/plain", "Plain Text"))
    return {"mimetype": mimetype, "filetype": suffix or "text", "pretty_type": pretty} | _preview(text)


def _preview(text: str) -> Json:
    lines = text.splitlines()
    shown = "\n".join(lines[:PREVIEW_LINES])[:PREVIEW_CHARACTERS]
    return {"preview": shown, "lines": len(lines), "lines_more": max(0, len(lines) - PREVIEW_LINES)}
