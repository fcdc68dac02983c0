"""Slack's limits: just inside passes, just over is refused with Slack's code."""

from typing import Any

import pytest

from bot.local.schema.limits import check_home, check_message, check_metadata, check_view
from bot.local.shapes import Refused

Json = dict[str, Any]


def plain(length: int) -> Json:
    return {"type": "plain_text", "text": "x" * length}


def mrkdwn(length: int) -> Json:
    return {"type": "mrkdwn", "text": "x" * length}


def button(**parts: Any) -> Json:
    return {"type": "button", "action_id": "go", "text": plain(2)} | parts


def actions(*elements: Json) -> Json:
    return {"type": "actions", "elements": list(elements)}


def section(**parts: Any) -> Json:
    return {"type": "section"} | parts


def rich(text: str = "x") -> Json:
    line = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "elements": [line]}


def line(*elements: Json) -> Json:
    return {"type": "rich_text_section", "elements": list(elements)}


def task(number: int = 1, **parts: Any) -> Json:
    return {"task_id": f"step-{number}", "title": "Step", "status": "pending"} | parts


def plan(*tasks: Json, **parts: Any) -> Json:
    return {"type": "plan", "title": "Plan", "tasks": list(tasks)} | parts


def options(count: int, text: int = 1, value: int = 3) -> list[Json]:
    return [{"text": plain(text), "value": f"{n:0{value}}"} for n in range(count)]


def confirm(**parts: Any) -> Json:
    return {"title": plain(100), "text": plain(300), "confirm": plain(30), "deny": plain(30)} | parts


def table(rows: int, cells: int, text: str = "x") -> Json:
    return {"type": "table", "rows": [[{"type": "raw_text", "text": text}] * cells] * rows}


def container(count: int, **parts: Any) -> Json:
    children = [section(text=mrkdwn(1)) for _ in range(count)]
    return {"type": "container", "title": plain(150), "child_blocks": children} | parts


DIVIDER: Json = {"type": "divider"}

INSIDE: list[list[Json]] = [
    [DIVIDER] * 50,
    [section(text=mrkdwn(3000))],
    [section(fields=[mrkdwn(900)] * 10)],
    [section(text=mrkdwn(1), accessory=button(), expand=True)],
    [{"type": "header", "text": plain(150)}],
    [{"type": "context", "elements": [mrkdwn(1)] * 10}],
    [actions(*[button(action_id=str(n)) for n in range(25)])],
    [actions(button(text=plain(75), value="v" * 2000, url="u" * 3000, style="danger", confirm=confirm()))],
    [actions({"type": "static_select", "action_id": "a", "options": options(100, text=75, value=150)})],
    [actions({"type": "checkboxes", "action_id": "a", "options": options(10)})],
    [plan(*[task(n) for n in range(50)], title="t" * 150)],
    [plan(task(type="task_card", status="error", details=rich(), output=rich()))],
    [plan(task(sources=[{"type": "url", "url": "https://example.com", "text": "runbook"}]))],
    [table(100, 20)],
    [actions({"type": "datetimepicker", "initial_date_time": 1767225600})],
    [section(text=mrkdwn(1), accessory={"type": "multi_users_select", "initial_users": ["U0ANN"]})],
    [{"type": "image", "alt_text": "a" * 2000, "title": plain(2000), "slack_file": {"id": "F1"}}],
    [{"type": "rich_text", "elements": [line({"type": "usergroup", "usergroup_id": "S1"})]}],
    [container(10, is_collapsible=True, default_collapsed=True)],
    [actions({"type": "overflow", "options": options(5)}, {"type": "external_select", "action_id": "b"})],
    [section(text=mrkdwn(1), accessory={"type": "overflow", "options": options(1)})],
    [section(text=mrkdwn(1), accessory={"type": "external_select", "min_query_length": 0})],
    [section(text=mrkdwn(3000), block_id=str(n)) for n in range(4)],
    [rich("x" * 12_000)],
]

OVER: list[tuple[str, list[Json]]] = [
    ("invalid_blocks", [DIVIDER] * 51),
    ("invalid_blocks", [section(text=mrkdwn(3001))]),
    ("invalid_blocks", [section(text=mrkdwn(0))]),
    ("invalid_blocks", [section()]),
    ("invalid_blocks", [section(fields=[mrkdwn(1)] * 11)]),
    ("invalid_blocks", [section(fields=[mrkdwn(2001)])]),
    ("invalid_blocks", [{"type": "header", "text": plain(151)}]),
    ("invalid_blocks", [{"type": "header", "text": mrkdwn(1)}]),
    ("invalid_blocks", [{"type": "context", "elements": [mrkdwn(1)] * 11}]),
    ("invalid_blocks", [actions(*[button(action_id=str(n)) for n in range(26)])]),
    ("invalid_blocks", [actions(button(), button())]),
    ("invalid_blocks", [actions()]),
    ("invalid_blocks", [actions(button(text=plain(76)))]),
    ("invalid_blocks", [actions(button(value="v" * 2001))]),
    ("invalid_blocks", [actions(button(style="success"))]),
    ("invalid_blocks", [actions(button(confirm=confirm(title=plain(101))))]),
    ("invalid_blocks", [actions(button(colour="red"))]),
    ("invalid_blocks", [actions({"type": "static_select", "action_id": "a", "options": options(101)})]),
    ("invalid_blocks", [actions({"type": "checkboxes", "action_id": "a", "options": options(11)})]),
    (
        "invalid_blocks",
        [actions({"type": "static_select", "options": options(1), "initial_option": options(2)[1]})],
    ),
    ("invalid_blocks", [plan(*[task(n) for n in range(51)])]),
    ("invalid_blocks", [plan(task(1), task(1))]),
    ("invalid_blocks", [plan(task(status="completed"))]),
    ("invalid_blocks", [plan(task(details="a string"))]),
    ("invalid_blocks", [plan(task(), title=plain(3))]),
    ("invalid_blocks", [table(101, 1)]),
    ("invalid_blocks", [table(1, 21)]),
    ("invalid_blocks", [table(11, 1, "x" * 1000)]),
    ("invalid_attachments", [table(1, 1), table(1, 1)]),
    ("invalid_blocks", [container(11)]),
    ("invalid_blocks", [container(1, is_collapsible=True, has_header_divider=True)]),
    ("invalid_blocks", [container(1) | {"child_blocks": [plan(task())]}]),
    ("invalid_blocks", [{"type": "alert", "text": plain(3)}]),
    ("invalid_blocks", [{"type": "hologram"}]),
    ("invalid_blocks", [actions({"type": "multi_users_select"})]),
    ("invalid_blocks", [section(text=mrkdwn(1), accessory={"type": "datetimepicker"})]),
    ("invalid_blocks", [actions({"type": "datetimepicker", "initial_date_time": 1})]),
    ("invalid_blocks", [{"type": "image", "alt_text": "a" * 2001, "slack_file": {"id": "F1"}}]),
    ("invalid_blocks", [{"type": "image", "alt_text": "a", "image_url": "https://example.com/a.png"}]),
    ("invalid_blocks", [DIVIDER | {"block_id": "a"}, DIVIDER | {"block_id": "a"}]),
    ("invalid_blocks", [DIVIDER | {"block_id": "a" * 256}]),
    ("invalid_blocks", [actions({"type": "overflow", "options": options(6)})]),
    ("invalid_blocks", [actions({"type": "overflow", "options": []})]),
    ("invalid_blocks", [actions({"type": "external_select", "options": options(1)})]),
    ("invalid_blocks", [actions({"type": "static_select", "options": options(1) * 2})]),
    ("invalid_blocks", [actions({"type": "checkboxes", "options": options(1) * 2})]),
    ("invalid_blocks", [actions({"type": "radio_buttons", "options": options(1) * 2})]),
    ("invalid_blocks", [actions({"type": "datepicker", "initial_date": "2026-02-30"})]),
    ("invalid_blocks", [actions({"type": "timepicker", "timezone": "Mars/Olympus"})]),
    ("msg_blocks_too_long", [*INSIDE[-2], {"type": "header", "text": plain(1)}]),
    ("msg_blocks_too_long", [rich("x" * 12_001)]),
]


@pytest.mark.parametrize("blocks", INSIDE)
def test_what_just_fits_is_taken(blocks: list[Json]) -> None:
    check_message("fallback", blocks)


@pytest.mark.parametrize(("code", "blocks"), OVER)
def test_what_is_just_too_much_is_refused(code: str, blocks: list[Json]) -> None:
    with pytest.raises(Refused) as caught:
        check_message("fallback", blocks)

    assert caught.value.code == code


def test_a_refusal_points_at_the_place() -> None:
    with pytest.raises(Refused) as caught:
        check_message("", [DIVIDER, actions(button(text=plain(76)))])

    assert caught.value.messages == (
        "[ERROR] must be less than 76 characters [json-pointer:/blocks/1/elements/0/text/text]",
    )


@pytest.mark.parametrize(
    ("code", "text", "blocks"),
    [("no_text", "", None), ("no_text", None, []), ("msg_too_long", "x" * 40_001, None)],
)
def test_text_is_limited_too(code: str, text: str | None, blocks: list[Json] | None) -> None:
    with pytest.raises(Refused, match=code):
        check_message(text, blocks)


def view(*blocks: Json, **parts: Any) -> Json:
    frame = {"type": "modal", "title": plain(24), "submit": plain(24), "blocks": list(blocks)}
    return {name: part for name, part in (frame | parts).items() if part is not None}


def number(**parts: str) -> Json:
    return {"type": "number_input", "is_decimal_allowed": False} | parts


def field(**parts: Any) -> Json:
    return {"type": "input", "label": plain(5), "element": {"type": "plain_text_input"}} | parts


@pytest.mark.parametrize(
    "good",
    [
        view(field(hint=plain(2000), optional=True)),
        view(*[DIVIDER] * 100, submit=None),
        view({"type": "alert", "level": "error", "text": mrkdwn(200)}, private_metadata="m" * 3000),
        view(field(element={"type": "timepicker", "initial_time": "02:00"})),
        view(field(element={"type": "radio_buttons", "options": options(10)})),
        view(field(element={"type": "number_input", "is_decimal_allowed": True, "initial_value": "-1.5"})),
        view(field(element={"type": "datetimepicker"}), field(element={"type": "multi_users_select"})),
        view(field(element={"type": "plain_text_input", "max_length": 4, "initial_value": "1234"})),
        view(field(element={"type": "datepicker", "initial_date": "2028-02-29"})),
        view(field(element=number(min_value="4", max_value="4", initial_value="4"))),
        view(field(element={"type": "external_select", "initial_option": options(1)[0]})),
    ],
)
def test_a_view_that_fits_is_taken(good: Json) -> None:
    check_view(good)


@pytest.mark.parametrize(
    "bad",
    [
        None,
        view(title=plain(25)),
        view(submit=plain(25)),
        view(field(), submit=None),
        view(*[DIVIDER] * 101),
        view(plan(task())),
        view({"type": "alert", "text": mrkdwn(201)}),
        view(private_metadata="m" * 3001),
        view(callback_id="c" * 256),
        view(field(element={"type": "plain_text_input", "initial_value": "v" * 3001})),
        view(field(block_id="a"), field(block_id="a")),
        view(colour="red"),
        view(field(element={"type": "number_input"})),
        view(field(element={"type": "number_input", "is_decimal_allowed": True, "min_value": 1})),
        view(field(element={"type": "timepicker", "initial_time": "24:00"})),
        view(field(element={"type": "plain_text_input", "max_length": 3001})),
        view(*[field(element={"type": "plain_text_input", "focus_on_load": True})] * 2),
        view(field(element={"type": "plain_text_input", "max_length": 4, "initial_value": "12345"})),
        view(field(element={"type": "plain_text_input", "max_length": 4, "min_length": 5})),
        view(field(element=number(max_value="4", initial_value="5"))),
        view(field(element=number(min_value="6", max_value="4"))),
        view(field(element={"type": "datepicker", "initial_date": "2026-13-01"})),
        view(field(element={"type": "overflow", "options": options(2)})),
    ],
)
def test_a_view_that_does_not_fit_is_refused(bad: Any) -> None:
    with pytest.raises(Refused, match="invalid_arguments"):
        check_view(bad)


def home(*blocks: Json, **parts: Any) -> Json:
    return {"type": "home", "blocks": list(blocks)} | parts


def test_a_home_tab_that_fits_is_taken() -> None:
    check_home(
        home(*[DIVIDER] * 97, table(2, 2), container(3), section(text=mrkdwn(1)), callback_id="c" * 255)
    )


@pytest.mark.parametrize(
    "bad",
    [
        home(*[DIVIDER] * 101),
        home(plan(task())),
        home({"type": "alert", "text": mrkdwn(1)}),
        home(title=plain(3)),
        view(),
    ],
)
def test_a_home_tab_that_does_not_fit_is_refused(bad: Json) -> None:
    with pytest.raises(Refused, match="invalid_arguments"):
        check_home(bad)


def test_a_view_is_too_large_by_its_bytes() -> None:
    large = [section(text=mrkdwn(2900), block_id=str(n)) for n in range(90)]

    with pytest.raises(Refused, match="view_too_large"):
        check_home(home(*large))


def test_metadata_has_its_form() -> None:
    check_metadata({"event_type": "plan", "event_payload": {"plan": 1}})
    with pytest.raises(Refused, match="invalid_metadata_format"):
        check_metadata({"event_type": "plan"})
