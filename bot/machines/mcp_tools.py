"""The MCP server: five tools for agents, each a rendering of the desk. None approves or edits."""

import hashlib
import time
from collections.abc import Awaitable
from typing import Annotated, Any, Protocol, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field, ValidationError

from bot.machines.desk import LONGEST_WAIT
from bot.machines.wire import Asked, Listed, Status
from storage.config import RELEASE
from storage.contract.capability import fingerprint
from storage.errors import InvalidPlan, SignoffError

ABOUT = (
    "Signoff turns a wish into a plan; people approve exactly that plan in Slack, and only then it runs. You "
    "can ask, look and cancel your own. You cannot approve: after propose_plan, call wait_for_plan until "
    "a person has decided and it has ended."
)
LOOKS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
ASKS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
ENDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)
BEAT = 10.0  # seconds between two signs of life to whoever waits
T = TypeVar("T")


class Counter(Protocol):
    """Where the tools are served: by the bot itself, or from afar."""

    async def propose(self, asked: Asked, key: str) -> Status: ...
    async def status(self, plan: int, seconds: float, seen: str) -> Status: ...
    async def cancel(self, plan: int, reason: str) -> Status: ...
    async def runbooks(self) -> list[Listed]: ...


class Runbooks(BaseModel):
    """What can be asked for by name."""

    runbooks: list[Listed]


def server(counter: Counter) -> MCPServer[Any]:
    """A server of these tools, for any transport."""
    made: MCPServer[Any] = MCPServer(
        "signoff", instructions=ABOUT, version=RELEASE, log_level="ERROR", subscriptions=False
    )

    @made.tool(annotations=ASKS)
    async def propose_plan(
        text: Annotated[str, Field(description="The wish in words. Or give runbook, or plan.")] = "",
        runbook: Annotated[str, Field(description="A name from list_runbooks, with its slots.")] = "",
        slots: dict[str, str] | None = None,
        plan: Annotated[
            dict[str, Any] | None, Field(description="A whole plan document: goal and steps.")
        ] = None,
        channel: Annotated[str, Field(description="Slack channel id; may be left out.")] = "",
        on_behalf_of: Annotated[
            list[str] | None, Field(description="Who wants it: github:LOGIN or a Slack id.")
        ] = None,
        idempotency_key: Annotated[str, Field(description="The same key finds the same plan again.")] = "",
        answers: Annotated[
            dict[str, str] | None, Field(description="What `needs` asked for; same key.")
        ] = None,
    ) -> Status:
        """Ask for a plan. People approve it in Slack; nothing runs before. Returns its number and state;
        while that is “accepted”, say the same again with the key that it returned."""
        given = {
            "text": text, "runbook": runbook, "slots": slots or {}, "plan": plan, "channel": channel,
            "on_behalf_of": tuple(on_behalf_of or ()), "answers": answers or {},
        }  # fmt: skip
        asked = _asked(given)
        return await said(counter.propose(asked, idempotency_key or derived(asked, time.time())))

    @made.tool(annotations=LOOKS)
    async def plan_status(plan: int) -> Status:
        """Where a plan that you asked for stands: its state, its steps, and the address of its card."""
        return await said(counter.status(plan, 0, ""))

    @made.tool(annotations=LOOKS)
    async def wait_for_plan(
        plan: int, ctx: Context[Any, Any], seconds: Annotated[int, Field(ge=0, le=LONGEST_WAIT)] = 45
    ) -> Status:
        """Wait until a plan has ended, at most so many seconds; call again while its state is none of done,
        rejected, expired, cancelled, refused. People may take hours to approve."""
        end, found = time.monotonic() + seconds, await said(counter.status(plan, 0, ""))
        while not found.over and not found.needs and (left := end - time.monotonic()) > 0:
            await ctx.report_progress(seconds - left, seconds, found.said)
            found = await said(counter.status(plan, min(left, BEAT), found.state))
        return found

    @made.tool(annotations=ENDS)
    async def cancel_plan(plan: int, reason: str = "") -> Status:
        """Cancel a plan that you asked for. What runs of it is told to stop."""
        return await said(counter.cancel(plan, reason))

    @made.tool(annotations=LOOKS)
    async def list_runbooks() -> Runbooks:
        """What can be asked for by name, with the values that each slot takes."""
        return Runbooks(runbooks=await said(counter.runbooks()))

    return made


def _asked(given: dict[str, Any]) -> Asked:
    try:
        return Asked.model_validate(given)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        raise ToolError(
            "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found)
        ) from None


async def said(work: Awaitable[T]) -> T:
    """What is refused reaches the agent as a sentence; anything else would be logged as a fault of ours."""
    try:
        return await work
    except InvalidPlan as error:
        raise ToolError("\n".join(map(str, error.issues))) from None
    except SignoffError as error:
        raise ToolError(str(error)) from None


def derived(asked: Asked, now: float) -> str:
    """A key for an agent that names none: the same wish within a minute or so is one plan."""
    wish = fingerprint(asked.model_dump(mode="json", exclude={"answers"}))
    return "auto-" + hashlib.sha256(f"{wish}:{int(now // 120)}".encode()).hexdigest()[:32]
