"""Which workers this process has, and what they promise. Only what the configuration names can run."""

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, get_type_hints

from storage.config import SignoffConfig
from storage.contract.capability import Contract, Entry, fingerprint
from storage.errors import BadConfig
from storage.steps.claims import Offer
from workers.base import Action, Named, Params, Worker

BUILTIN = {
    "test-runner": "workers.builtin.testing.test_runner:TestRunner",
    "db-backup": "workers.builtin.backup.db_backup:DbBackup",
    "k8s-deployer": "workers.builtin.kubernetes.k8s_deployer:K8sDeployer",
    "gitops-deployer": "workers.builtin.gitops.gitops_deployer:GitopsDeployer",
    "approval-gate": "workers.builtin.control.approval_gate:ApprovalGate",
    "command": "workers.builtin.control.command:Command",
    "http-check": "workers.builtin.http.http_check:HttpCheck",
    "data-retrieval": "workers.builtin.data.data_retrieval:DataRetrieval",
    "data-processing": "workers.builtin.data.data_processing:DataProcessing",
    "summary": "workers.builtin.data.summary:Summary",
    "wait": "workers.builtin.http.wait:Wait",
    "notify": "workers.builtin.http.notify:Notify",
    "code": "workers.builtin.code.reading.code:Code",
    "code-agent": "workers.builtin.code.change.code_agent:CodeAgent",
    "code-publish": "workers.builtin.code.publish.code_publish:CodePublish",
}
LENT = "mcp-"
GROUP = "signoff.workers"  # where third parties register theirs

Inventory = dict[str, dict[str, dict[str, Any]]]


class Registry:
    """The actions of this process, by worker and action name."""

    def __init__(self, workers: Sequence[Worker]) -> None:
        self.workers = workers
        self._found: dict[Offer, tuple[Worker, Action]] = {
            (worker.name, name): (worker, found)
            for worker in workers
            for name, found in actions(worker).items()
        }
        self._params = {offer: params_of(found) for offer, (_, found) in self._found.items()}
        self._contracts = {offer: contract(*self._found[offer], offer[1]) for offer in self._found}

    def offers(self) -> set[Offer]:
        return set(self._found)

    def contracts(self) -> list[Contract]:
        return [*self._contracts.values()]

    def contract(self, worker: str, action: str) -> Contract:
        return self._contracts[worker, action]

    def action(self, worker: str, action: str) -> tuple[Worker, Action, type[Params]]:
        owner, found = self._found[worker, action]
        return owner, found, self._params[worker, action]


def load(config: SignoffConfig) -> Registry:
    """The workers that the configuration names."""
    classes = {name: _lent(name, config.inventory) or _class(name) for name in config.workers}
    _check_distinct(classes)
    return Registry([cls(config.inventory) for cls in classes.values()])


def _check_distinct(classes: dict[str, type[Worker]]) -> None:
    """No worker answers to the name of another."""
    owners = {name: name for name in BUILTIN}
    for name, cls in classes.items():
        for word in (cls.name, *cls.aliases):
            if owners.setdefault(word, name) != name:
                raise BadConfig(f"The worker '{name}' also answers to '{word}', as '{owners[word]}' does.")


def _lent(name: str, inventory: Inventory) -> type[Worker] | None:
    """`mcp-git` lends the pinned tools of [inventory.mcp.git]; None for every other worker."""
    server = name.removeprefix(LENT)
    if server == name or server not in inventory.get("mcp", {}):
        return None
    found: type[Worker] = import_module("workers.builtin.mcp.lend").lend(server, inventory["mcp"][server])
    return found


def _class(name: str) -> type[Worker]:
    if name in BUILTIN:
        module, _, attribute = BUILTIN[name].partition(":")
        found: type[Worker] = getattr(import_module(module), attribute)
        return found
    outside = {point.name: point for point in entry_points(group=GROUP)}
    if name not in outside:
        known = ", ".join(sorted({*BUILTIN, *outside}))
        raise BadConfig(f"signoff.toml names the worker '{name}', which is not installed. Known: {known}.")
    return _loaded(outside[name])


def _loaded(point: EntryPoint) -> type[Worker]:
    """A third party's class; what cannot be one is said when the process starts, not when a step runs."""
    try:
        loaded = point.load()
    except (ImportError, AttributeError) as error:
        raise BadConfig(f"The worker '{point.name}' cannot be loaded from {point.value}: {error}.") from error
    if not (isinstance(loaded, type) and issubclass(loaded, Worker) and loaded.name == point.name):
        raise BadConfig(
            f"{point.value} is not a Worker with the name '{point.name}'; see signoff worker check."
        )
    return loaded


def actions(worker: Worker) -> dict[str, Action]:
    """An action of a subclass wins over its parent's of the same name."""
    found: dict[str, Action] = {}
    for cls in reversed(type(worker).__mro__):
        found |= {name: value for name, value in vars(cls).items() if isinstance(value, Action)}
    return found


def params_of(action: Action) -> type[Params]:
    hint: type[Params] = get_type_hints(action.run)["params"]
    return hint


def contract(worker: Worker, action: Action, name: str) -> Contract:
    """What this action promises, as published."""
    params = params_of(action)
    (data,) = get_type_hints(action.run)["return"].__pydantic_generic_metadata__["args"]
    return Contract(
        worker=worker.name, action=name, aliases=worker.aliases,
        summary=_first_line(action.run.__doc__ or worker.__doc__ or ""),
        parameters=params.model_json_schema(), data=data.model_json_schema(), changes=action.changes,
        repeat=action.repeat, timeout=action.timeout, typical=action.typical, target=action.target,
        undo=action.undo, criteria=action.criteria, names=_names(params, worker),
        preview="preview" in action.hooks, says=action.says, leaves=action.leaves,
        drafts=action.drafts,
        planning=action.planning,
    )  # fmt: skip


def _names(params: type[Params], worker: Worker) -> dict[str, dict[str, Entry]]:
    tables = {
        name: mark.table
        for name, field in params.model_fields.items()
        for mark in field.metadata
        if isinstance(mark, Named)
    }
    return {
        name: {
            key: _entry(value, worker.inventory).model_copy(update={"hint": worker.hint(table, key)})
            for key, value in worker.inventory.get(table, {}).items()
        }
        for name, table in tables.items()
    }


def _entry(value: dict[str, Any], inventory: Inventory) -> Entry:
    """The binding covers what an entry names: `cluster = "main"` stands for [inventory.clusters.main]."""
    named: dict[str, Any] = {
        key: inventory[f"{key}s"][name]
        for key, name in value.items()
        if isinstance(name, str) and name in inventory.get(f"{key}s", {})
    }
    return Entry(
        binding=fingerprint({**value, "named": named}), environment=str(value.get("environment", "")),
        usd=_most(value),
    )  # fmt: skip


def _most(value: dict[str, Any]) -> float:
    """`max_usd` of an entry is the most that one attempt on it may cost."""
    said = value.get("max_usd", 0.0)
    return float(said) if isinstance(said, int | float) and said >= 0 else 0.0


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
