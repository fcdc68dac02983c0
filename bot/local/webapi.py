"""The Web API methods the bot uses, with Slack's answers and error codes. Any other is unknown."""

from bot.local import api_chat, api_files, api_people, api_views
from bot.local.api_parts import Method, Parts, decoded
from bot.local.shapes import Json, Refused

# Everything the bot calls; a test holds this against the calls in its code.
METHODS: dict[str, Method] = api_chat.METHODS | api_views.METHODS | api_files.METHODS | api_people.METHODS
# What the surface that is being built calls next; a method moves to METHODS with its first call.
AHEAD: dict[str, Method] = api_views.AHEAD


class WebApi:
    """Finds the method and shapes the answer."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._methods = METHODS | AHEAD

    def call(self, name: str, arguments: Json) -> Json:
        if name not in self._methods:
            return {"ok": False, "error": "unknown_method", "req_method": name}
        try:
            return {"ok": True} | self._methods[name](self._parts, decoded(arguments))
        except Refused as refused:
            details = {"response_metadata": {"messages": list(refused.messages)}} if refused.messages else {}
            return {"ok": False, "error": refused.code} | details
