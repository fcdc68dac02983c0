"""The kit finds what would make a worker unsafe, and the page on writing one tells the truth."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from storage.config import SignoffConfig
from storage.errors import BadConfig
from tests.support.fakes import approve, plan_spec, show_previews, states, step, step_row, terms, undo, work
from tests.support.places import ROOT
from tests.support.store import Store
from tests.support.world import WITNESS
from workers.base import Context, Named, Params, Preview, Report, Verdict, Worker, action, check
from workers.engine.attempt import Attempts
from workers.kit import check as kit
from workers.kit.promises import findings
from workers.registry import BUILTIN, Registry, load

PAGE = (ROOT / "docs" / "writing-a-worker.md").read_text(encoding="utf-8")


class Empty(Params):
    pass


class Data(BaseModel):
    failed: int = 0
    place: dict[str, int] = {}


class Good(Worker):
    """Does nothing, and does it well."""

    name = "good"

    @action(changes=False, repeat="safe", criteria={"none_failed": (check("failed", "eq", 0),)})
    def look(self, params: Empty, ctx: Context) -> Report[Data]:
        """Looks."""
        return Report.ok("fine", Data())


def said(kind: type[Worker], level: str = "error") -> list[str]:
    return [str(finding) for finding in findings(kind({})) if finding.level == level]


def named(**parts: Any) -> type[Worker]:
    """Good, but for these parts."""
    return type("Odd", (Good,), {"__doc__": "Odd.", **parts})


def acting(run: Any, **facts: Any) -> type[Worker]:
    """Good, with another action `act`."""
    given: dict[str, Any] = {"changes": True, "repeat": "safe", "target": "it", **facts}
    return named(act=action(**given)(run))


def act(self: Any, params: Empty, ctx: Context) -> Report[Data]:
    """Acts."""
    return Report.ok("done", Data())


def test_a_good_worker_has_no_findings() -> None:
    assert said(Good) == said(Good, "warning") == []


@pytest.mark.parametrize("place", BUILTIN.values())
def test_every_built_in_worker_keeps_the_contract(place: str) -> None:
    assert [finding for finding in findings(kit.load(place)) if finding.level == "error"] == []


class Open(Params):
    model_config = ConfigDict(extra="allow")


class Thawed(Params):
    model_config = ConfigDict(frozen=False)


class Login(Params):
    db_password: str


class Nested(Params):
    class Inner(BaseModel):
        api_key: str

    inner: Inner


class Counted(Params):
    service: Annotated[int, Named("services")]


class Guessed(Params):
    service: Annotated[str, Named("services")] = "main"


class Huge(Params):
    count: int = Field(default=1, le=2**60)


class Misfit(Params):
    count: int = Field(default=0, ge=1)


def taking(params: Any) -> Any:
    def run(self: Any, params: Any, ctx: Context) -> Report[Data]:
        """Acts."""
        return Report.ok("done", Data())

    run.__annotations__["params"] = params
    return run


def unannotated(self, params, ctx):
    """Acts."""


def swapped(self: Any, ctx: Context, params: Empty) -> Report[Data]:
    """Acts."""
    return Report.ok("done", Data())


def untyped(self: Any, params: Empty, ctx: Context) -> Report[dict[str, Any]]:
    """Acts."""
    return Report.ok("done", {})


def test_a_worker_without_words_is_found() -> None:
    assert "it needs a docstring" in said(named(__doc__=None))[0]
    assert "the name 'My Worker' must look like my-worker" in said(named(name="My Worker"))[0]
    assert "'k8s-deployer' is the name of a built-in worker" in said(named(name="k8s-deployer"))[0]
    assert "'db-backup' is the name of a built-in worker" in said(named(aliases=("db-backup",)))[0]
    assert said(type("Idle", (Worker,), {"__doc__": "Idle.", "name": "idle"})) == [
        "error: idle: it has no @action"
    ]


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (unannotated, "its parameters must be annotated as a subclass of Params"),
        (swapped, r"act must take \(self, params, ctx\)|swapped must take \(self, params, ctx\)"),
        (untyped, r"its report must be annotated as Report\[Data\]"),
        (taking(dict), "its parameters must be annotated as a subclass of Params"),
        (taking(Open), "Open must stay closed and frozen"),
        (taking(Thawed), "Thawed must stay closed and frozen"),
        (taking(Login), "'db_password' looks like a secret"),
        (taking(Nested), "'api_key' looks like a secret"),
        (taking(Counted), "'service' is Named, so it must be a str"),
        (taking(Huge), "its contract cannot be written as canonical JSON"),
        (taking(Misfit), "the default of 'count' is not what it takes: 0 is less than the minimum of 1"),
        (taking(Guessed), "'service' is Named, so only the inventory knows its values: no default"),
    ],
)
def test_parameters_and_reports_of_the_wrong_shape_are_found(run: Any, message: str) -> None:
    assert re.search(message, "\n".join(said(acting(run))))


def test_a_schema_that_cannot_be_published_is_found() -> None:
    class Queue(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        lock: subprocess.Popen  # type: ignore[type-arg] # that it has no schema is the point

    def run(self: Any, params: Empty, ctx: Context) -> Any:
        """Acts."""

    run.__annotations__["return"] = Report[Queue]

    assert "have no JSON schema" in said(acting(run))[0]


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"timeout": 0}, "timeout of 0 s is not between"),
        ({"timeout": 1e6}, "timeout of 1e\\+06 s is not between"),
        ({"target": "service:{service}"}, r"its target names '\{service\}', which is no parameter"),
        ({"criteria": {"fine": (check("passed", "eq", 1),)}}, "asks for 'passed', which is not reported"),
        ({"criteria": {"fine": (check("failed.deep", "eq", 1),)}}, "asks for 'failed.deep'"),
        ({"criteria": {"all fine": (check("failed", "eq", 0),)}}, "a name like this_holds"),
        ({"criteria": {"fine": ()}}, "and checks"),
        ({"undo": "unact"}, "its undo 'unact' is no action of this worker"),
        ({"undo": "look", "changes": False}, "it changes nothing, so there is nothing to undo"),
    ],
)
def test_facts_that_cannot_be_true_are_found(facts: dict[str, Any], message: str) -> None:
    assert re.search(message, "\n".join(said(acting(act, **facts))))


def test_a_criterion_below_an_open_field_is_no_finding() -> None:
    assert said(acting(act, criteria={"fine": (check("place.here", "eq", 1),)})) == []


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"repeat": "unsafe"}, "a crash inside it must ask a person"),
        ({"target": ""}, "two plans may do it at the same time"),
        ({"timeout": 10, "typical": 60}, "it typically takes 60 s, its timeout is 10"),
        ({"changes": False, "repeat": "unsafe"}, 'repeat="safe" lets it be tried again'),
    ],
)
def test_what_is_worth_a_second_look_is_a_warning(facts: dict[str, Any], message: str) -> None:
    assert said(acting(act, **facts)) == []
    assert message in "\n".join(said(acting(act, **facts), "warning"))


def back(ctx: Context) -> Any:
    return ctx.previous["version"]


def test_an_undo_that_needs_what_was_before_needs_someone_to_record_it() -> None:
    class Forgetful(Good):
        """Forgets."""

        @action(changes=True, repeat="safe", target="it", undo="unact")
        def act(self, params: Empty, ctx: Context) -> Report[Data]:
            """Acts."""
            return Report.ok("done", Data())

        @action(changes=True, repeat="safe", target="it")
        def unact(self, params: Empty, ctx: Context) -> Report[Data]:
            """Takes it back."""
            return Report.ok(f"back at {back(ctx)}", Data())

    class Mindful(Forgetful):
        """Remembers."""

        @action(changes=True, repeat="safe", target="it", undo="unact")
        def act(self, params: Empty, ctx: Context) -> Report[Data]:
            """Acts."""
            return Report.ok("done", Data())

        @act.before
        def found(self, params: Empty, ctx: Context) -> dict[str, Any]:
            return {"version": "1"}

    assert said(Forgetful) == ["error: good.act: unact reads ctx.previous, and no before hook records it"]
    assert said(Mindful) == []


def test_hooks_of_the_wrong_shape_are_found() -> None:
    class Hooked(Good):
        """Hooks."""

        @action(changes=True, target="it")
        def act(self, params: Empty, ctx: Context) -> Report[Data]:
            """Acts."""
            return Report.ok("done", Data())

        @act.before
        def found(self, params: Login, ctx: Context) -> dict[str, Any]:
            return {}

        @act.probe
        def probed(self, params: Empty, ctx: Context) -> bool:
            return True

        @act.preview
        def would(self, params: Empty) -> Preview:
            return Preview("?")

    assert said(Hooked) == [
        "error: good.act before: it must take the same parameters as its action",
        "error: good.act probe: it must be annotated to return Report or Verdict",
        "error: good.act preview: would must take (self, params, ctx), not (self, params)",
    ]


def test_a_probe_that_answers_by_a_report_or_a_verdict_is_fine() -> None:
    made = acting(act, repeat="unsafe")

    def probe(self: Any, params: Empty, ctx: Context) -> Report[Data] | Verdict:
        return Verdict.did_not_run

    vars(made)["act"].probe(probe)

    assert said(made) == said(made, "warning") == []


UNSTABLE = '''
from pydantic import BaseModel, Field
from workers.base import Context, Params, Report, Worker, action

class Odd(Params):
    name: str = Field(default="a", json_schema_extra={"examples": [*set("abcdefgh")]})

class Data(BaseModel):
    n: int = 0

class Unstable(Worker):
    """Never the same."""
    name = "unstable"

    @action(changes=False, repeat="safe")
    def look(self, params: Odd, ctx: Context) -> Report[Data]:
        """Looks."""
        return Report.ok("fine", Data())
'''


def command(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The kit as a person runs it, in the folder of their module."""
    argv = [sys.executable, "-m", "workers.kit.check", *words]
    return subprocess.run(argv, cwd=home, capture_output=True, text=True, check=False)


def test_a_contract_that_is_new_in_every_process_is_found(tmp_path: Path) -> None:
    (tmp_path / "unstable_worker.py").write_text(UNSTABLE)
    done = command(tmp_path, "unstable_worker")

    assert done.returncode == 1
    assert "error: unstable_worker: its contract is not the same in every process: look " in done.stdout
    assert "unstable_worker: 1 actions, 1 errors, 0 warnings\n" in done.stdout


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module", "There is no module 'no_such_module'"),
        ("workers.base", "Name one worker class as workers.base:CLASS; workers.base has: none"),
        ("workers.builtin.http.wait:Weight", "workers.builtin.http.wait has: Wait"),
    ],
)
def test_what_cannot_be_checked_is_a_sentence(
    name: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kit.main([name]) == 2
    assert message in capsys.readouterr().out


# the page


@pytest.fixture
def flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The worker of the page, as a module that anybody can import."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "feature_flags.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "feature_flags", raising=False)
    assert len([line for line in code.splitlines() if line.strip()]) <= 40
    return import_module("feature_flags")


def test_the_worker_of_the_page_has_no_findings(flags: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert kit.main(["feature_flags"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("feature_flags: 2 actions, 0 errors, 0 warnings\n")
    assert said.endswith("Grade: bronze\n")


def engine(flags: Any, store: Store, home: Path) -> Attempts:
    entry = {"file": str(home / "new-checkout"), "environment": "production"}
    registry = Registry([flags.FeatureFlags({"flags": {"new-checkout": entry}})])
    store.publish(registry.contracts())
    return Attempts(store, registry, "w1", home / "attempts")


def planned(attempts: Attempts, *steps: Any, **fields: Any) -> int:
    plan_id = attempts.store.request("switch it on", team="T1", user="ANN", channel="C1")
    attempts.store.propose(plan_id, plan_spec(*steps, **fields), terms(), author="planner")
    show_previews(attempts)
    approve(attempts.store, plan_id)
    for _ in range(4):
        work(attempts)
    return plan_id


def test_the_worker_of_the_page_does_its_work(flags: Any, lite: Store, tmp_path: Path) -> None:
    attempts = engine(flags, lite, tmp_path)
    set_flag = attempts.registry.contract("feature-flags", "set_flag")
    switch = step("s1", set_flag, parameters={"flag": "new-checkout", "on": True})
    plan_id = planned(attempts, switch)

    assert lite.view(plan_id).outcome == "succeeded"
    assert (tmp_path / "new-checkout").exists()
    assert step_row(lite, plan_id, "s1").previous == {"on": False}


def test_the_worker_of_the_page_takes_its_work_back(flags: Any, lite: Store, tmp_path: Path) -> None:
    attempts = engine(flags, lite, tmp_path)
    set_flag = attempts.registry.contract("feature-flags", "set_flag")
    restore = attempts.registry.contract("feature-flags", "restore_flag")
    on, off = ({"flag": "new-checkout", "on": value} for value in (True, False))
    unmet = set_flag.criteria["is_on"]
    steps = (
        step("s1", set_flag, parameters=on),
        step(
            "s2",
            set_flag,
            parameters=off,
            depends_on=("s1",),
            success_criteria=unmet,
            failure_action="rollback",
        ),
    )
    back = tuple(undo(f"u{n}", f"s{n}", restore, parameters={"flag": "new-checkout"}) for n in (1, 2))
    plan_id = planned(attempts, *steps, rollback=back)

    assert lite.view(plan_id).outcome == "rolled_back"
    assert states(lite, plan_id) == {"s1": "succeeded", "s2": "failed", "u1": "succeeded", "u2": "succeeded"}
    assert not (tmp_path / "new-checkout").exists()


# third parties


ODD = "from workers.base import Worker\nclass Odd(Worker):\n    name, aliases = '{}', ('{}',)\n"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The witness's package, as pip would leave it."""
    monkeypatch.syspath_prepend(WITNESS)


def package(home: Path, monkeypatch: pytest.MonkeyPatch, point: str, code: str = "") -> None:
    """Another package with one entry point."""
    info = home / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[signoff.workers]\n{point}\n")
    (home / "other_worker.py").write_text(code)
    monkeypatch.syspath_prepend(home)
    monkeypatch.delitem(sys.modules, "other_worker", raising=False)


def test_an_installed_worker_runs_only_if_the_configuration_names_it(installed: None) -> None:
    assert {worker for worker, _ in load(SignoffConfig(workers=("wait",))).offers()} == {"wait"}
    assert ("witness", "note_once") in load(SignoffConfig(workers=("wait", "witness"))).offers()


@pytest.mark.hostile
@pytest.mark.parametrize(
    ("point", "code", "message"),
    [
        ("gone = no_such_package:Gone", "", "'gone' cannot be loaded from no_such_package:Gone: No module"),
        ("gone = other_worker:Gone", "", "'gone' cannot be loaded from other_worker:Gone"),
        ("odd = other_worker:odd", "odd = 3", "other_worker:odd is not a Worker with the name 'odd'"),
        (
            "odd = other_worker:Odd",
            ODD.format("k8s-deployer", ""),
            "is not a Worker with the name 'odd'",
        ),
        (
            "odd = other_worker:Odd",
            ODD.format("odd", "notify"),
            "The worker 'odd' also answers to 'notify', as 'notify' does",
        ),
        (
            "odd = other_worker:Odd",
            ODD.format("odd", "db-manager"),
            "The worker 'odd' also answers to 'db-manager', as 'db-backup' does",
        ),
    ],
)
def test_a_package_that_is_not_what_it_says_is_refused_at_the_start(
    point: str, code: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package(tmp_path, monkeypatch, point, code)

    with pytest.raises(BadConfig, match=message):
        load(SignoffConfig(workers=("db-backup", point.partition(" ")[0])))
