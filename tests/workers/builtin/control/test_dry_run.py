"""A command's own dry run is what people see; what they approved happens, or they are asked again."""

import sys
from pathlib import Path
from typing import Any

import pytest

from storage.contract.states import PlanState
from tests.support.fakes import approve, permitted, plan_spec, show_previews, states, step, terms, work
from tests.support.scratch import context
from tests.support.store import Store
from workers.base import Permanent, Preview
from workers.builtin.control.command import Command, CommandParams
from workers.engine.attempt import Attempts
from workers.registry import Registry

# As OpenTofu and Terraform answer: plan -detailed-exitcode ends with 0 (nothing), 1 (error) or 2 (changes),
# and leaves its plan in a file; apply does what stands in that file.
TOFU = """
import os, pathlib, sys
here = pathlib.Path(__file__).parent
wanted, real = (here / "wanted").read_text().strip(), (here / "real").read_text().strip()
if sys.argv[1] == "plan":
    out = next(word for word in sys.argv if word.startswith("-out=")).removeprefix("-out=")
    print(f"aws_db.main: Refreshing state... [{os.getpid()}]")
    if wanted == "broken":
        sys.exit("Error: Unsupported argument")
    pathlib.Path(out).write_text(wanted)
    print(f"  ~ size = {real} -> {wanted}  # password {os.environ.get('DB_PASSWORD')}")
    print(f"Plan: 0 to add, {int(wanted != real)} to change, 0 to destroy.")
    print(f"Saved the plan to: {out}")
    sys.exit(2 if wanted != real else 0)
(here / "real").write_text(pathlib.Path(sys.argv[-1]).read_text())
print("Apply complete!")
"""


@pytest.fixture
def tofu(tmp_path: Path) -> Path:
    for name, text in {"tofu.py": TOFU, "wanted": "20", "real": "10"}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def entry(place: Path, **more: Any) -> dict[str, Any]:
    program = [sys.executable, str(place / "tofu.py")]
    return {
        "argv": [*program, "apply", "-input=false", "{dry_run}"],
        "preview": [*program, "plan", "-detailed-exitcode", "-out={dry_run}"],
        "preview_codes": [0, 2], "preview_ignores": "Refreshing state", "preview_verdict": r"^Plan: (.*)\.$",
        "environment": "production", **more,
    }  # fmt: skip


def looked(place: Path, name: str = "a", **more: Any) -> Preview:
    found: Preview = Command.run_command.hooks["preview"](
        Command({"commands": {"tf": entry(place, **more)}}),
        CommandParams(command="tf"),
        context(place / name),
    )
    return found


def test_its_output_is_shown_its_verdict_stands_on_the_card_and_noise_is_no_basis(tofu: Path) -> None:
    first, second = looked(tofu), looked(tofu, "b")

    assert "~ size = 10 -> 20" in first.text
    assert first.found == ("0 to add, 1 to change, 0 to destroy",)
    assert first.basis == second.basis
    assert "Saved the plan to: {dry_run}" in first.text


@pytest.mark.parametrize(
    ("pattern", "verdict"),
    [
        ("^Plan: .*", "Plan: 0 to add, 1 to change, 0 to…"),
        ("^(?:No changes|Plan: (.*)[.])$", "0 to add, 1 to change, 0 to destroy"),
        (r"(\d+) to change", "1"),
        ("(nothing)? to change", "to change"),
    ],
)
def test_a_verdict_is_what_stands_in_the_brackets_of_its_pattern_and_ends_with_a_word(
    tofu: Path, pattern: str, verdict: str
) -> None:
    assert looked(tofu, preview_verdict=pattern).found == (verdict,)


def test_why_there_is_no_dry_run_ends_with_one_full_stop(tofu: Path) -> None:
    found = looked(tofu, secrets_env={"KEY": "NOBODY_SET_THIS"})

    assert "Nothing was run. It does not start before one works." in found.text


def test_another_plan_is_another_basis(tofu: Path) -> None:
    before = looked(tofu)
    (tofu / "wanted").write_text("30")

    assert looked(tofu).basis != before.basis


def test_secrets_in_its_output_are_hidden(tofu: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_DB_PASSWORD", "correct-horse-battery")
    found = looked(tofu, secrets_env={"DB_PASSWORD": "TF_DB_PASSWORD"})

    assert "password [hidden]" in found.text
    assert "correct-horse" not in str(found)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"preview": [sys.executable, "-c", "import sys; sys.exit('no such')"]}, "exit code 1: no such"),
        ({"preview": [sys.executable, "-c", "print(1); import time; time.sleep(60)"], "preview_timeout": 0.5},
         "did not finish in time"),
        ({"preview": ["no-such-program"]}, "is not installed"),
        ({"secrets_env": {"X": "NOT_SET_ANYWHERE"}}, "needs NOT_SET_ANYWHERE"),
    ],
    ids=["fails", "hangs", "is missing", "has no secret"],
)  # fmt: skip
def test_one_that_fails_is_said_and_can_never_be_the_same_again(
    tofu: Path, more: dict[str, Any], why: str
) -> None:
    more = {"argv": [sys.executable, "--version"], **more} if "preview" in more else more
    found = looked(tofu, **more)

    assert why in found.text
    assert found.found[0].startswith("!dry run ")
    assert looked(tofu, "b", **more).basis != found.basis


def test_what_does_not_fit_is_counted_and_still_counts(tofu: Path) -> None:
    long = "for n in range(3000): print('line', n, 'x' * (n == {}))"
    found, other = (
        looked(tofu, argv=[sys.executable, "-V"], preview=[sys.executable, "-c", long.format(middle)])
        for middle in (1500, 1501)
    )

    assert found.found[1].startswith("!")
    assert found.found[1].endswith("lines of it are not shown")
    assert len(found.text) < 6000
    assert found.basis != other.basis


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"preview": []}, "dry_run"),
        ({"preview": ["sh", "-c", "plan {dry_run}"]}, "shell line|whole word"),
        ({"preview_ignores": "("}, "no regular expression"),
        ({"preview": ["plan", "{other}", "{dry_run}"]}, "other"),
    ],
)
def test_an_entry_that_cannot_be_kept_is_refused(tofu: Path, more: dict[str, Any], why: str) -> None:
    with pytest.raises(Permanent, match=why):
        looked(tofu, **more)


@pytest.fixture
def attempts(store: Store, tofu: Path) -> Attempts:
    registry = Registry([Command({"commands": {"tf": entry(tofu)}})])
    store.publish(registry.contracts())
    return Attempts(store, registry, "w1", tofu / "attempts")


def approved(attempts: Attempts) -> int:
    store = attempts.store
    plan_id = store.request("apply", team="T1", user="ANN", channel="C1")
    made = step("s1", attempts.registry.contract("command", "run_command"), parameters={"command": "tf"})
    store.propose(plan_id, plan_spec(made), terms(1), author="planner")
    show_previews(attempts)
    approve(store, plan_id)
    permitted(store, plan_id)
    return plan_id


def run(attempts: Attempts, plan_id: int) -> str:
    work(attempts)
    return str(attempts.store.view(plan_id).state)


def test_what_was_approved_is_what_is_applied(attempts: Attempts, tofu: Path) -> None:
    plan_id = approved(attempts)

    run(attempts, plan_id)

    assert states(attempts.store, plan_id) == {"s1": "succeeded"}
    assert (tofu / "real").read_text() == "20"


@pytest.mark.parametrize("wanted", ["30", "broken"])
def test_what_has_changed_since_asks_and_applies_nothing(attempts: Attempts, tofu: Path, wanted: str) -> None:
    plan_id = approved(attempts)
    (tofu / "wanted").write_text(wanted)

    assert run(attempts, plan_id) == PlanState.stalled
    report = attempts.store.view(plan_id).step("s1").report
    assert report
    assert "has changed since it was approved" in report.summary
    assert (tofu / "real").read_text() == "10"


def test_one_that_failed_before_approval_never_runs_unasked(attempts: Attempts, tofu: Path) -> None:
    (tofu / "wanted").write_text("broken")
    plan_id = approved(attempts)

    assert run(attempts, plan_id) == PlanState.stalled
    assert (tofu / "real").read_text() == "10"


def test_a_rollback_that_nobody_could_be_shown_runs_only_if_its_dry_run_works(tofu: Path) -> None:
    worker, params = Command({"commands": {"tf": entry(tofu)}}), CommandParams(command="tf")
    (tofu / "wanted").write_text("broken")
    with pytest.raises(Permanent, match="was not run"):
        Command.run_command.run(worker, params, context(tofu / "a"))
    assert (tofu / "real").read_text() == "10"
    (tofu / "wanted").write_text("20")

    assert Command.run_command.run(worker, params, context(tofu / "b")).status == "succeeded"
    assert (tofu / "real").read_text() == "20"


PLAYBOOK = """
- hosts: localhost
  gather_facts: false
  connection: local
  vars: {ansible_python_interpreter: "{{ ansible_playbook_python }}"}
  tasks:
    - ansible.builtin.copy: {content: "size = {{ size }}\\n", dest: "{{ playbook_dir }}/real"}
"""


def test_ansible_itself_shows_its_difference_and_is_asked_about_when_it_has_moved(tmp_path: Path) -> None:
    program = str(Path(sys.executable).parent / "ansible-playbook")
    (tmp_path / "site.yml").write_text(PLAYBOOK)
    (tmp_path / "real").write_text("size = 10\n")
    play = [program, "site.yml", "--inventory=localhost,", "--extra-vars=size=20"]
    given = {"argv": play, "preview": [*play, "--check", "--diff"], "preview_verdict": "changed=[0-9]+",
             "preview_codes": [0], "preview_ignores": r"^\+\+\+ after: ", "directory": str(tmp_path),
             "env": {"ANSIBLE_NOCOLOR": "1", "ANSIBLE_HOME": str(tmp_path / "home")}}  # fmt: skip
    first, again = looked(tmp_path, **given), looked(tmp_path, "b", **given)
    untouched = (tmp_path / "real").read_text()
    (tmp_path / "real").write_text("size = 15\n")
    moved = looked(tmp_path, "c", **given)
    worker, params = Command({"commands": {"tf": entry(tmp_path, **given)}}), CommandParams(command="tf")
    report = Command.run_command.run(worker, params, context(tmp_path / "d"))

    assert untouched == "size = 10\n"
    assert "-size = 10" in first.text
    assert "+size = 20" in first.text, first.text
    assert first.found == ("changed=1",)
    assert first.basis == again.basis != moved.basis
    assert report.status == "succeeded", report.summary
    assert (tmp_path / "real").read_text() == "size = 20\n"
