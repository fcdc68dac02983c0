"""What a piece of Python can do beyond computing: read from its syntax, so that no spelling hides it. Pure.

A name is what Python makes of it, not what it looks like; what cannot be read counts, too.
"""

import ast
import sys
from collections.abc import Collection, Iterable, Iterator

TESTING = frozenset({"pytest", "_pytest", "unittest", "conftest", "sitecustomize", "usercustomize", "pluggy"})

# What only computes. Whatever else is imported is a power that a person hears of, once it is new.
HARMLESS = frozenset({
    "__future__", "abc", "array", "bisect", "calendar", "cmath", "collections", "contextlib", "copy",
    "dataclasses", "datetime", "decimal", "difflib", "enum", "fractions", "functools", "graphlib",
    "hashlib", "heapq", "hmac", "html", "itertools", "json", "math", "numbers", "operator", "pprint",
    "random", "re", "secrets", "statistics", "string", "textwrap", "time", "typing",
    "typing_extensions", "unicodedata", "uuid", "zoneinfo",
})  # fmt: skip
# Builtins that reach past what is written, or end the program that tests it.
REACHING = frozenset({
    "eval", "exec", "compile", "open", "input", "breakpoint", "exit", "quit", "globals", "locals",
    "vars", "getattr", "setattr", "delattr", "memoryview", "help", "SystemExit", "KeyboardInterrupt",
    "GeneratorExit", "BaseException",
})  # fmt: skip
# Modules and functions that others carry along, as in `random._os` or `logging.os`.
CARRIED = frozenset({
    "os", "_os", "sys", "_sys", "subprocess", "socket", "shutil", "pathlib", "io", "_io", "importlib",
    "builtins", "inspect", "ctypes", "signal", "threading", "multiprocessing", "pickle", "gc",
    "weakref", "system", "popen", "fork", "forkpty", "abort", "_exit", "kill", "killpg", "modules",
    "execv", "execve", "execvp", "posix_spawn", "attrgetter", "methodcaller", "CodeType",
    "FunctionType", "ForwardRef", "get_type_hints", "evaluate_forward_ref", "gi_frame", "gi_code",
    "cr_frame", "ag_frame", "tb_frame", "f_back", "f_globals", "f_locals", "f_builtins", "co_code",
    "func_globals", "mro",
})  # fmt: skip
PLAIN = frozenset({"__name__", "__all__", "__version__", "__author__", "__doc__", "__class__"})
BUILDING = frozenset({"__init__", "__post_init__", "__init_subclass__", "__new__", "__enter__", "__exit__"})
# What a comparison in a test asks of an object: who answers it can make every test green.
JUDGING = frozenset({"__eq__", "__ne__", "__del__", "__instancecheck__", "__getattr__", "__getattribute__"})


def new_powers(before: str, after: str, own: Collection[str]) -> list[str]:
    """What the new text can do that the old one could not. `own` are the repository's modules."""
    known = {*powers(before, own)}
    return [power for power in dict.fromkeys(powers(after, own)) if power not in known]


def own_modules(paths: Iterable[str]) -> frozenset[str]:
    """The names by which a repository's files import each other; none of Python's own."""
    parts = {part.removesuffix(".py") for path in paths if path.endswith(".py") for part in path.split("/")}
    return frozenset(parts - sys.stdlib_module_names - TESTING)


def shadows(path: str) -> bool:
    """Whether a file is called like a part of Python, or of what tests it, and would be imported instead."""
    names = {part.removesuffix(".py") for part in path.split("/")[-2:]}
    return path.endswith(".py") and bool(names & (sys.stdlib_module_names | TESTING))


def powers(text: str, own: Collection[str]) -> Iterator[str]:
    try:
        nodes = [*ast.walk(ast.parse(text))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield "Python that cannot be read"
        return
    for node in nodes:
        yield from _imported(node, own)
        yield from _named(node)


def _imported(node: ast.AST, own: Collection[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (f"import {one.name}" for one in node.names if _far(one.name, own))
    if isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        if not node.level and _far(module, own):
            yield f"import {module}"
        carried = (one.name for one in node.names if one.name == "*" or one.name in CARRIED)
        yield from (f"{name} from {module}" for name in carried)


def _named(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and (node.id in REACHING or _hidden(node.id)):
        yield f"“{node.id}”"
    if isinstance(node, ast.Attribute) and (
        node.attr in CARRIED or (_hidden(node.attr) and not _builds(node))
    ):
        yield f"“.{node.attr}”"
    if isinstance(node, ast.MatchClass):
        yield from (f"“.{name}”" for name in node.kwd_attrs if _hidden(name) or name in CARRIED)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in JUDGING:
        yield f"“{node.name}”"


def _far(module: str, own: Collection[str]) -> bool:
    first = module.partition(".")[0]
    return first not in HARMLESS and first not in own


def _hidden(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in PLAIN


def _builds(node: ast.Attribute) -> bool:
    """`super().__init__` and the like."""
    call = node.value
    above = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "super"
    return above and node.attr in BUILDING
