"""What an operator has pinned of an MCP server: which tools, their digests, and what each takes. Pure."""

import keyword
import re
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, create_model, model_validator

from workers.base import Named, Params, Permanent, fingerprint
from workers.builtin.shared.entries import Setting

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
TOOL = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
KINDS: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool}
MOST = 40  # parameters of one tool
OURS = "server"
STARTED = "signoff: the tool is called now"


class Tool(BaseModel):
    """`[inventory.mcp.NAME.tools.TOOL]`. What a server says of its tools is a claim; the operator decides."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    digest: str = Field(pattern=r"^[0-9a-f]{64}$")
    changes: bool = True
    repeat: Literal["safe", "unsafe"] = "unsafe"
    takes: dict[str, str | list[JsonValue]] = Field(
        default_factory=dict
    )  # name → kind, "?" behind the optional
    timeout: float = Field(default=120.0, gt=0, le=3600)


class Server(Setting):
    """`[inventory.mcp.NAME]`: how it is started, or where it is; and the tools that it lends."""

    command: tuple[str, ...] = ()
    url: str = Field(default="", pattern=r"^(https?://.+)?$")
    token_env: str = ""
    environment: str = ""
    memory_mb: int = Field(default=1024, gt=0, le=65_536)
    tools: dict[str, Tool] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError("needs either 'command' or 'url'")
        if wrong := [name for name in self.tools if not TOOL.fullmatch(name)]:
            raise ValueError(f"'{wrong[0][:40]}' is no name of a tool")
        return self


def digest_of(tool: dict[str, Any]) -> str:
    """Everything that a server says of a tool: what it is called, told, takes, gives and claims."""
    told = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
    return fingerprint({name: tool.get(name) for name in told})


def takes(tool: dict[str, Any]) -> dict[str, str | list[Any]]:
    """What a tool takes, in the few kinds that a plan can hold; Permanent for what it cannot."""
    schema = tool.get("inputSchema") or {}
    fields, needed = schema.get("properties") or {}, schema.get("required") or []
    if (tool.get("execution") or {}).get("taskSupport") == "required":
        raise Permanent("it can be called only as a task, which Signoff does not do")
    if len(fields) > MOST:
        raise Permanent(f"it takes {len(fields)} values; at most {MOST}")
    for name in fields:
        if not NAME.fullmatch(str(name)) or name == OURS or keyword.iskeyword(name):
            raise Permanent(f"it takes a value called {str(name)[:40]!r}, which cannot stand in a plan")
    return {name: _kind(fields[name], optional=name not in needed) for name in sorted(fields)}


def _kind(field: Any, *, optional: bool) -> str | list[Any]:
    said = field if isinstance(field, dict) else {}
    listed = said.get("enum")
    if isinstance(listed, list) and listed and all(isinstance(one, str) and len(one) < 100 for one in listed):
        return [*listed[:50], None] if optional else listed[:50]
    kind = said.get("type") if said.get("type") in KINDS else "json"
    return f"{kind}?" if optional else str(kind)


def params_of(server: str, name: str, tool: Tool) -> type[Params]:
    """Its parameters as a closed model; `server` brings the entry, and so every pin, into the binding."""
    fields: dict[str, Any] = {OURS: (Annotated[Literal[server], Named("mcp")], ...)}
    for given, kind in tool.takes.items():
        if not NAME.fullmatch(given):
            raise Permanent(f"[inventory.mcp.{server}.tools.{name}] takes '{given[:40]}', which is no name.")
        plain, optional = _annotated(kind)
        fields[f"p_{given}"] = (
            plain | None if optional else plain,
            Field(default=None, alias=given) if optional else Field(alias=given),
        )
    made: type[Params] = create_model(f"{_camel(name)}Params", __base__=Params, **fields)
    return made


def _annotated(kind: str | list[Any]) -> tuple[Any, bool]:
    if isinstance(kind, list):
        choices = tuple(one for one in kind if one is not None)
        return Literal[choices], None in kind
    return KINDS.get(kind.removesuffix("?"), JsonValue), kind.endswith("?")


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in re.split(r"[^A-Za-z0-9]+", name)) or "Tool"
