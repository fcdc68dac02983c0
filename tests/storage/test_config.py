"""What a process logs once it has read its settings."""

import logging

import pytest

from storage.config import Settings, configure_logging
from storage.secrets.redaction import Quiet


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
