"""What a bot needs before it starts."""

import pytest

from bot.config import BotSettings
from bot.process import open_safe
from storage.config import SignoffConfig
from storage.errors import BadConfig
from tests.support.samples.second_factor import KEY

pytestmark = pytest.mark.authorize


@pytest.mark.parametrize(
    ("key", "signers", "starts"),
    [("", None, False), (KEY, None, True), ("", "f", True)],
    ids=["neither", "a key", "signatures"],
)
def test_a_bot_whose_rules_ask_for_a_factor_that_nobody_could_show_does_not_start(key, signers, starts):
    rule = {"name": "n", "reason": "r", "require": {"second_factor": True}}
    raw = {"policy": {"rules": [rule]}, "signing": {"allowed_signers": signers} if signers else {}}
    config, settings = SignoffConfig.model_validate(raw), BotSettings(factor_key=key)
    if starts:
        assert (open_safe(settings, config) is None) == (not key)
    else:
        with pytest.raises(BadConfig, match="SIGNOFF_FACTOR_KEY"):
            open_safe(settings, config)
