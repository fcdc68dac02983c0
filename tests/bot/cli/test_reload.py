"""A changed signoff.toml is read again; one that cannot be used is said, and the earlier one stays."""

import logging
import signal
from pathlib import Path

import pytest

import bot.cli.reload
from bot.cli.reload import Reload
from bot.cli.supervise import Child, Supervisor
from bot.config import BotSettings
from tests.support.carriers import until

GOOD = '[people]\napprovers = ["U0BOB"]\n'


class Counting(Supervisor):
    renewed = 0

    def renew(self) -> None:
        self.renewed += 1


@pytest.fixture
def watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reload:
    (tmp_path / "signoff.toml").write_text(GOOD)
    monkeypatch.setattr(bot.cli.reload, "ask_workers", lambda: None)
    tokens = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1", "config": tmp_path / "signoff.toml"}
    return Reload(BotSettings.model_validate(tokens), Counting())


@pytest.mark.parametrize(
    ("text", "renewed", "said"),
    [
        (GOOD, 0, ""),
        ('zone = "UTC"\n' + GOOD, 1, "read again"),
        ("zone = 7\n" + GOOD, 0, "cannot be used"),
        ("[people]\napprovers = []\n", 0, "names no approvers"),
        (None, 0, "cannot be used"),
    ],
)
def test_it_is_read_again_if_it_can_be_used(
    watch: Reload, caplog: pytest.LogCaptureFixture, text: str | None, renewed: int, said: str
) -> None:
    caplog.set_level(logging.INFO)
    watch.settings.config.unlink() if text is None else watch.settings.config.write_text(text)

    watch.compare()
    watch.compare()

    assert watch.supervisor.renewed == renewed  # type: ignore[attr-defined] # ours
    assert len(caplog.records) == bool(said)
    assert said in caplog.text


def test_what_was_mended_is_read_again(watch: Reload) -> None:
    watch.settings.config.write_text("zone = 7")
    watch.compare()
    watch.settings.config.write_text(GOOD)
    watch.compare()

    assert watch.supervisor.renewed == 1  # type: ignore[attr-defined] # ours


def test_who_is_renewed_ends_when_it_can_and_starts_at_once(tmp_path: Path) -> None:
    busy = tmp_path / "busy"
    busy.touch()
    code = (
        "import os, pathlib, signal, sys, time\n"
        "told = []\nsignal.signal(signal.SIGHUP, lambda *_: told.append(1))\n"
        f"pathlib.Path({str(tmp_path)!r}, f'up-{{os.getpid()}}').touch()\n"
        f"while not told or pathlib.Path({str(busy)!r}).exists(): time.sleep(0.01)\n"
    )
    child = Child("c", ("-c", code), {"PATH": ""})
    child.watch()
    first = child.process
    assert first
    until(lambda: (tmp_path / f"up-{first.pid}").exists(), "it to run")

    child.renew()
    child.watch()
    assert child.process is first  # it still has something to do
    busy.unlink()
    until(lambda: first.poll() is not None, "it to end")
    child.watch()

    assert child.process is not first
    assert not child.renewing
    assert child.process
    child.process.send_signal(signal.SIGKILL)
    child.process.wait()
