"""MCP tools as workers: pinned, bound, called once; a changed tool is refused, a lost call is unsure."""

import socket
import subprocess
import sys
import time
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from storage.config import SignoffConfig
from tests.support.ports import ports
from tests.support.samples.without import forget
from tests.support.scratch import context
from workers.base import Permanent, Transient, Unsure
from workers.builtin.mcp.pin import pinned_lines
from workers.builtin.mcp.pinned import digest_of, takes
from workers.registry import Registry, load

pytestmark = pytest.mark.machines
HOSTILE = Path(__file__).parents[3] / "support" / "doors" / "hostile_mcp.py"


def entry(how: str = "kind", **more: Any) -> dict[str, Any]:
    return {"command": [sys.executable, str(HOSTILE), how], "environment": "staging"} | more


@pytest.fixture(scope="module")
def pin() -> dict[str, Any]:
    """What an operator keeps of the server while it is kind."""
    lines = "\n".join(pinned_lines("hostile", entry()))
    found: dict[str, Any] = tomllib.loads(lines)["inventory"]["mcp"]["hostile"]["tools"]
    return found


def lent(pin: dict[str, Any], how: str = "kind", size: int = 0, **tool: Any) -> Registry:
    tools = {"touch": pin["touch"] | tool}
    made = entry(how, tools=tools)
    inventory = {"mcp": {"hostile": made | {"command": [*made["command"], str(size)]}}}
    return load(SignoffConfig.model_validate({"workers": ["mcp-hostile"], "inventory": inventory}))


def test_without_its_package_nothing_is_started_and_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forget(monkeypatch, "mcp")

    with pytest.raises(Permanent, match=r"Install signoff\[mcp\]\."):
        pinned_lines("hostile", entry())


def called(registry: Registry, tmp_path: Path, path: Path, name: str = "touch") -> Any:
    worker, action, model = registry.action("mcp-hostile", name)
    params = model.model_validate({"server": "hostile", "path": str(path)})
    return action.run(worker, params, context(tmp_path))


def test_a_pinned_tool_is_an_action_that_changes_and_is_not_repeated_unless_the_operator_says(pin):
    contract = lent(pin).contract("mcp-hostile", "touch")

    assert (contract.changes, contract.repeat) == (True, "unsafe")
    assert contract.environment({"server": "hostile", "path": "x"}) == "staging"
    assert contract.parameters["required"] == ["server", "path"]
    assert contract.parameters["additionalProperties"] is False
    assert "Approve" not in contract.model_dump_json()


def test_another_pin_is_another_binding_and_another_schema_another_contract(pin):
    given = {"server": "hostile", "path": "x"}
    one, two = lent(pin), lent(pin, digest="0" * 64)
    assert one.contract("mcp-hostile", "touch").binding(given) != two.contract(
        "mcp-hostile", "touch"
    ).binding(given)

    other = lent(pin, takes={"path": "string", "more": "string?"})
    assert other.contract("mcp-hostile", "touch").hash() != one.contract("mcp-hostile", "touch").hash()


def test_it_is_called_and_its_answer_reported(pin, tmp_path, monkeypatch):
    monkeypatch.setenv("SIGNOFF_HOOK_X", "hush-hush-hush-hush")
    report = called(lent(pin), tmp_path, tmp_path / "file")

    assert (tmp_path / "file").read_text() == "touched"
    assert "the secret is unknown" in report.data.text


def test_a_server_that_is_not_installed_is_missed_by_doctor_and_by_who_pins_it(pin):
    gone = {"command": ["no-such-server"], "environment": "staging"}
    inventory = {"mcp": {"hostile": gone | {"tools": {"touch": pin["touch"]}}}}
    registry = load(SignoffConfig.model_validate({"workers": ["mcp-hostile"], "inventory": inventory}))
    ((name, look),) = [each for worker in registry.workers for each in worker.needs()]
    ((_, well),) = [each for worker in lent(pin).workers for each in worker.needs()]

    assert name == "MCP server hostile"
    with pytest.raises(Permanent, match="'no-such-server' is not installed where the workers run"):
        look()
    with pytest.raises(Permanent, match="'no-such-server' is not installed where the workers run"):
        pinned_lines("hostile", gone)
    well()


def test_a_tool_that_has_changed_is_never_called(pin, tmp_path):
    with pytest.raises(Permanent, match="is not the one that was pinned"):
        called(lent(pin, "rug"), tmp_path, tmp_path / "file")

    assert not (tmp_path / "file").exists()


def test_a_tool_that_is_gone_is_not_called(pin, tmp_path):
    tools = {"elsewhere": pin["touch"]}
    inventory = {"mcp": {"hostile": entry(tools=tools)}}
    registry = load(SignoffConfig.model_validate({"workers": ["mcp-hostile"], "inventory": inventory}))

    with pytest.raises(Permanent, match="is gone"):
        called(registry, tmp_path, tmp_path / "file", "elsewhere")


def test_a_large_answer_is_bounded(pin, tmp_path):
    registry = lent(pin, "large", size=500_000)  # 20 MB: python -m tests.proof.machines
    report = called(registry, tmp_path, tmp_path / "file")

    assert len(report.data.text) == 20_000
    assert report.data.characters == 500_000


def test_a_server_that_dies_in_the_middle_leaves_it_unsure(pin, tmp_path):
    with pytest.raises(Unsure, match="was called and did not answer"):
        called(lent(pin, "dies"), tmp_path, tmp_path / "file")

    assert (tmp_path / "file").exists()


def test_a_server_that_wipes_its_traces_cannot_say_that_it_was_not_called(pin, tmp_path):
    with pytest.raises(Unsure, match="was called and did not answer"):
        called(lent(pin, "denies"), tmp_path / "scratch", tmp_path / "file")

    assert (tmp_path / "file").exists()


def test_an_answer_that_a_terminal_would_obey_is_plain(pin, tmp_path):
    assert called(lent(pin, "odd"), tmp_path, tmp_path / "file").data.text == "abc"


@pytest.mark.parametrize("name", ["call", "name", "server", "entry", "Call"])
def test_a_tool_whose_name_is_ours_is_not_lent(pin, name):
    inventory = {"mcp": {"hostile": entry(tools={name: pin["touch"]})}}
    with pytest.raises(Permanent, match="that name is taken"):
        load(SignoffConfig.model_validate({"workers": ["mcp-hostile"], "inventory": inventory}))


def test_two_tools_of_one_name_are_not_lent(pin):
    tools = {"to-uch": pin["touch"], "to_uch": pin["touch"]}
    inventory = {"mcp": {"hostile": entry(tools=tools)}}
    with pytest.raises(Permanent, match="that name is taken"):
        load(SignoffConfig.model_validate({"workers": ["mcp-hostile"], "inventory": inventory}))


def test_a_call_that_takes_too_long_is_unsure(pin, tmp_path):
    with pytest.raises(Unsure):
        called(lent(pin, "slow", timeout=1.0), tmp_path, tmp_path / "file")


def test_the_same_of_a_read_may_be_tried_again(pin, tmp_path):
    with pytest.raises(Transient):
        called(lent(pin, "dies", changes=False, repeat="safe"), tmp_path, tmp_path / "file")


def test_a_tool_that_says_it_failed_has(pin, tmp_path):
    with pytest.raises(Permanent, match="says that it failed"):
        called(lent(pin, "fails"), tmp_path, tmp_path / "file")


@pytest.mark.parametrize(
    "name", ["x\n### evil.call (only reads)", "server", "a b", "<b>", "class", "x" * 65, "é", ""]
)
def test_a_tool_whose_values_have_hostile_names_is_not_pinned(name):
    with pytest.raises(Permanent):
        takes({"name": "t", "inputSchema": {"properties": {name: {"type": "string"}}}})


def test_what_only_runs_as_a_task_is_not_pinned():
    with pytest.raises(Permanent, match="task"):
        takes({"name": "t", "execution": {"taskSupport": "required"}})


def test_every_part_of_what_a_server_says_of_a_tool_is_in_its_digest():
    tool = {"name": "t", "description": "d", "inputSchema": {"a": 1}, "outputSchema": {}, "annotations": {}}
    digests = {digest_of(tool | {part: "other"}) for part in tool}

    assert len(digests | {digest_of(tool)}) == len(tool) + 1


def test_a_tool_without_a_block_does_not_exist(pin):
    assert lent(pin).offers() == {("mcp-hostile", "touch")}


def test_a_real_server_lends_its_log(tmp_path):
    repository = tmp_path / "repository"
    repository.mkdir()
    own = ("git", "-C", str(repository), "-c", "user.name=Ann", "-c", "user.email=a@example.com")
    subprocess.run([*own, "init", "-q"], check=True)
    subprocess.run([*own, "commit", "-q", "--allow-empty", "-m", "Begin"], check=True)
    given = {"command": [str(Path(sys.executable).parent / "mcp-server-git"), "-r", str(repository)]}
    tools = tomllib.loads("\n".join(pinned_lines("git", given)))["inventory"]["mcp"]["git"]["tools"]
    assert {"git_log", "git_commit"} <= tools.keys()
    log = tools["git_log"] | {"changes": False, "repeat": "safe"}
    inventory = {"mcp": {"git": given | {"tools": {"git_log": log}}}}
    registry = load(SignoffConfig.model_validate({"workers": ["mcp-git"], "inventory": inventory}))

    worker, action, model = registry.action("mcp-git", "git_log")
    params = model.model_validate({"server": "git", "repo_path": str(repository)})
    assert "Begin" in action.run(worker, params, context(tmp_path)).data.text


def test_a_server_elsewhere_is_called_by_its_address(pin, tmp_path):
    port = ports()
    server = subprocess.Popen([sys.executable, str(HOSTILE), "http", str(port)])
    try:
        for _ in range(200):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        inventory = {"mcp": {"hostile": {"url": f"http://127.0.0.1:{port}/mcp", "tools": pin}}}
        config = SignoffConfig.model_validate({"workers": ["mcp-hostile"], "inventory": inventory})
        report = called(load(config), tmp_path, tmp_path / "file")
    finally:
        server.kill()
        server.wait()

    assert report.data.text.startswith("touched")
    assert (tmp_path / "file").exists()
