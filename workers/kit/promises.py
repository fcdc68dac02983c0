"""What a worker must keep, as rules of which each names what breaks it. Pure."""

import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any, Literal, get_args, get_type_hints

import rfc8785
from jsonschema import Draft202012Validator
from pydantic import BaseModel
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.fields import FieldInfo
from pydantic.json_schema import PydanticJsonSchemaWarning

from storage.contract.report import Report
from storage.contract.saying import unsayable
from workers.base import Action, Context, Named, Params, Preview, Verdict, Worker
from workers.registry import BUILTIN, actions, contract

WORKER = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
ACTION = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
SECRET = re.compile(r"passw(or)?d|secret|token|api_?key|credential|private_?key", re.IGNORECASE)
PLACE = re.compile(r"\{(\w+)\}")
LONGEST = 24 * 3600
ANSWERS: dict[str, tuple[type, ...]] = {"before": (dict,), "probe": (Report, Verdict), "preview": (Preview,)}


@dataclass(frozen=True)
class Finding:
    """An error stops a worker from being used safely; a warning is worth a second look."""

    level: Literal["error", "warning"]
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.level}: {self.place}: {self.message}"


Found = Iterator[Finding]


def findings(worker: Worker) -> Found:
    """Everything that is wrong with a worker, or odd."""
    yield from _worker(worker)
    offered = actions(worker)
    for name, action in offered.items():
        place = f"{getattr(worker, 'name', type(worker).__name__)}.{name}"
        wrong = [*_shape(place, name, action)]
        yield from wrong
        if not wrong:
            yield from _params(place, _hints(action.run)["params"])
            yield from _published(place, worker, action, name)
            yield from _facts(place, action)
            yield from _fields(place, action)
            yield from _undo(place, action, offered, worker)
            yield from _hooks(place, action)


def _worker(worker: Worker) -> Found:
    kind, name = type(worker), getattr(worker, "name", "")
    place = name or kind.__name__
    own = BUILTIN.get(name, "") == f"{kind.__module__}:{kind.__name__}"
    for word in (name, *worker.aliases):
        if not WORKER.fullmatch(word):
            yield Finding("error", place, f"the name '{word}' must look like my-worker")
        elif word in BUILTIN and not own:
            yield Finding("error", place, f"'{word}' is the name of a built-in worker")
    if not (kind.__doc__ or "").strip():
        yield Finding("error", place, "it needs a docstring: planners and people read its first line")
    if not actions(worker):
        yield Finding("error", place, "it has no @action")


def _shape(place: str, name: str, action: Action) -> Found:
    """What everything else rests on: names, signature, and schemas that can be published."""
    if not ACTION.fullmatch(name):
        yield Finding("error", place, "an action's name must look like do_this")
    yield from _signature(place, action.run)
    hints = _hints(action.run)
    for what, model in (("parameters", hints.get("params")), ("report", _data(hints.get("return")))):
        base = Params if what == "parameters" else BaseModel
        if not (inspect.isclass(model) and issubclass(model, base)):
            wanted = "a subclass of Params" if base is Params else "Report[Data] with a pydantic model Data"
            yield Finding("error", place, f"its {what} must be annotated as {wanted}")
        elif fault := _unpublishable(model):
            yield Finding("error", place, f"its {what} have no JSON schema: {fault}")


def _signature(place: str, function: Callable[..., Any]) -> Found:
    names = [*inspect.signature(function).parameters]
    if names[1:] != ["params", "ctx"]:
        yield Finding(
            "error", place, f"{function.__name__} must take (self, params, ctx), not ({', '.join(names)})"
        )
    elif _hints(function).get("ctx") is not Context:
        yield Finding("error", place, f"{function.__name__}: ctx must be annotated as Context")


def _params(place: str, params: type[Params]) -> Found:
    if params.model_config.get("extra") != "forbid" or not params.model_config.get("frozen"):
        yield Finding("error", place, f"{params.__name__} must stay closed and frozen, as Params is")
    schema = params.model_json_schema()
    parts = {params.__name__: schema, **schema.get("$defs", {})}
    for owner, part in parts.items():
        if part.get("type") == "object" and part.get("additionalProperties") is not False:
            yield Finding("warning", place, f"{owner} takes fields that nobody declared; forbid extra ones")
        for name in part.get("properties", {}):
            if SECRET.search(name):
                yield Finding(
                    "error", place, f"'{name}' looks like a secret, and plans are read by all: take it from "
                    "the environment, by a variable that the inventory names",
                )  # fmt: skip
    for name, field in params.model_fields.items():
        if any(isinstance(mark, Named) for mark in field.metadata):
            yield from _named(place, name, field)


def _published(place: str, worker: Worker, action: Action, name: str) -> Found:
    """What planners and approvals rest on: canonical JSON, and defaults that a plan may state."""
    promised = contract(worker, action, name)
    try:
        promised.hash()
    except rfc8785.CanonicalizationError as error:
        yield Finding("error", place, f"its contract cannot be written as canonical JSON: {error}")
    if wrong := unsayable(promised):
        yield Finding("error", place, f"how it is said: {wrong}")
    fields = promised.parameters.get("properties", {})
    defaults = {field: said["default"] for field, said in fields.items() if "default" in said}
    for fault in Draft202012Validator(promised.parameters | {"required": []}).iter_errors(defaults):
        where = ".".join(map(str, fault.absolute_path))
        yield Finding("error", place, f"the default of '{where}' is not what it takes: {fault.message}")


def _named(place: str, name: str, field: FieldInfo) -> Found:
    if field.annotation not in (str, str | None):
        yield Finding("error", place, f"'{name}' is Named, so it must be a str, or str | None")
    if isinstance(field.default, str):
        yield Finding(
            "error", place, f"'{name}' is Named, so only the inventory knows its values: no default"
        )


def _facts(place: str, action: Action) -> Found:
    if not (action.run.__doc__ or "").strip():
        yield Finding("warning", place, "it has no docstring; the worker's own is shown instead")
    if not 0 < action.timeout <= LONGEST:
        yield Finding("error", place, f"its timeout of {action.timeout:g} s is not between 0 and {LONGEST} s")
    elif not 0 < action.typical <= action.timeout:
        yield Finding(
            "warning", place, f"it typically takes {action.typical:g} s, its timeout is {action.timeout:g}"
        )
    if action.changes and action.repeat == "unsafe" and "probe" not in action.hooks:
        yield Finding(
            "warning", place, "a crash inside it must ask a person: it is unsafe to repeat, without a probe"
        )
    if action.changes and not action.target:
        yield Finding("warning", place, "it names no target, so two plans may do it at the same time")
    if action.drafts and action.changes:
        yield Finding("error", place, "it changes something, so it does not only draft: say one of the two")
    if not action.changes and action.repeat == "unsafe":
        yield Finding("warning", place, 'it only reads, so repeat="safe" lets it be tried again')


def _fields(place: str, action: Action) -> Found:
    """Criteria and target name only what is there."""
    hints = _hints(action.run)
    schema = _data(hints["return"]).model_json_schema()
    for name, checks in action.criteria.items():
        if not ACTION.fullmatch(name) or not checks:
            yield Finding(
                "error", place, f"the criterion '{name}' must have a name like this_holds, and checks"
            )
        for missing in (c.field for c in checks if not _reaches(schema, schema, c.field.split("."))):
            yield Finding(
                "error", place, f"the criterion '{name}' asks for '{missing}', which is not reported"
            )
    for name in PLACE.findall(action.target):
        if name not in hints["params"].model_fields:
            yield Finding("error", place, f"its target names '{{{name}}}', which is no parameter")


def _undo(place: str, action: Action, offered: dict[str, Action], worker: Worker) -> Found:
    if not action.undo:
        return
    if action.undo not in offered:
        yield Finding("error", place, f"its undo '{action.undo}' is no action of this worker")
    elif not action.changes:
        yield Finding("error", place, "it changes nothing, so there is nothing to undo")
    elif "before" not in action.hooks and _reads_previous(offered[action.undo].run, worker):
        yield Finding("error", place, f"{action.undo} reads ctx.previous, and no before hook records it")


def _hooks(place: str, action: Action) -> Found:
    for hook, function in action.hooks.items():
        yield from _signature(f"{place} {hook}", function)
        hints = _hints(function)
        if hints.get("params") is not _hints(action.run)["params"]:
            yield Finding("error", f"{place} {hook}", "it must take the same parameters as its action")
        said = {_root(part) for part in (get_args(hints.get("return")) or (hints.get("return"),))}
        said |= {_root(hints.get("return"))}
        if hook in ANSWERS and not said & {*ANSWERS[hook]}:
            wanted = " or ".join(kind.__name__ for kind in ANSWERS[hook])
            yield Finding("error", f"{place} {hook}", f"it must be annotated to return {wanted}")


def _reads_previous(function: Callable[..., Any], worker: Worker) -> bool:
    """Whether a function, or one of its module or class that it names, looks at `previous`."""
    seen: set[CodeType] = set()
    todo = [function]
    while todo:
        one = todo.pop()
        code = getattr(one, "__code__", None)
        if code is None or code in seen:
            continue
        seen.add(code)
        if "previous" in code.co_names:
            return True
        near = [
            getattr(one, "__globals__", {}).get(name, getattr(worker, name, None)) for name in code.co_names
        ]
        todo += [found for found in near if inspect.isfunction(found) or inspect.ismethod(found)]
    return False


def _reaches(node: dict[str, Any], root: dict[str, Any], path: list[str]) -> bool:
    """Whether a dotted path exists in a schema; below an open object anything may."""
    node = root["$defs"][node["$ref"].removeprefix("#/$defs/")] if "$ref" in node else node
    if not path or node.get("additionalProperties"):
        return True
    options = [*node.get("anyOf", ()), *node.get("allOf", ())]
    inner = node.get("properties", {}).get(path[0])
    return (inner is not None and _reaches(inner, root, path[1:])) or any(
        _reaches(o, root, path) for o in options
    )


def _unpublishable(model: type[BaseModel]) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", PydanticJsonSchemaWarning)
            model.model_json_schema()
    except (PydanticInvalidForJsonSchema, PydanticJsonSchemaWarning) as error:
        return str(error).partition("\n")[0]
    return ""


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function)
    except NameError:  # an annotation that cannot be read is none
        return {}


def _data(report: Any) -> Any:
    """The model in Report[Model], or None."""
    found = getattr(report, "__pydantic_generic_metadata__", {})
    return found["args"][0] if found.get("origin") is Report else None


def _root(hint: Any) -> Any:
    found = getattr(hint, "__pydantic_generic_metadata__", {}).get("origin")
    return found or getattr(hint, "__origin__", hint)
