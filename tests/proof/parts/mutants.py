"""Mutants: small wrong changes of one module, each put in the place of the right code without an import."""

import ast
import copy
import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

COMPARED: dict[Any, Any] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
COUNTED: dict[Any, Any] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Mult: ast.Add
}  # fmt: skip
NAMES = {"any": "all", "all": "any", "max": "min", "min": "max"}
LONGEST = 80


@dataclass(frozen=True)
class Mutant:
    """One change in one definition; its name stays the same when lines move."""

    module: str
    owner: str  # the function, Class.method, or "" for a statement of the module
    change: str
    code: ast.stmt

    @property
    def name(self) -> str:
        return f"{self.module}:{self.owner or 'module'}: {self.change}"


def _with(node: Any, **fields: Any) -> Any:
    made = copy.copy(node)
    vars(made).update(fields)
    return made


def _less(items: list[Any], place: int) -> list[Any]:
    return items[:place] + items[place + 1 :]


def _compared(node: ast.Compare) -> Iterator[Any]:
    yield _with(node, ops=[COMPARED[type(node.ops[0])](), *node.ops[1:]])


def _joined(node: ast.BoolOp) -> Iterator[Any]:
    yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())


def _counted(node: ast.BinOp) -> Iterator[Any]:
    if type(node.op) in COUNTED:
        yield _with(node, op=COUNTED[type(node.op)]())


def _negated(node: ast.UnaryOp) -> Iterator[Any]:
    if isinstance(node.op, ast.Not):
        yield node.operand


def _asked(node: ast.If) -> Iterator[Any]:
    yield _with(node, test=ast.UnaryOp(ast.Not(), node.test))


def _unfiltered(node: ast.comprehension) -> Iterator[Any]:
    if node.ifs:
        yield _with(node, ifs=[])


def _named(node: ast.Name) -> Iterator[Any]:
    if node.id in NAMES:
        yield _with(node, id=NAMES[node.id])


def _returned(node: ast.Return) -> Iterator[Any]:
    if node.value is not None and ast.unparse(node.value) != "None":
        yield _with(node, value=ast.Constant(None))


def _constant(node: ast.Constant) -> Iterator[Any]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)
    elif isinstance(node.value, str) and node.value and " " not in node.value:  # a sentence is for people
        yield ast.Constant(node.value + "X")


def _set(node: ast.Set) -> Iterator[Any]:
    for place, item in enumerate(node.elts if node.elts[1:] else []):
        yield _with(node, elts=_less(node.elts, place), gone=item)


def _dict(node: ast.Dict) -> Iterator[Any]:
    for place, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
        keys, values = _less(node.keys, place), _less(node.values, place)
        yield _with(node, keys=keys, values=values, gone=key or value)  # no key: {**value}


def _dropped(node: ast.stmt) -> Iterator[Any]:
    if not isinstance(getattr(node, "value", None), ast.Constant | ast.Yield | ast.YieldFrom):
        yield ast.Pass()


MAKERS: tuple[tuple[Any, Callable[[Any], Iterator[Any]]], ...] = (
    (ast.Compare, _compared), (ast.BoolOp, _joined), (ast.BinOp | ast.AugAssign, _counted),
    (ast.UnaryOp, _negated), (ast.If | ast.IfExp | ast.While, _asked), (ast.comprehension, _unfiltered),
    (ast.Name, _named), (ast.Return, _returned), (ast.Constant, _constant), (ast.Set, _set),
    (ast.Dict, _dict), (ast.Raise | ast.AugAssign | ast.Expr, _dropped),
)  # fmt: skip


def changes(node: ast.AST) -> list[Any]:
    """Wrong versions of one node."""
    return [made for kind, make in MAKERS if isinstance(node, kind) for made in make(node)]


def mutants(module: str) -> list[Mutant]:
    """All mutants of a module: of its functions, its methods, and its tables."""
    found: list[Mutant] = []
    for statement in _tree(module).body:
        if isinstance(statement, ast.FunctionDef):
            found += _of(module, statement.name, statement)
        elif isinstance(statement, ast.Assign | ast.AnnAssign) and not _is_type(statement.value):
            found += _of(module, "", statement)
        elif isinstance(statement, ast.ClassDef):
            methods = [inner for inner in statement.body if isinstance(inner, ast.FunctionDef)]
            found += [one for m in methods for one in _of(module, f"{statement.name}.{m.name}", m)]
    return [*_numbered(found)]


def _tree(module: str) -> ast.Module:
    return ast.parse(Path(sys.modules[module].__file__ or "").read_text(encoding="utf-8"))


def _numbered(found: list[Mutant]) -> Iterator[Mutant]:
    """The same change at two places of one definition gets two names."""
    times = Counter[str]()
    for mutant in found:
        times[mutant.name] += 1
        again = f" ({times[mutant.name]})" if times[mutant.name] > 1 else ""
        yield replace(mutant, change=mutant.change + again)


def _is_type(value: ast.AST | None) -> bool:
    """What others have built upon when they were imported: a change would come too late."""
    return isinstance(value, ast.Subscript) or (
        isinstance(value, ast.Call) and "compile" in ast.unparse(value.func)
    )


def _of(module: str, owner: str, statement: ast.stmt) -> list[Mutant]:
    """Each change of each node, in a copy of the whole statement."""
    untouched, made = _untouched(statement), []
    for place, node in enumerate(ast.walk(statement)):
        for way in range(0 if place in untouched else len(changes(node))):
            whole = copy.deepcopy(statement)
            old = [*ast.walk(whole)][place]
            new = changes(old)[way]
            said = _said(old, new)
            _replace(whole, old, new)
            made.append(Mutant(module, owner, said, ast.fix_missing_locations(whole)))
    return made


def _untouched(statement: ast.stmt) -> set[int]:
    """Annotations, decorators and the words of sentences: they do nothing, or nothing for us."""
    inert: list[Any] = []
    for node in ast.walk(statement):
        inert += [getattr(node, "annotation", None), getattr(node, "returns", None)]
        inert += getattr(node, "decorator_list", [])
        inert += (
            [part for part in node.values if isinstance(part, ast.Constant)]
            if isinstance(node, ast.JoinedStr)
            else []
        )
    skipped = {id(part) for whole in inert if whole is not None for part in ast.walk(whole)}
    return {place for place, node in enumerate(ast.walk(statement)) if id(node) in skipped}


def _replace(whole: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(whole):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
            elif isinstance(value, list) and any(item is old for item in value):
                setattr(parent, name, [new if item is old else item for item in value])


def _said(old: ast.AST, new: Any) -> str:
    if hasattr(new, "gone"):
        return f"{_short(old)} without {_short(new.gone)}"
    return f"{_short(old)} → {_short(new)}"


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"


def install(mutant: Mutant) -> None:
    """Put the mutant in the place of the right code, for whoever has imported it already."""
    module = sys.modules[mutant.module]
    scope: dict[str, Any] = {}
    owner, _, method = mutant.owner.partition(".")
    code = compile(ast.Module([_housed(mutant.code, owner)] if method else [mutant.code], []), "", "exec")
    exec(code, module.__dict__, scope)  # noqa: S102 # our own code, a little changed
    scope.pop("__annotations__", None)
    ((name, new),) = scope.items()
    if method:
        _take_place(getattr(module, owner), method, vars(new)[method])
    elif isinstance(mutant.code, ast.FunctionDef):
        _become(getattr(module, owner), new)
    else:
        _hand_out(module, name, new)
    for built, value in _built_upon(module, name):
        made = compile(ast.Expression(value), module.__file__ or "", "eval")
        _hand_out(module, built, eval(made, module.__dict__))  # noqa: S307 # as above


def _hand_out(module: ModuleType, name: str, new: Any) -> None:
    """To whoever has the old one by its name: a number is the same one everywhere."""
    old = getattr(module, name)
    if isinstance(old, dict):
        old.clear()
        old.update(new)
        return
    for other in [*sys.modules.values()]:
        if getattr(other, "__dict__", {}).get(name) is old:
            setattr(other, name, new)


def _built_upon(module: ModuleType, name: str) -> Iterator[tuple[str, ast.expr]]:
    """What the module itself made of it when it was imported, by its own functions or without."""
    known = {name}
    for statement in _tree(module.__name__).body:
        if isinstance(statement, ast.FunctionDef) and known & {*_names(statement)}:
            known.add(statement.name)
        elif isinstance(statement, ast.Assign) and known & {*_names(statement.value)}:
            target = statement.targets[0]
            if isinstance(target, ast.Name) and target.id != name and not _is_type(statement.value):
                known.add(target.id)
                yield target.id, statement.value


def _names(node: ast.AST) -> Iterator[str]:
    return (inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name))


def _housed(method: ast.stmt, owner: str) -> ast.stmt:
    """A method that says `super()` knows its class only where it is written inside of one."""
    empty = ast.ClassDef(name=owner, bases=[], keywords=[], body=[method], decorator_list=[])
    return ast.fix_missing_locations(empty)


def _take_place(home: type, name: str, new: Any) -> None:
    old = vars(home)[name]
    if _bare(new).__code__.co_freevars == _bare(old).__code__.co_freevars:
        _become(old, new)
    else:  # it speaks of its class no more
        setattr(home, name, new)


def _bare(function: Any) -> Any:
    """The function under whatever decorates it: a property, a cached one, a class method."""
    kinds = ("fget", "func", "__func__")
    found = next((made for kind in kinds if (made := getattr(function, kind, None))), function)
    return inspect.unwrap(found)


def _become(old: Any, new: Any) -> None:
    """A function keeps its identity and gets another body."""
    old, new = _bare(old), _bare(new)
    old.__code__, old.__defaults__, old.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__
