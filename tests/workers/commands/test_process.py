"""One command: nothing outlives it, nothing floods, nothing leaks."""

import os
import resource
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.proof import process as proof_process
from workers.base import Permanent
from workers.commands import leftovers, process
from workers.commands.leftovers import working
from workers.commands.process import Finished, Limits

# A plain child, a nohup child, a double-forked child and one in a session of its own.
TORTURE = """
sleep 300 &
nohup sleep 300 >/dev/null 2>&1 &
(sleep 300 &) &
setsid sleep 300 &
echo ready
"""
PARENT = """
import sys
from pathlib import Path
from workers.commands import process
scratch = Path(sys.argv[1])
process.run(["sh", "-c", sys.argv[3]], cwd=scratch, env={}, timeout=60, scratch=scratch, key=sys.argv[2])
"""
Run = Callable[..., Finished]


@pytest.fixture
def key() -> str:
    return f"test/{uuid.uuid4().hex}"


@pytest.fixture
def run(tmp_path: Path, key: str) -> Run:
    def start(*argv: str, **options: Any) -> Finished:
        settings: dict[str, Any] = {
            "cwd": tmp_path,
            "env": {},
            "timeout": 30,
            "scratch": tmp_path,
            "key": key,
        }
        return process.run(argv, **(settings | options))

    return start


@pytest.fixture(params=["namespace", "group and sweep"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Both ways to hold children together; the second is what a machine without namespaces has."""
    if request.param != "namespace":
        monkeypatch.setattr(process, "WRAPPERS", (process.END, ()))
    process.wrapper.cache_clear()
    if request.param == "namespace" and not process.boxed():
        pytest.skip("this machine permits no PID namespace (unshare --pid)")
    yield request.param
    process.wrapper.cache_clear()


def wait_until(true: Callable[[], bool], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.01)
    return true()


def marked(key: str, engine: str) -> "subprocess.Popen[bytes]":
    """A process as an engine of that name would have left it."""
    env = {"PATH": os.environ["PATH"], leftovers.KEY: key, leftovers.ENGINE: engine}
    child = subprocess.Popen(["sleep", "300"], env=env, start_new_session=True)
    assert wait_until(lambda: child.pid in working(key))
    return child


def orphan(key: str) -> "subprocess.Popen[bytes]":
    """A process whose engine is gone."""
    code = "from workers.commands import leftovers; print(leftovers.engine())"
    engine = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return marked(key, engine.stdout.strip())


def test_a_command_tells_its_exit_code_and_its_words(run: Run) -> None:
    done = run("sh", "-c", "echo out; echo err >&2; exit 3")

    assert (done.returncode, done.signal, done.timed_out, done.cancelled) == (3, None, False, False)
    assert done.text() == "out\nerr\n"
    assert done.log.read_bytes() == b"out\nerr\n"


def test_a_command_that_dies_by_a_signal_tells_which(run: Run, way: str) -> None:
    assert run("sh", "-c", "kill -9 $$").signal == signal.SIGKILL
    assert run("sh", "-c", "kill -15 $$").signal == signal.SIGTERM
    assert run("sh", "-c", "exit 255").signal is None


def test_after_a_timeout_no_child_of_any_kind_is_left(run: Run, key: str, way: str) -> None:
    done = run("sh", "-c", TORTURE + "wait", timeout=0.5)

    assert done.timed_out
    assert done.text().startswith("ready")
    assert working(key) == []


def test_a_command_that_ends_well_leaves_no_child_either(run: Run, key: str, way: str) -> None:
    done = run("sh", "-c", TORTURE)

    assert done.returncode == 0
    assert not done.timed_out
    assert working(key) == []


def test_a_command_that_ignores_every_request_is_killed(run: Run, key: str, way: str) -> None:
    done = run("sh", "-c", "trap '' INT TERM; " + TORTURE + "wait; sleep 300", timeout=0.3, graces=(0.2, 0.2))

    assert done.signal == signal.SIGKILL
    assert done.seconds < 5
    assert working(key) == []


def test_what_ends_a_command_prints_nothing_into_its_output(run: Run, way: str) -> None:
    deaf = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(300)"

    finished = run(sys.executable, "-c", deaf, timeout=0.5, graces=(0.3, 5.0))

    assert finished.text() == ""


def test_interrupt_comes_first_so_that_a_command_can_tidy_up(run: Run, way: str) -> None:
    code = (
        "import time\nprint('up', flush=True)\ntry: time.sleep(60)\nexcept KeyboardInterrupt: print('tidy')"
    )

    done = run(sys.executable, "-c", code, timeout=1)

    assert done.timed_out
    assert done.returncode == 0
    assert done.text() == "up\ntidy\n"


def test_cancelling_ends_the_command_within_a_second(run: Run, key: str, way: str) -> None:
    cancel = threading.Event()

    done = run("sh", "-c", TORTURE + "wait", cancelled=cancel.is_set, on_line=lambda line: cancel.set())

    assert done.cancelled
    assert not done.timed_out
    assert done.seconds < 2
    assert working(key) == []


def test_an_error_of_the_caller_ends_the_command(run: Run, key: str, way: str) -> None:
    def fail(line: str) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run("sh", "-c", TORTURE + "wait", on_line=fail)

    assert working(key) == []


@pytest.mark.crash
@pytest.mark.parametrize("pause", [0.0, 0.05, 0.3])
def test_when_the_engine_is_killed_its_commands_die_with_it(tmp_path: Path, key: str, pause: float) -> None:
    if not process.boxed():
        pytest.skip("this machine permits no PID namespace (unshare --pid)")
    engine = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path), key, TORTURE + "wait"])
    assert wait_until(lambda: len(working(key)) >= 5)
    time.sleep(pause)

    engine.send_signal(signal.SIGKILL)
    engine.wait()

    assert wait_until(lambda: working(key) == [], seconds=2)


@pytest.mark.crash
def test_without_namespaces_the_next_attempt_ends_what_a_killed_engine_left(
    tmp_path: Path, key: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "WRAPPERS", (process.END, ()))
    process.wrapper.cache_clear()
    left = orphan(key)

    done = run("true")

    assert done.returncode == 0
    assert left.wait(timeout=5) == -signal.SIGKILL
    process.wrapper.cache_clear()


def test_two_hundred_megabytes_stay_out_of_memory(run: Run) -> None:
    size = 200_000_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    done = run("head", "-c", str(size), "/dev/zero")

    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert len(done.head) + done.dropped + len(done.tail) == size
    assert done.dropped > 199_000_000
    assert done.log.stat().st_size < 51 * 1024 * 1024
    assert grown < 32 * 1024  # KiB


def test_head_and_tail_are_the_true_ends(run: Run) -> None:
    done = run("seq", "1000000")

    assert done.head.startswith(b"1\n2\n")
    assert done.tail.endswith(b"999999\n1000000\n")
    assert f"… {done.dropped} bytes left out …" in done.text()
    assert done.log.read_bytes().count(b"\n") == 1000000


def test_lines_are_told_as_they_come_and_long_ones_are_cut(run: Run) -> None:
    lines: list[str] = []

    run(
        "sh",
        "-c",
        "echo one; printf 'two'; head -c 100000 /dev/zero | tr '\\0' x; echo; printf three",
        on_line=lines.append,
    )

    assert (lines[0], lines[-1], len(lines)) == ("one", "three", 3)
    assert len(lines[1]) <= 4096


def test_only_allowed_variables_are_passed_on(run: Run, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-secret")
    monkeypatch.setenv("LC_TIME", "C")

    done = run("env", env={"EXTRA": "1"})

    names = {line.split("=")[0] for line in done.text().splitlines()}
    assert {"PATH", "LC_TIME", "EXTRA", leftovers.KEY} <= names
    assert names <= {
        "PATH",
        "HOME",
        "LANG",
        "LC_TIME",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "TMPDIR",
        "EXTRA",
        leftovers.KEY,
        leftovers.ENGINE,
        "PWD",
        "SHLVL",
        "_",
    }
    assert "secret" not in done.text()


def test_words_reach_the_program_as_they_are(run: Run) -> None:
    words = ["$(touch pwned)", "a b", "'", '"', "\\", "*", "-n", "; exit 9", ""]

    done = run(sys.executable, "-c", "import sys; print(sys.argv[1:])", *words)

    assert done.text() == f"{words}\n"


def test_a_command_that_asks_gets_no_answer(run: Run) -> None:
    assert run("cat", timeout=5).returncode == 0


def test_what_is_shown_has_no_escape_sequences(run: Run) -> None:
    printed = r"\033[31mred\033[0m \033]0;title\007\033]8;;http://x\033\\link\a\b\000 50%%\r100%%\n"

    assert run("printf", printed).text() == "red link 50%\n100%\n"


def test_a_missing_program_and_a_missing_directory_are_sentences(run: Run, tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="The program 'no-such-program' is not installed"):
        run("no-such-program")
    with pytest.raises(Permanent, match="gone does not exist"):
        run("true", cwd=tmp_path / "gone")


def test_a_command_that_closes_its_output_is_still_waited_for(run: Run) -> None:
    done = run("sh", "-c", "exec >&- 2>&-; sleep 0.5; exit 4")

    assert done.returncode == 4


def test_a_command_that_falls_silent_is_ended_and_that_is_said(run: Run, key: str, way: str) -> None:
    done = run("sh", "-c", TORTURE + "wait", silence=1.0)

    assert done.silent
    assert not done.timed_out
    assert done.broken_off() == "printed nothing for too long"
    assert working(key) == []


def test_a_command_that_keeps_talking_is_not_silent(run: Run) -> None:
    done = run("sh", "-c", "for i in 1 2 3 4 5 6; do echo $i; sleep 0.4; done", silence=2.0)

    assert (done.returncode, done.silent) == (0, False)


def test_limits_hold_for_what_a_command_starts(run: Run) -> None:
    limits = Limits(memory_mb=512, file_mb=3, processes=123)

    said = run("bash", "-c", "ulimit -d; ulimit -f; ulimit -u; ulimit -c", limits=limits).text()
    filled = run("bash", "-c", "head -c 5000000 /dev/zero > big; ls -s --block-size=K big", limits=limits)
    greedy = run(sys.executable, "-c", "x = bytearray(800 << 20)", limits=limits)

    assert said.split() == [str(512 * 1024), str(3 * 1024), "123", "0"]
    assert "3072K big" in filled.text()
    assert "MemoryError" in greedy.text()


def test_without_limits_only_core_files_are_forbidden(run: Run) -> None:
    assert run("bash", "-c", "ulimit -c; ulimit -f").text().split() == ["0", "unlimited"]


@pytest.mark.crash
@pytest.mark.parametrize("odd", ["", "x", "a b c d", "pid:[1] 99999999999999999999 7"])
def test_at_start_only_what_no_living_engine_owns_is_ended(key: str, odd: str) -> None:
    left, mine, strange = orphan(key), marked(key, leftovers.engine()), marked(key, odd)
    elsewhere = marked(key, f"pid:[1] {left.pid} 1")  # its number means another process there

    ended = leftovers.sweep_leftovers()

    assert ended >= 1
    assert left.wait(timeout=5) == -signal.SIGKILL
    assert [child.poll() for child in (mine, strange, elsewhere)] == [None] * 3
    for child in (mine, strange, elsewhere):
        child.kill()
        child.wait()


@pytest.mark.crash
def test_an_engine_that_lives_keeps_its_command_when_another_one_starts(tmp_path: Path, key: str) -> None:
    engine = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path), key, TORTURE + "wait"])
    assert wait_until(lambda: len(working(key)) >= 5)
    before = set(working(key))

    leftovers.sweep_leftovers()

    assert before <= set(working(key))
    engine.kill()
    engine.wait()
    assert wait_until(lambda: working(key) == [] or bool(leftovers.sweep_leftovers()))


@pytest.mark.crash
def test_without_namespaces_the_next_start_ends_what_a_killed_engine_left(tmp_path: Path, key: str) -> None:
    plain = PARENT.replace("scratch = ", "process.WRAPPERS = (process.END, ()); scratch = ")
    engine = subprocess.Popen([sys.executable, "-c", plain, str(tmp_path), key, TORTURE + "wait"])
    assert wait_until(lambda: len(working(key)) >= 5)
    engine.kill()
    engine.wait()
    assert working(key) != []

    leftovers.sweep_leftovers()

    assert working(key) == []


def test_another_installation_with_the_same_key_is_left_alone(
    run: Run, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "WRAPPERS", (process.END, ()))
    process.wrapper.cache_clear()
    parent = subprocess.Popen(["sleep", "300"])
    other = marked(key, f"{leftovers._namespace()} {parent.pid} {leftovers._born(parent.pid)}")

    run("true")

    assert other.poll() is None
    for child in (other, parent):
        child.kill()
        child.wait()
    process.wrapper.cache_clear()


@pytest.mark.crash
def test_nobody_survives_torture_and_memory_stays_bounded() -> None:
    """The short form; `python -m tests.proof.process` has a gigabyte, and more rounds."""
    named = proof_process.rounds(megabytes=100, storm=30)
    seconds = {"binary": 60.0, "flood without end": 1.5}

    found = [proof_process.apart(name, named[name], limit) for name, limit in seconds.items()]
    if process.boxed():
        found.append(proof_process.apart("fork storm", named["fork storm"], 1.0))

    assert [one.survivors for one in found] == [0] * len(found)
    assert all(one.grown_mb <= 32 for one in found), found


def test_the_log_holds_no_secret_of_the_workers_however_it_is_printed(run, monkeypatch):
    monkeypatch.setenv("AUTH_DB_PASSWORD", "pgpass-0f3c9a77")
    done = run(
        "sh",
        "-c",
        "printf pgpass-; sleep 0.3; echo 0f3c9a77; printf pgpass-0f3c9a77 | od -An -tx1 | tr -d ' '",
    )

    assert done.log.read_text() == done.text() == "[hidden]\n[hidden]\n"


def test_the_log_is_a_new_file_that_only_we_may_read(run, tmp_path):
    (tmp_path / "precious").write_text("as it was")
    (tmp_path / "echo.log").symlink_to(tmp_path / "precious")
    done = run("echo", "hello")

    assert (tmp_path / "precious").read_text() == "as it was"
    assert done.log.read_text() == "hello\n"
    assert done.log.stat().st_mode & 0o777 == 0o600
