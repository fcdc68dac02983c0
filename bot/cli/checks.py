"""`signoff eval`, `runbook test`, `worker check`: each prints a table and returns an exit code."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from bot.cli.sources import ask_workers
from bot.cli.supervise import PYTHON
from bot.config import BotSettings
from bot.planner import collection, evaluation, examples
from bot.planner.examples import Stage
from bot.planner.model.calls import connect
from bot.planner.model.claude import Claude, claude
from bot.planner.model.usage import Usage, prices
from bot.planner.runbooks import book as runbooks
from bot.planner.trials import trial
from bot.planner.trials.report import compared, markdown
from bot.planner.trials.tasks import tasks
from bot.planner.validate import Catalogue
from storage.config import Purpose, SignoffConfig, read_config
from storage.errors import SignoffError

FLOOR = 0.7  # of a model's answers must be right, unless somebody says otherwise


def evaluate(
    settings: BotSettings, *, offline: bool, as_json: bool, cases: Path | None, floor: float | None,
    samples: int = 1, report: Path | None = None,
) -> int:  # fmt: skip
    """The planner on the shipped cases, or on a file: by the model when there is a key, else by runbooks."""
    key = settings.anthropic_api_key.get_secret_value().strip()
    if key and not offline and cases is None:
        return try_model(
            settings, key, samples, FLOOR if floor is None else floor, as_json=as_json, report=report
        )
    planner: evaluation.Plans = evaluation.offline
    if key and not offline:
        chosen = read_config(settings.config).model
        planner = evaluation.online(claude(connect(key), chosen, "plan", prices(chosen), lambda *_: None))
    if cases is None:
        text, code = evaluation.main(as_json=as_json, planner=planner)
    else:
        text, code = collection.on_file(cases, as_json=as_json, floor=floor or 0.0, planner=planner)
    print(text)
    return code


def try_model(
    settings: BotSettings, key: str, samples: int, floor: float, *, as_json: bool, report: Path | None
) -> int:
    """Everything a model is asked for, each several times; 1 where the API failed or too little was right."""
    if samples < 1:
        raise SignoffError("Please ask for at least one sample of each case: --samples 1.")
    if report and not os.access(report.parent, os.W_OK):
        raise SignoffError(
            f"The report cannot be written into {report.parent}."
        )  # before it has cost anything
    chosen = read_config(settings.config).model if settings.config.exists() else SignoffConfig().model
    client, known = connect(key), prices(chosen)

    def made(purpose: Purpose, spend: Callable[[str, Usage], None]) -> Claude:
        return claude(client, chosen.model_copy(update={"fallback": ""}), purpose, known, spend)

    answers = trial.run(made, tasks(), samples=samples, at_once=chosen.at_once)
    found = trial.figures(answers, model=chosen.name, floor=floor)
    if report:
        report.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        report.with_suffix(".md").write_text(markdown(found) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=2) if as_json else markdown(found))
    return trial.code(found)


def compare(first: Path, second: Path) -> int:
    """Two reports side by side."""
    found = []
    for path in (first, second):
        try:
            found.append(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise SignoffError(f"There is no file {path}.") from None
        except (OSError, ValueError) as error:
            raise SignoffError(f"{path} is no report of `signoff eval --report`: {error}") from None
        if not isinstance(found[-1], dict) or not {"total", "kinds", "wrong", "prompts"} <= found[-1].keys():
            raise SignoffError(f"{path} is no report of `signoff eval --report`.")
    print(compared(*found))
    return 0


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
    own, every = runbooks.read(config.runbooks), runbooks.read((runbooks.SHIPPED, *config.runbooks))
    more, failed = examples.main(Stage(every, ask_workers(), config, settings.now()()), own)
    print(more)
    return code or failed


def check_worker(module: str) -> int:
    """The contract tests, in a process of the workers: the bot imports none of their code."""
    return subprocess.run([*PYTHON, "-m", "workers", "check", module], check=False).returncode  # noqa: S603 # our own module
