"""The command worker runs what the operator named, with values that stay values."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from storage.contract.spec import holds
from tests.support.scratch import context
from workers.base import Permanent, Report
from workers.builtin.control.command import Command, CommandParams
from workers.builtin.control.so_far import SoFar
from workers.commands.leftovers import working
from workers.registry import Registry

TELL = [sys.executable, "-c", "import json, sys; print(json.dumps(sys.argv[1:]))"]
ANYTHING = {"pattern": ".*"}
TREE = """
sleep 300 &
nohup sleep 300 >/dev/null 2>&1 &
setsid sleep 300 &
echo rotating
wait
"""


def run(
    scratch: Path,
    entry: dict[str, Any],
    arguments: dict[str, str] | None = None,
    *,
    action: str = "run_command",
    **changes: Any,
) -> Report[Any]:
    worker = Command({"commands": {"rotate": entry}})
    params = CommandParams(command="rotate", arguments=arguments or {})
    report: Report[Any] = getattr(Command, action).run(worker, params, context(scratch, **changes))
    return report


def script(tmp_path: Path, text: str) -> list[str]:
    file = tmp_path / "rotate.sh"
    file.write_text(text)
    return ["sh", str(file)]


def refusal(scratch: Path, entry: dict[str, Any], *arguments: Any, **options: Any) -> str:
    with pytest.raises(Permanent) as refused:
        run(scratch, entry, *arguments, **options)
    assert not list(scratch.iterdir())  # not even a log: nothing was run
    return str(refused.value)


def test_a_command_that_ends_well_tells_its_last_words_and_keeps_its_log(tmp_path: Path) -> None:
    entry = {"argv": script(tmp_path, "echo one; echo rotated 3 files"), "environment": "production"}

    report = run(tmp_path, entry)

    assert report.status == "succeeded"
    assert report.summary.startswith("rotate ran on production in ")
    assert report.summary.endswith("s, exit code 0: one / rotated 3 files")
    assert report.data.output == "one\nrotated 3 files"
    assert Path(report.data.log).read_text() == "one\nrotated 3 files\n"
    assert report.artifacts == (report.data.log,)


def test_a_command_that_fails_names_its_cause_first_and_fails_its_criterion(tmp_path: Path) -> None:
    entry = {"argv": script(tmp_path, "echo starting; echo no space left >&2; exit 3")}

    report = run(tmp_path, entry)

    (criterion,) = Command.run_command.criteria["exit_zero"]
    assert report.status == "failed"
    assert report.summary.startswith("rotate failed: starting / no space left (exit code 3 after ")
    assert report.summary.endswith("What it did until then was not undone.")
    assert report.data.exit_code == 3
    assert not holds(criterion, report.data.model_dump())


def test_what_a_command_prints_is_bounded_and_inert(tmp_path: Path) -> None:
    entry = {"argv": script(tmp_path, "seq 100000; printf '\\033[31mred\\033[0m\\007\\n'")}

    report = run(tmp_path, entry)

    assert len(report.data.output) <= 4000
    assert report.data.output.endswith("\n100000\nred")
    assert Path(report.data.log).stat().st_size > 500_000


@pytest.mark.parametrize(
    "value", ["a; touch x", "$(id)", "`id`", "a b  'c' \"d\"", "*", "| cat", "{target}", ""]
)
def test_a_value_stays_one_word_whatever_stands_in_it(value: str, tmp_path: Path) -> None:
    entry = {
        "argv": [*TELL, "{service}", "--to={target}", "end"],
        "parameters": {"service": ANYTHING, "target": ANYTHING},
    }

    report = run(tmp_path, entry, {"service": value, "target": value})

    assert json.loads(report.data.output) == [value, f"--to={value}", "end"]


@pytest.mark.parametrize("value", ["--config=/etc/shadow", "-x", "--", "–x", "—x", "−x", "‐x", "－x", "﹣x"])
def test_a_value_cannot_become_an_option(value: str, tmp_path: Path) -> None:
    entry = {"argv": [*TELL, "{service}"], "parameters": {"service": ANYTHING}}

    assert "'service' may not begin with '-'" in refusal(tmp_path, entry, {"service": value})


@pytest.mark.parametrize("rule", [{"pattern": r"-?\d+"}, {"pattern": r"^(?:-\d+)$"}, {"choices": ["-5"]}])
def test_a_dash_that_the_operator_wrote_down_is_meant(rule: dict[str, Any], tmp_path: Path) -> None:
    report = run(tmp_path, {"argv": [*TELL, "{days}"], "parameters": {"days": rule}}, {"days": "-5"})

    assert json.loads(report.data.output) == ["-5"]


@pytest.mark.parametrize(
    "value", ["a\0b", "a\nb", "a\n", "a\rb", "a\u2028b", "a\x85b", "a\u202eb", "a\u200bb", "x" * 1001]
)
def test_control_characters_and_endless_values_are_refused(value: str, tmp_path: Path) -> None:
    entry = {"argv": [*TELL, "{service}"], "parameters": {"service": {"pattern": r"[\s\S]*"}}}

    assert "no control character" in refusal(tmp_path, entry, {"service": value})


@pytest.mark.parametrize(
    ("rule", "value", "said"),
    [
        ({"pattern": "[a-z-]+"}, "Auth", "must match [a-z-]+"),
        ({"pattern": "[a-z]+"}, "auth/../etc", "must match [a-z]+"),
        ({"choices": ["auth", "billing"]}, "other", "must be one of: auth, billing"),
        ({"choices": ["all"], "pattern": "[a-z]+"}, "A", "must be one of: all or match [a-z]+"),
    ],
)
def test_a_value_outside_its_rule_is_refused(
    rule: dict[str, Any], value: str, said: str, tmp_path: Path
) -> None:
    entry = {"argv": [*TELL, "{service}"], "parameters": {"service": rule}}

    assert f"'service' {said}. Nothing was run." in refusal(tmp_path, entry, {"service": value})


def test_unknown_and_missing_arguments_are_refused(tmp_path: Path) -> None:
    entry = {"argv": [*TELL, "{service}"], "parameters": {"service": ANYTHING}}

    said = refusal(tmp_path, entry, {"force": "yes"})

    assert "'force' is unknown; 'service' is missing" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"parameters": {"service": {}}}, "needs 'pattern' or 'choices'"),
        ({"parameters": {"service": {"pattern": "["}}}, "no regular expression"),
        ({"parameters": {}}, "must name the same placeholders: service"),
        ({"parameters": {"service": ANYTHING, "more": ANYTHING}}, "must name the same placeholders: more"),
        ({"argv": ["rotate", "log-{service}"]}, "a whole word or follow '='"),
        ({"argv": ["rotate", "--x={service}-old"]}, "a whole word or follow '='"),
        ({"argv": ["{service}"]}, "must begin with a program"),
        ({"argv": ["sh", "-c", "{service}"]}, "no shell line"),
        ({"argv": ["env", "A=1", "/bin/bash", "-euc", "{service}"]}, "no shell line"),
        ({"argv": ["rotate", "{from}"], "parameters": {"from": ANYTHING}}, "marks a reference"),
        ({"argv": []}, "argv"),
        ({"timeout": 36000}, "timeout"),
        ({"shell": True}, "shell"),
    ],
)
def test_an_entry_that_would_not_be_safe_is_refused_when_it_is_read(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    entry = {"argv": ["rotate", "{service}"], "parameters": {"service": ANYTHING}} | change

    refused = refusal(tmp_path, entry, {"service": "auth"})

    assert refused.startswith("[inventory.commands.rotate] in signoff.toml cannot be used: ")
    assert said in refused


def test_a_command_that_changes_things_cannot_pass_for_a_read(tmp_path: Path) -> None:
    said = refusal(tmp_path, {"argv": TELL}, action="read_command")

    assert said == "'rotate' may change things, so only run_command may run it; nothing was run."


def test_a_command_that_reads_is_run_as_a_read_only(tmp_path: Path) -> None:
    entry = {"argv": TELL, "reads": True}

    assert "only read_command may run it" in refusal(tmp_path, entry)
    assert run(tmp_path, entry, action="read_command").status == "succeeded"


def test_a_program_or_directory_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    assert "'no-such-program' is not installed" in refusal(tmp_path, {"argv": ["no-such-program"]})
    assert "does not exist" in refusal(tmp_path, {"argv": TELL, "directory": str(tmp_path / "gone")})


def test_a_command_runs_in_its_directory_and_without_the_workers_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTH_PROD_TOKEN", "s3cret-s3cret")
    place = tmp_path / "place"
    place.mkdir()

    report = run(tmp_path, {"argv": script(tmp_path, "pwd; env"), "directory": str(place)})

    assert report.data.output.startswith(str(place))
    assert "s3cret" not in report.data.output


def test_after_its_timeout_nothing_of_a_command_is_left(tmp_path: Path) -> None:
    began = time.monotonic()

    report = run(tmp_path, {"argv": script(tmp_path, TREE), "timeout": 0.5})

    key = context(tmp_path).key
    assert report.status == "failed"
    assert report.summary.startswith("rotate failed: rotating (it did not finish in time; ended after ")
    assert working(key) == []
    assert time.monotonic() - began < 8


def test_a_command_that_was_ended_is_no_success_even_with_exit_code_0(tmp_path: Path) -> None:
    entry = {"argv": script(tmp_path, "trap 'exit 0' INT\nsleep 60 & wait"), "timeout": 0.5}

    assert run(tmp_path, entry).status == "failed"


def test_a_cancelled_command_says_so(tmp_path: Path) -> None:
    report = run(tmp_path, {"argv": ["sleep", "300"]}, cancelled=lambda: True)

    assert report.status == "failed"
    assert "it printed nothing (it was cancelled; ended after " in report.summary


def test_what_is_published_says_which_action_changes_things() -> None:
    entry = {"argv": ["rotate"], "environment": "production"}

    registry = Registry([Command({"commands": {"rotate": entry}})])

    changing = registry.contract("command", "run_command")
    reading = registry.contract("command", "read_command")
    assert (changing.changes, changing.repeat) == (True, "unsafe")
    assert (reading.changes, reading.repeat) == (False, "safe")
    assert changing.environment({"command": "rotate"}) == "production"
    assert changing.locks({"command": "rotate"}) == "command:rotate"


def test_what_a_command_takes_is_known_before_it_runs() -> None:
    rules = {"service": {"choices": ["auth", "billing"]}, "days": {"pattern": r"\d+"}}
    entries = {
        "rotate": {"argv": ["rotate", "{service}", "{days}"], "parameters": rules},
        "list": {"argv": ["list"], "reads": True},
        "broken": {"argv": []},
    }

    worker = Command({"commands": entries})

    assert worker.hint("commands", "rotate") == (
        r"only run_command; arguments: service must be one of: auth, billing, days must match \d+"
    )
    assert worker.hint("commands", "list") == "only read_command; arguments: none"
    assert worker.hint("commands", "broken") == ""


def test_the_preview_is_the_line_that_would_run(tmp_path: Path) -> None:
    entry = {
        "argv": ["rotate", "{service}"],
        "parameters": {"service": ANYTHING},
        "environment": "production",
    }
    worker = Command({"commands": {"rotate": entry}})
    preview = Command.run_command.hooks["preview"]

    shown = preview(worker, CommandParams(command="rotate", arguments={"service": "a b"}), context(tmp_path))

    assert shown.text == "Runs `rotate 'a b'` on production; at most 600 s."
    with pytest.raises(Permanent, match="'service' is missing"):
        preview(worker, CommandParams(command="rotate"), context(tmp_path))


def test_a_command_gets_its_secrets_and_shows_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROTATE_TOKEN", "s3cret-s3cret")
    entry = {"argv": script(tmp_path, "echo $TOKEN $PLACE"), "secrets_env": {"TOKEN": "ROTATE_TOKEN"}}

    report = run(tmp_path, entry | {"env": {"PLACE": "here"}})

    assert report.data.output == "[hidden] here"
    assert "s3cret" not in report.model_dump_json() + Path(report.data.log).read_text()


def test_a_command_that_says_nothing_for_too_long_is_ended(tmp_path: Path) -> None:
    report = run(tmp_path, {"argv": script(tmp_path, "echo on; sleep 300"), "silence": 1.0})

    assert report.status == "failed"
    assert report.summary.startswith("rotate failed: on (it printed nothing for too long; ended after ")


def test_a_running_command_tells_its_last_line_and_for_how_long_it_has_run(tmp_path: Path) -> None:
    told, passed = list[str](), [0.0]
    so_far = SoFar(context(tmp_path, progress=told.append), lambda: passed[0])
    for at, line in [(1.0, "fetching"), (9.0, ""), (12.0, ""), (14.0, "  compiling  a\t b "), (200.0, "")]:
        passed[0] = at
        so_far.hear(line)
        so_far.look()

    assert told == ["fetching", "10 s: fetching", "10 s: compiling a b", "3 min: compiling a b"]


def test_a_command_that_prints_nothing_still_tells_how_long_it_has_run(tmp_path: Path) -> None:
    told, passed = list[str](), [0.0]
    so_far = SoFar(context(tmp_path, progress=told.append), lambda: passed[0])
    for second in range(0, 180, 5):
        passed[0] = second
        so_far.look()

    assert told == ["10 s", "20 s", "30 s", "40 s", "50 s", "1 min", "2 min"]


def test_what_a_command_prints_is_its_progress_without_its_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROTATE_TOKEN", "s3cret-s3cret")
    told = list[str]()
    entry = {"argv": script(tmp_path, "echo got $TOKEN"), "secrets_env": {"TOKEN": "ROTATE_TOKEN"}}
    worker = Command({"commands": {"rotate": entry}})
    Command.run_command.run(worker, CommandParams(command="rotate"), context(tmp_path, progress=told.append))

    assert told == ["got [hidden]"]


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({}, ""),
        ({"preview": ["no-such-program", "plan"]}, "'no-such-program' is not installed"),
        ({"directory": "/nowhere/at/all"}, "/nowhere/at/all does not exist"),
        ({"secrets_env": {"KEY": "NOBODY_SET_THIS"}}, "needs NOBODY_SET_THIS"),
        ({"argv": ["sh", "-c", "true"]}, "no shell line"),
    ],
)
def test_the_doctor_says_what_a_command_lacks_and_runs_nothing(
    tmp_path: Path, given: dict[str, Any], wrong: str
) -> None:
    entry = {"argv": [sys.executable, "-c", f"open('{tmp_path / 'ran'}', 'w')"], **given}
    ((name, look),) = Command({"commands": {"rotate": entry}}).needs()

    assert name == "command rotate"
    if wrong:
        with pytest.raises(Permanent, match=wrong):
            look()
    else:
        look()
    assert not (tmp_path / "ran").exists()
