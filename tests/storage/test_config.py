"""What a process logs once it has read its settings."""

import logging
from pathlib import Path

import pytest

from storage.config import Settings, configure_logging, read_config
from storage.errors import BadConfig
from storage.secrets.redaction import Quiet
from tests.support.samples.without import forget


@pytest.mark.parametrize("room", ["bot.slack.outbox", "bot.slack.socket_mode", "bot.inbox", "workers.engine"])
def test_what_we_warn_of_is_in_the_log_of_every_room(room: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(Settings(log_level="INFO"))
    logging.getLogger(room).warning("a delivery was refused")

    assert "a delivery was refused" in capsys.readouterr().err


@pytest.mark.parametrize("library", ["slack_bolt", "slack_sdk.socket_mode", "apscheduler.scheduler"])
def test_what_libraries_warn_of_is_not(library: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(Settings(log_level="INFO"))
    logging.getLogger(library).warning("a token is set in the environment")

    assert capsys.readouterr().err == ""


def test_how_one_test_logs_is_nothing_to_the_next() -> None:
    """Those above have run in this process, or none has: what they set does not outlive them."""
    assert logging.getLogger().level == logging.WARNING
    assert not any(isinstance(one.formatter, Quiet) for one in logging.getLogger().handlers)


def test_a_zone_that_this_system_does_not_know_names_the_extra_that_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "signoff.toml").write_text('zone = "Mars/Base"\n')
    with pytest.raises(BadConfig, match=r"zone: there is no time zone 'Mars/Base'; .*/New_York$"):
        read_config(tmp_path / "signoff.toml")

    forget(monkeypatch, "tzdata")

    with pytest.raises(
        BadConfig, match=r"does not know it: The package tzdata .* Install signoff\[zones\]\.$"
    ):
        read_config(tmp_path / "signoff.toml")
