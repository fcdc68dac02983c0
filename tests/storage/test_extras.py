"""What may be left out is named where it is missed, by an extra that is there and brings it."""

import re
import tomllib
from importlib.metadata import packages_distributions

import pytest

from storage.extras import EXTRAS, missing
from tests.support.places import ROOT
from tests.support.samples.without import forget

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def named(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=;]", one)[0].lower() for one in requirements}


@pytest.mark.parametrize("package", [name for name in EXTRAS if name != "claude_agent_sdk"])
def test_each_package_is_brought_by_the_extra_that_its_sentence_names(package: str) -> None:
    (distribution,) = {name.lower() for name in packages_distributions()[package]}

    assert distribution in named(PROJECT["optional-dependencies"][EXTRAS[package][1]])
    assert distribution not in named(PROJECT["dependencies"])


def test_no_extra_is_without_a_sentence() -> None:
    assert {extra for _, extra in EXTRAS.values()} == {*PROJECT["optional-dependencies"]}


def test_what_is_there_needs_no_sentence_and_what_is_not_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing("duckdb") == ""

    forget(monkeypatch, "duckdb")

    assert missing("duckdb") == "DuckDB is not installed. Install signoff[data]."


def test_a_package_that_refuses_to_be_looked_for_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("storage.extras.find_spec", refuse)

    assert missing("kubernetes") == "The client for Kubernetes is not installed. Install signoff[kubernetes]."
