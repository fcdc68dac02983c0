"""`signoff eval`, `runbook test`, `worker check`: each prints a table and returns an exit code."""

import subprocess

from bot.cli.sources import ask_workers
from bot.cli.supervise import PYTHON
from bot.config import BotSettings
from bot.planner import evaluation
from bot.planner.model.claude import Claude, connect
from bot.planner.model.usage import PRICES
from bot.planner.runbooks import book as runbooks
from bot.planner.runbooks import examples
from bot.planner.runbooks.examples import Stage
from bot.planner.validate import Catalogue
from storage.config import SignoffConfig, read_config


def evaluate(settings: BotSettings, *, offline: bool, as_json: bool) -> int:
    """The planner on the shipped cases: by the model when there is a key, else by the runbooks."""
    key = settings.anthropic_api_key.get_secret_value().strip()
    planner: evaluation.Plans = evaluation.offline
    if key and not offline:
        chosen = read_config(settings.config).model
        model = Claude(connect(key), chosen.name, chosen.effort, PRICES, lambda *_: None)
        planner = evaluation.online(model)
    text, code = evaluation.main(as_json=as_json, planner=planner)
    print(text)
    return code


def rehearse(settings: BotSettings) -> int:
    """Run the examples of the shipped runbooks, and of the operator's own on the operator's inventory."""
    shipped = runbooks.read([runbooks.SHIPPED])
    text, code = examples.main(
        Stage(shipped, Catalogue(evaluation.contracts()), evaluation.config(), evaluation.NOW)
    )
    print(text)
    config = read_config(settings.config) if settings.config.exists() else SignoffConfig()
    if not config.runbooks:
        return code
    own = runbooks.read(config.runbooks)
    more, failed = examples.main(Stage([*shipped, *own], ask_workers(), config, settings.now()()), own)
    print(more)
    return code or failed


def check_worker(module: str) -> int:
    """The contract tests, in a process of the workers: the bot imports none of their code."""
    return subprocess.run([*PYTHON, "-m", "workers", "check", module], check=False).returncode  # noqa: S603 # our own module
