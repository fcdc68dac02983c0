"""What machines reach, enumerated: each route, tool, hook and token, and each verb that their code names."""

import ast
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from mcp.client import Client

from bot.inbox.dispatch import HANDLERS
from bot.inbox.hooks import on_hook
from bot.machines.mcp_tools import server
from bot.machines.opening import machine_doors
from bot.policy.authorize import ROLES
from storage.config import SignoffConfig
from storage.exchange.tokens import SCOPES
from storage.plans import answers, approvals, decisions, overrides, permits, resolutions, takeovers
from tests.support.room import Room
from tests.support.store import Store

pytestmark = [pytest.mark.machines, pytest.mark.authorize]
ROOT = Path(__file__).parents[2]
ROOMS = ("bot/machines", "bot/inbox/machines.py", "bot/inbox/hooks.py")
# All that machines do to rows. What looks only is among them; what decides a plan is not.
VERBS = {
    "ask_of", "asked_by", "asking", "deliver", "request", "request_planned", "cancel", "refuse", "known",
    "view", "tampered", "token_of", "alarm_of", "hook_called", "contracts", "clock", "coming", "engine",
    "how_far", "redact", "untold", "heard", "unheard",
}  # fmt: skip
DECIDE = ("approve", "reject", "amend", "answer", "resolve", "break_glass", "override", "permit", "take_over",
          "stop", "resume", "postpone")  # fmt: skip
HOOKS = {
    kind: {"kind": kind, "secret_env": ["SIGNOFF_HOOK_X"], "channel": "C1", "owner": "ANN",
           "routes": [{"runbook": "service-status"}]}
    for kind in ("alertmanager", "pagerduty", "github", "standard")
}  # fmt: skip


def named() -> Iterator[tuple[str, str]]:
    """Each verb of the rows that the rooms of machines name, and where."""
    for room in ROOMS:
        path = ROOT / room
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Attribute) and ast.unparse(node.value).endswith("store"):
                    yield node.attr, file.name


def test_the_code_of_machines_names_no_verb_that_decides():
    found = {*named()}

    assert {verb for verb, _ in found} == VERBS, sorted(found)
    deciding = {
        name
        for module in (answers, approvals, decisions, overrides, permits, resolutions, takeovers)
        for name, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", "") == module.__name__
    }
    assert {"approve", "answer", "resolve", "break_glass"} <= deciding, deciding
    assert not VERBS & {*deciding, *DECIDE}


def test_no_room_of_machines_imports_what_decides():
    for room in ROOMS:
        path = ROOT / room
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            said = file.read_text(encoding="utf-8")
            for module in ("inbox.clicks", "inbox.forms", "inbox.answers", "plans.amend", "plans.permits",
                           "storage.plans.approvals", "storage.plans.answers", "storage.plans.overrides",
                           "storage.plans.resolutions"):  # fmt: skip
                assert module not in said, (file, module)


def test_every_route_with_every_kind_of_hook_asks_looks_cancels_or_calls(lite: Store):
    bot = Room(lite).bot
    given = {"people": bot.config.people.model_dump(), "hooks": HOOKS}
    opened = type(bot)(
        bot.store, SignoffConfig.model_validate(given), bot.people, bot.open_view, bot.runbooks
    )
    with machine_doors(opened, environ={"SIGNOFF_HOOK_X": "x" * 20}) as (routes, _):
        found = {(route.method, route.path) for route in routes}

    assert found == {
        ("POST", "/api/v1/plans"), ("GET", "/api/v1/plans/{plan}"), ("DELETE", "/api/v1/plans/{plan}"),
        ("GET", "/api/v1/runbooks"), *(("POST", f"/hooks/{kind}") for kind in HOOKS),
        ("POST", "/mcp"), ("GET", "/mcp"), ("DELETE", "/mcp"),
    }  # fmt: skip


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_an_agent_is_offered_five_tools_and_nothing_else(era: str):
    async def offered() -> tuple[set[str], int]:
        nobody: object = None
        async with Client(server(nobody), mode=era) as client:  # type: ignore[arg-type] # none is called
            more = [(await client.list_prompts()).prompts, (await client.list_resources()).resources,
                    (await client.list_resource_templates()).resource_templates]  # fmt: skip
            return {tool.name for tool in (await client.list_tools()).tools}, sum(map(len, more))

    assert anyio.run(offered) == (
        {"propose_plan", "plan_status", "wait_for_plan", "cancel_plan", "list_runbooks"}, 0,
    )  # fmt: skip


def test_a_token_can_be_given_three_things_and_none_decides():
    assert set(SCOPES) == {"propose", "look", "cancel"}


def test_a_machine_has_a_role_in_three_verbs_only():
    assert {verb for verb, roles in ROLES.items() if roles & {"machine", "own"}} == {
        "request",
        "look",
        "cancel",
    }


def test_what_doors_put_into_rows_is_handled_by_asking_or_calling():
    """A door chooses the kind of its row; no other kind is written there."""
    kinds = set()
    for room in ROOMS:
        path = ROOT / room
        for file in path.rglob("*.py") if path.is_dir() else [path]:
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("store.deliver"):
                    kinds.add(ast.literal_eval(node.args[1]))

    assert kinds == {"ask", "hook"}
    assert HANDLERS["hook"] is on_hook
