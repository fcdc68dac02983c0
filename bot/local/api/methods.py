"""The Web API methods the bot uses, with Slack's answers and error codes. Any other is unknown."""

from bot.local.api import chat as api_chat
from bot.local.api import files as api_files
from bot.local.api import people as api_people
from bot.local.api import status as api_status
from bot.local.api import views as api_views
from bot.local.api.parts import Method, Parts, decoded
from bot.local.shapes import Channel, Json, Refused

# Everything the bot calls; a test holds this against the calls in its code.
METHODS: dict[str, Method] = (
    api_chat.METHODS | api_views.METHODS | api_files.METHODS | api_people.METHODS | api_status.METHODS
)


class WebApi:
    """Finds the method and shapes the answer."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @property
    def granted(self) -> str:
        return str(self._parts.scopes)

    def call(self, name: str, arguments: Json) -> Json:
        if name not in METHODS:
            return {"ok": False, "error": "unknown_method", "req_method": name}
        try:
            given = decoded(arguments)
            self._parts.scopes.check(name, self._channel(given))
            return {"ok": True} | METHODS[name](self._parts, given)
        except Refused as refused:
            details = {"response_metadata": {"messages": list(refused.messages)}} if refused.messages else {}
            return {"ok": False, "error": refused.code} | refused.more | details

    def _channel(self, given: Json) -> Channel | None:
        """The channel that a call is about; with one that is not there, the method itself refuses."""
        workspace, id = self._parts.workspace, given.get("channel")
        return workspace.channels.get(str(id)) or workspace.direct.get(str(id))
