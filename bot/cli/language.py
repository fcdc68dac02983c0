"""`signoff understand`, `runbook export` and `import`: what words mean here, and runbooks of elsewhere."""

from pathlib import Path

from bot.cli.sources import ask_workers
from bot.config import BotSettings
from bot.planner import evaluation
from bot.planner.examples import Stage
from bot.planner.language.document import Reading, Wish, world
from bot.planner.language.reading import read
from bot.planner.planning import saying
from bot.planner.runbooks import book as runbooks
from bot.plans.hand_on import bring_in, file_of
from storage.config import SignoffConfig, read_config
from storage.errors import BadConfig


def understand(settings: BotSettings, words: str) -> int:
    """Print what these words mean here; without a configuration, on the installation of the examples."""
    books, config = runbooks.read([runbooks.SHIPPED]), evaluation.config()
    contracts, now = evaluation.contracts(), evaluation.NOW
    if settings.config.exists():
        config, now = read_config(settings.config), settings.now()()
        books = runbooks.read((runbooks.SHIPPED, *config.runbooks))
        contracts = (*ask_workers().contracts(),)
    print(told(read(words, world(books, config, contracts, now))))
    return 0


def told(reading: Reading) -> str:
    """What was understood, what was not used, what would be asked, and how the runbooks scored."""
    lines = [_wish(wish) for wish in reading.wishes]
    lines += [f"every: {reading.every.said}"] if reading.every else []
    lines += [f"note: {note}" for note in reading.notes]
    lines += [f"not used: “{said}”" for said in reading.unused]
    lines += [f"asks: {saying(doubt)}" for doubt in reading.doubts]
    lines += [f"refuses: {reading.refusal}"] if reading.refusal else []
    best = sorted(reading.scores.items(), key=lambda pair: -pair[1])
    lines += [f"score {score:5.2f}  {key}" for key, score in best]
    return "\n".join(lines) or "Nothing of it says anything to a runbook."


def _wish(wish: Wish) -> str:
    facts = ", ".join(f"{name} {value.meant} ({value.how})" for name, value in wish.values.items())
    when = f" at “{wish.when.said}”" if wish.when else ""
    return f"{'then ' if wish.follows else ''}{wish.runbook}: {facts or 'nothing said'}{when}"


def export(settings: BotSettings, name: str) -> int:
    """Print a runbook's file, to be imported elsewhere."""
    print(file_of(_config(settings).runbooks, name), end="")
    return 0


def take_in(settings: BotSettings, file: Path) -> int:
    """Put a runbook of another installation into the first folder, if its examples hold here."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(f"{file} cannot be read: {error}") from None
    config = _config(settings)
    known = runbooks.read((runbooks.SHIPPED, *config.runbooks))
    book = bring_in(text, Stage(known, ask_workers(), config, settings.now()()), config.runbooks)
    print(f"“{book.title}” can be asked for: /plan {book.examples[0]}")
    return 0


def _config(settings: BotSettings) -> SignoffConfig:
    return read_config(settings.config) if settings.config.exists() else SignoffConfig()
