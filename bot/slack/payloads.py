"""What Slack posts, as far as Bolt and we read it. A signature says who speaks, not that it makes sense."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class Malformed(ValueError):
    """Signed, and still nothing that can be read."""


class Shape(BaseModel):
    """What is not named here is not looked at."""

    model_config = ConfigDict(strict=True)


class Named(Shape):
    id: str


class Envelope(Shape):
    """What every payload may carry."""

    type: str = ""
    team: str | dict[str, Any] | None = None
    enterprise: str | dict[str, Any] | None = None
    user: str | dict[str, Any] | None = None
    channel: str | dict[str, Any] | None = None
    team_id: str | None = None
    context_team_id: str | None = None
    enterprise_id: str | None = None
    context_enterprise_id: str | None = None
    api_app_id: str | None = None
    authorizations: list["Envelope"] | None = None
    event: dict[str, Any] = Field(default={})
    view: dict[str, Any] = Field(default={})
    response_urls: list[dict[str, Any]] = Field(default=[])


class Command(Shape):
    command: str
    user_id: str
    channel_id: str
    trigger_id: str
    text: str = ""


class Message(Shape):
    ts: str = ""
    thread_ts: str = ""
    text: str = ""


class View(Shape):
    id: str
    type: str
    callback_id: str = ""
    private_metadata: str = ""


class Entered(Shape):
    value: str | None = None
    selected_option: dict[str, Any] | None = None


class State(Shape):
    values: dict[str, Annotated[dict[str, Entered], Field(min_length=1, max_length=1)]]


class FilledView(View):
    callback_id: str
    state: State


class Option(Shape):
    value: str = ""


class Action(Shape):
    action_id: str
    value: str = ""
    selected_option: Option | None = None
    action_ts: str = ""


class Container(Shape):
    type: str
    channel_id: str = ""
    message_ts: str = ""
    is_ephemeral: bool = False


class Clicked(Shape):
    user: Named
    container: Container
    actions: Annotated[list[Action], Field(min_length=1)]
    channel: Named = Named(id="")
    message: Message = Message()
    view: View = View(id="", type="")
    trigger_id: str = ""


class Submitted(Shape):
    user: Named
    view: FilledView


class Shortcut(Shape):
    user: Named
    channel: Named
    message: Message
    callback_id: str
    action_ts: str


class Event(Shape):
    type: str


class Said(Event):
    ts: str
    channel: str


class Mention(Said):
    user: str
    text: str


class HomeOpened(Event):
    user: str
    channel: str
    event_ts: str


KINDS: dict[str, type[Shape]] = {
    "block_actions": Clicked,
    "view_submission": Submitted,
    "message_action": Shortcut,
}
EVENTS: dict[str, type[Event]] = {
    "message": Said,
    "app_mention": Mention,
    "app_home_opened": HomeOpened,
}


def demand_shape(body: Any) -> dict[str, Any]:
    """The payload, if what will be read of it is there and of its kind. What is null is not there."""
    try:
        found = Envelope.model_validate(body)
        given = {name: value for name, value in body.items() if value is not None}
        (Command if "command" in given else KINDS.get(found.type, Shape)).model_validate(given)
        event = Envelope.model_validate(found.event)
        if found.type == "event_callback":
            EVENTS.get(event.type, Event).model_validate(found.event)
    except ValidationError as error:
        wrong = error.errors(include_input=False)[0]["loc"]
        raise Malformed(f"not as Slack writes it at “{'.'.join(map(str, wrong))}”") from None
    demand_sayable(given)
    return given


def demand_words(facts: dict[str, Any]) -> None:
    """What a row shall keep can be kept: one row that cannot be handled would hold up all others."""
    if not all(isinstance(value, str | bool) for value in facts.values()):
        raise Malformed("a word that it must have is missing")
    demand_sayable(facts)


def demand_sayable(value: Any) -> None:
    """Every word, however deep it lies, can be written down."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        demand_sayable(part)
    if isinstance(value, str) and ("\0" in value or not _whole(value)):
        raise Malformed("it holds characters that nobody can write")


def _whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
