"""What a green change can do besides computing, however it is spelt."""

import pytest

from workers.builtin.code.ground.powers import new_powers, own_modules, shadows

pytestmark = [pytest.mark.fleet, pytest.mark.hostile]
OWN = own_modules(["shop/part.py", "shop/money/tax.py", "os/odd.py"])


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos._exit(0)",
        "from os import _exit as done\ndone(0)",
        "import subprocess as s\ns.run(['id'])",
        "__import__('os').system('id')",
        "e = ｅｖａｌ\ne('1')",
        "(lambda: 0).__globals__['__builtins__']",
        "().__class__.__base__.__subclasses__()",
        "getattr(__builtins__, 'ev' + 'al')('1')",
        "import random\nrandom._os._exit(0)",
        "from random import _os as o",
        "import operator\noperator.attrgetter('x.y')",
        "match [].append:\n    case object(__self__=x):\n        pass",
        "raise SystemExit(0)",
        "exit(0)",
        "import atexit",
        "import sys\nsys.modules['unittest'] = None",
        "import unittest\nunittest.TestCase.assertEqual = None",
        "import pytest",
        "import importlib\nimportlib.import_module('o' + 's')",
        "open('/etc/passwd')",
        "class Any:\n    def __eq__(self, other):\n        return True",
        "def f():\n    yield\nf().gi_frame.f_back",
        "try:\n    x\nexcept Exception as e:\n    e.__traceback__",
        "import ctypes, json",
        "from json import *",
        "from . import os",
        "import typing\ntyping.get_type_hints(f)",
        "def f(self):\n    return self.__globals__",
        "x = 1 +",
        "x = 'a\0b'",
        "import socket",
        "import http.server",
    ],
)
def test_a_power_that_is_new_is_named(text: str) -> None:
    assert new_powers("x = 1\n", text, OWN)


@pytest.mark.parametrize(
    "text",
    [
        "import json\nfrom shop.money import tax\nfrom .part import price",
        "from dataclasses import dataclass\n\n@dataclass\nclass A:\n    x: int",
        "class A(B):\n    def __init__(self):\n        super().__init__()\n        self._x = self.__class__",
        "def price(count):\n    return count * 3 + 1",
        "if __name__ == 'shop':\n    pass",
        "'the environment of the requests'",
    ],
)
def test_what_only_computes_is_no_ones_business(text: str) -> None:
    assert new_powers("", text, OWN) == []


def test_a_power_that_the_file_had_before_is_not_new() -> None:
    assert new_powers("import os\n", "import os\nimport sys\n", OWN) == ["import sys"]


def test_a_repository_cannot_make_a_module_of_pythons_its_own() -> None:
    assert new_powers("", "import os.odd", OWN) == ["import os.odd"]


@pytest.mark.parametrize(
    ("path", "so"),
    [
        ("shop/random.py", True),
        ("unittest/__init__.py", True),
        ("conftest.py", True),
        ("shop/price.py", False),
        ("docs/random.md", False),
    ],
)
def test_a_file_that_python_would_take_for_its_own_is_named(path: str, so: bool) -> None:
    assert shadows(path) is so
