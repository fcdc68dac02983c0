"""`signoff doctor`: what is configured, what is missing, and how to mend it."""

import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from sqlalchemy.exc import SQLAlchemyError

from bot.config import BotSettings
from bot.planner.runbooks import book as runbooks
from bot.process import web_client
from bot.slack.http_mode import PATH
from storage.config import SignoffConfig, read_config
from storage.database.engine import migrate, open_engine
from storage.errors import SignoffError
from storage.intention import Intention


@dataclass(frozen=True)
class Finding:
    """One part. `missing`: the bot could not run. `note`: it runs, but somebody may want to know."""

    part: str
    state: Literal["ok", "note", "missing"]
    text: str
    mend: str = ""

    def __str__(self) -> str:
        sign = {"ok": "✓", "note": "•", "missing": "✗"}[self.state]
        return f"{sign} {self.part}: {self.text}" + (f"\n    → {self.mend}" if self.mend else "")


def doctor(settings: BotSettings) -> int:
    """Non-zero when the bot could not run."""
    findings = list(examine(settings))
    for finding in findings:
        print(finding)
    missing = [finding.part for finding in findings if finding.state == "missing"]
    print(f"\nThe bot cannot run yet: {', '.join(missing)}." if missing else "\nThe bot can run.")
    return 1 if missing else 0


def examine(settings: BotSettings) -> Iterator[Finding]:
    """Every part, in the order in which they are needed."""
    try:
        config = read_config(settings.config)
    except SignoffError as error:
        yield Finding(
            "configuration", "missing", str(error), "cp signoff.example.toml signoff.toml, then edit it"
        )
        config = SignoffConfig()
    else:
        yield Finding("configuration", "ok", f"{settings.config}, policy {config.version()}")
    yield _approvers(config)
    yield _runbooks(config)
    yield from _database(settings)
    yield _bot_token(settings)
    yield _http_mode(settings) if settings.http_port else _app_token(settings)
    yield _model(settings, config)


def _approvers(config: SignoffConfig) -> Finding:
    if config.people.approvers:
        return Finding("approvers", "ok", ", ".join(config.people.approvers))
    return Finding(
        "approvers", "missing", "nobody may approve", "add user ids under [people] approvers = [...]"
    )


def _runbooks(config: SignoffConfig) -> Finding:
    try:
        books = runbooks.read((runbooks.SHIPPED, *config.runbooks))
    except SignoffError as error:
        return Finding("runbooks", "missing", str(error), "mend or remove that file")
    return Finding("runbooks", "ok", ", ".join(book.id for book in books))


def _database(settings: BotSettings) -> Iterator[Finding]:
    engine = open_engine(settings.database)
    shown = engine.url.render_as_string(hide_password=True)
    try:
        migrate(engine)
        store = Intention(engine, settings.now())
        workers, offered = store.processes("workers"), store.contracts()
    except (SQLAlchemyError, OSError) as error:
        reason = str(error).partition("\n")[0]
        yield Finding(
            "database", "missing", f"{shown}: {reason}", "check SIGNOFF_DATABASE_URL, and that it is up"
        )
        return
    yield Finding("database", "ok", shown)
    if workers:
        names = sorted({contract.worker for contract in offered})
        yield Finding("workers", "ok", f"{len(workers)} process(es), offering {', '.join(names)}")
    else:
        mend = "start them: signoff up, or python -P -m workers"
        yield Finding("workers", "note", "no workers process was seen in the last half minute", mend)


def _bot_token(settings: BotSettings) -> Finding:
    if not settings.slack_bot_token.get_secret_value():
        mend = "install the app from manifest.yml, then copy the Bot User OAuth Token (xoxb-…)"
        return Finding("Slack bot token", "missing", "SLACK_BOT_TOKEN is not set", mend)
    try:
        found = web_client(settings).auth_test()
    except (SlackApiError, OSError) as error:
        mend = "reinstall the app and copy the token again; check the network"
        return Finding("Slack bot token", "missing", f"not accepted: {_code(error)}", mend)
    return Finding("Slack bot token", "ok", f"{found['user']} in {found['team']}")


def _app_token(settings: BotSettings) -> Finding:
    token = settings.slack_app_token.get_secret_value()
    if not token:
        mend = "Basic Information → App-Level Tokens, scope connections:write (xapp-…)"
        return Finding("Slack app token", "missing", "SLACK_APP_TOKEN is not set", mend)
    try:
        WebClient(base_url=settings.slack_api_url, timeout=10).apps_connections_open(app_token=token)
    except (SlackApiError, OSError) as error:
        mend = "make a new app-level token with the scope connections:write"
        return Finding("Slack app token", "missing", f"not accepted: {_code(error)}", mend)
    return Finding("Slack app token", "ok", "Socket Mode can be opened")


def _http_mode(settings: BotSettings) -> Finding:
    """Signed requests: the secret, and whether the port is ours to listen on, or the bot's already."""
    place = f"http://{settings.http_host}:{settings.http_port}{PATH}"
    if not settings.slack_signing_secret.get_secret_value().strip():
        mend = "Basic Information → App Credentials → Signing Secret"
        return Finding("HTTP mode", "missing", "SLACK_SIGNING_SECRET is not set", mend)
    try:
        with socket.create_server((settings.http_host, settings.http_port)):
            pass
    except OSError as error:
        if _answers(place):
            return Finding("HTTP mode", "ok", f"a bot answers at {place}")
        return Finding("HTTP mode", "missing", f"{place}: {error.strerror}", "set SIGNOFF_HTTP_PORT, _HOST")
    url = "your proxy's address of it as Request URL of commands, interactivity and events in the manifest"
    return Finding("HTTP mode", "ok", f"ready for {place}; give Slack {url}, and socket_mode_enabled: false")


def _answers(place: str) -> bool:
    """Whether what listens there refuses an unsigned request, as the bot does."""
    try:
        with urllib.request.urlopen(place, b"unsigned", timeout=3):  # noqa: S310 # our own address
            return False
    except urllib.error.HTTPError as error:
        with error:
            return error.code == HTTPStatus.UNAUTHORIZED
    except OSError:
        return False


def _model(settings: BotSettings, config: SignoffConfig) -> Finding:
    key = settings.anthropic_api_key.get_secret_value()
    if not key:
        return Finding("model", "note", "ANTHROPIC_API_KEY is not set; runbooks do the planning")
    import anthropic  # takes seconds; only those who have a key need it

    try:
        anthropic.Anthropic(api_key=key, timeout=10, max_retries=0).models.retrieve(config.model.name)
    except (anthropic.APIError, OSError) as error:
        return Finding(
            "model",
            "note",
            f"{config.model.name}: {type(error).__name__}",
            "check the key and the model's name",
        )
    return Finding("model", "ok", config.model.name)


def _code(error: Exception) -> str:
    return str(error.response.get("error")) if isinstance(error, SlackApiError) else str(error)
