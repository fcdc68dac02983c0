"""Response urls: for half an hour, five times, the app may answer an act without a token."""

import secrets
import time

from bot.local.schema import limits
from bot.local.shapes import Channel, Json, Member, Refused
from bot.local.state.ids import number_blocks
from bot.local.state.workspace import Workspace

LIFETIME = 30 * 60
USES = 5


class ResponseUrls:
    """Made with an act; each use shows, replaces or deletes."""

    def __init__(self, workspace: Workspace, base_url: str) -> None:
        self._workspace = workspace
        self._base_url = base_url

    def url(self, user: Member, channel: Channel, original: Json | None = None) -> str:
        for old, hook in self._workspace.hooks.items():
            if _age(hook) > LIFETIME:
                self._workspace.hooks.drop(old)
        id = secrets.token_urlsafe(16)
        ts = original["ts"] if original else ""
        made = {"user": user.id, "channel": channel.id, "ts": ts, "uses": 0, "made": time.time()}
        self._workspace.hooks.keep(id, made)
        return f"{self._base_url}/hook/{id}"

    def use(self, id: str, given: Json) -> None:
        hook = self._workspace.hooks.get(id)
        if hook is None or _age(hook) > LIFETIME:
            raise Refused("expired_url")
        if hook["uses"] >= USES:
            raise Refused("used_url")
        self._workspace.hooks.keep(id, hook | {"uses": hook["uses"] + 1})
        user, channel = self._workspace.member(hook["user"]), self._workspace.channel(hook["channel"])
        if hook["ts"] and given.get("delete_original"):
            return self._delete(channel, hook["ts"])
        if hook["ts"] and given.get("replace_original"):
            return self._replace(channel, hook["ts"], given)
        return self.show(user, channel, given)

    def show(self, user: Member, channel: Channel, given: Json) -> None:
        """A new message: for this person only unless the app says in_channel."""
        text, blocks = given.get("text"), given.get("blocks")
        limits.check_message(text, blocks)
        parts: Json = {"text": text, "blocks": blocks, "thread_ts": given.get("thread_ts") or ""}
        if given.get("response_type") == "in_channel":
            self._workspace.post(channel, self._workspace.bot, **parts)
        else:
            self._workspace.whisper(channel, user, sender=self._workspace.bot.id, **parts)

    def _delete(self, channel: Channel, ts: str) -> None:
        self._workspace.ephemerals.drop(ts)
        self._workspace.remove(channel, ts)

    def _replace(self, channel: Channel, ts: str, given: Json) -> None:
        text, blocks = given.get("text"), given.get("blocks")
        limits.check_message(text, blocks)
        whisper = self._workspace.ephemerals.get(ts)
        if whisper is None:
            self._workspace.update(channel, ts, text=text or "", blocks=blocks or [])
            return
        replaced = whisper | {"text": text or "", "blocks": blocks or []}
        self._workspace.ephemerals.keep(ts, number_blocks(replaced))


def _age(hook: Json) -> float:
    return float(time.time() - hook["made"])
