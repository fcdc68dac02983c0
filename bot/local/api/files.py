"""files.*: the three steps of an upload."""

from bot.local.api.parts import Method, Parts
from bot.local.delivery import payloads
from bot.local.schema import limits
from bot.local.shapes import Json, Refused


def _upload_url(parts: Parts, given: Json) -> Json:
    id, url = parts.files.reserve(given.get("filename"), given.get("length"))
    return {"upload_url": url, "file_id": id}


def _complete(parts: Parts, given: Json) -> Json:
    wanted = given.get("files")
    if not isinstance(wanted, list) or not wanted or not all(isinstance(one, dict) for one in wanted):
        raise Refused("invalid_arguments", "[ERROR] missing required field: files")
    channel_id = given.get("channel_id") or given.get("channels")
    channel = parts.workspace.open_to_app(channel_id) if channel_id else None
    files = [parts.files.complete(one.get("id"), one.get("title")) for one in wanted]
    if channel is None:
        return {"files": files}
    # Slack ignores the blocks when there is a comment.
    comment, blocks = given.get("initial_comment"), given.get("blocks")
    if blocks and not comment:
        limits.check_message("", blocks)
    message = parts.workspace.post(
        channel,
        parts.workspace.bot,
        thread_ts=given.get("thread_ts") or "",
        text=comment,
        blocks=None if comment else blocks,
        files=files,
        subtype="file_share",
    )
    parts.echo(channel, payloads.said(message, channel))
    return {"files": files}


METHODS: dict[str, Method] = {
    "files.getUploadURLExternal": _upload_url,
    "files.completeUploadExternal": _complete,
}
