"""docs/commands.md and docs/gitops.md can be followed: entries can be used, runbooks mean what they say."""

import re
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from bot.planner.examples import Stage, rehearse
from bot.planner.runbooks import book as runbooks
from bot.planner.validate import Catalogue
from storage.config import SignoffConfig
from tests.support.places import ROOT
from workers.builtin.control.command import CommandEntry
from workers.builtin.gitops.entry import GitopsEntry
from workers.registry import load

KINDS: dict[str, type[BaseModel]] = {"commands": CommandEntry, "gitops": GitopsEntry}
PAGES = [("commands", "command"), ("gitops", "gitops-deployer")]


def blocks(page: str, kind: str) -> list[str]:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)


def inventory(page: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in blocks(page, "toml"):
        for table, entries in tomllib.loads(text)["inventory"].items():
            found.setdefault(table, {}).update(entries)
    return found


def entries() -> Iterator[tuple[str, str]]:
    for page, _ in PAGES:
        yield from ((page, name) for name in inventory(page)[page])


@pytest.mark.parametrize(("page", "name"), [*entries()])
def test_every_entry_can_be_used(page: str, name: str) -> None:
    KINDS[page].model_validate(inventory(page)[page][name])


@pytest.mark.parametrize(("page", "worker"), PAGES)
def test_its_runbook_means_what_it_says(tmp_path: Path, page: str, worker: str) -> None:
    (found,) = blocks(page, "yaml")
    (tmp_path / "own.yml").write_text(found)
    config = SignoffConfig(workers=(worker,), inventory=inventory(page))
    own = runbooks.read([tmp_path])
    books = runbooks.usable(runbooks.read((runbooks.SHIPPED, tmp_path)), load(config).offers())
    stage = Stage(books, Catalogue(load(config).contracts()), config, datetime(2026, 11, 18, 12, tzinfo=UTC))

    assert [trial for trial in rehearse(stage, own) if trial.wrong] == []
