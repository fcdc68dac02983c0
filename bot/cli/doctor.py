"""`signoff doctor`: what is configured, what is missing, and how to mend it."""

import json
import os
import re
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Literal

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from sqlalchemy import URL, Engine, make_url
from sqlalchemy.exc import DBAPIError

from bot.cli.sources import ask_workers_doctor, open_to_read
from bot.config import BOARD_UNKNOWING, BotSettings
from bot.machines import cloud_events, hooks
from bot.machines.oncall.duty import duties
from bot.planner.runbooks import book as runbooks
from bot.process import open_safe, web_client
from bot.slack.http_mode import PATH
from storage.config import SignoffConfig, read_config
from storage.database.schema import found_in, looking, newest, refuse_newer
from storage.database.tables import Process
from storage.errors import BadConfig, SignoffError
from storage.extras import missing
from storage.intention import Intention

PLACEHOLDER = re.compile(r"\b[UWSCG]01234567\d\d\b")  # as signoff.example.toml writes them
# manifest.yml's
SCOPES = frozenset(
    [
        "app_mentions:read", "channels:history", "channels:read", "chat:write", "commands", "files:write",
        "groups:history", "groups:read", "im:history", "im:write", "reactions:write", "usergroups:read",
        "users:read", "users:read.email",
    ]
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One part. `missing`: the bot could not run. `broken`: it runs, and what needs this will fail.

    `note`: somebody may want to know.
    """

    part: str
    state: Literal["ok", "note", "broken", "missing"]
    text: str
    mend: str = ""

    def __str__(self) -> str:
        sign = {"ok": "✓", "note": "•", "broken": "✗", "missing": "✗"}[self.state]
        return f"{sign} {self.part}: {self.text}" + (f"\n    → {self.mend}" if self.mend else "")


def doctor(settings: BotSettings) -> int:
    """Non-zero when the bot could not run."""
    findings = list(examine(settings))
    for finding in findings:
        print(finding)
    missing = [finding.part for finding in findings if finding.state == "missing"]
    broken = [finding.part for finding in findings if finding.state == "broken"]
    print(f"\nThe bot cannot run yet: {', '.join(missing)}." if missing else "\nThe bot can run.")
    if broken:
        print(f"What needs this would fail: {', '.join(broken)}.")
    return 1 if missing else 0


def examine(settings: BotSettings) -> Iterator[Finding]:
    """Every part, in the order in which they are needed."""
    try:
        config = read_config(settings.config)
    except SignoffError as error:
        there = settings.config.exists()
        mend = "mend it there" if there else "signoff init writes one for what it finds here"
        mend = "" if "Install signoff[" in str(error) else mend  # that says how
        yield Finding("configuration", "missing", str(error), mend)
        config = SignoffConfig()
    else:
        yield Finding("configuration", "ok", f"{settings.config}, policy {config.version()}")
    yield _approvers(config)
    yield from _placeholders(config)
    yield from _second_factors(settings, config)
    yield from _secrets(config)
    yield from _pictures()
    yield from _anchored(config.audit.anchor(settings.state))
    yield _runbooks(config)
    yield from _database(settings)
    yield from _bot_token(settings)
    by_socket = settings.slack_app_token.get_secret_value().strip() and not settings.slack_by_http
    yield _app_token(settings) if by_socket or not settings.http_port else _http_mode(settings)
    yield _model(settings, config)
    if settings.board_port and not settings.board_token.get_secret_value().strip():
        yield Finding("board", "broken", BOARD_UNKNOWING)
    if config.workers:
        yield from _infrastructure()


def _infrastructure() -> Iterator[Finding]:
    """What the workers reach, tried by them: the bot holds none of their credentials."""
    mend = "try it as the workers' user: python -P -m workers doctor"
    try:
        found = ask_workers_doctor()
    except BadConfig as error:
        yield Finding("infrastructure", "broken", str(error), mend)
        return
    for part, wrong in found:
        yield Finding(part, "broken", wrong, mend) if wrong else Finding(part, "ok", "can be used")


def _placeholders(config: SignoffConfig) -> Iterator[Finding]:
    """Ids of the example file that nobody has put theirs in place of."""
    said = json.dumps(config.model_dump(mode="json"))
    if left := sorted(set(PLACEHOLDER.findall(said))):
        mend = "put ids of your workspace in their place: a person's profile → ⋮ → Copy member ID"
        yield Finding("ids", "missing", f"{', '.join(left)} only stand for yours", mend)


def _second_factors(settings: BotSettings, config: SignoffConfig) -> Iterator[Finding]:
    """Whether codes could be checked: the key is there where a rule asks, and opens what it sealed."""
    try:
        safe = open_safe(settings, config)
        sealed = open_to_read(settings).factors() if safe else []
        for factor in sealed:
            safe.opened(factor.user, factor.sealed) if safe else None
    except (SignoffError, DBAPIError) as error:
        if not isinstance(error, BadConfig) or "SIGNOFF_FACTOR_KEY" in str(error):
            yield Finding(
                "second factors", "missing", str(error), "signoff factor list shows who is enrolled"
            )
        return
    if safe:
        yield Finding("second factors", "ok", f"the key opens all {len(sealed)} that are enrolled")


def _secrets(config: SignoffConfig) -> Iterator[Finding]:
    """What hooks, listeners and schedules name of the environment: the bot does not start without it."""
    looks: tuple[Callable[[], object], ...] = (
        lambda: hooks.secrets_of(config.hooks, os.environ),
        lambda: cloud_events.secrets_of(config.events, os.environ),
        lambda: duties(config, os.environ, lambda _: ""),
    )
    for look in looks:
        try:
            look()
        except BadConfig as error:
            yield Finding("secrets", "missing", str(error), "put it into the bot's environment")


def _pictures() -> Iterator[Finding]:
    """What ends with a summary ends with a picture, where it can be drawn."""
    if said := missing("PIL"):
        yield Finding("pictures", "note", f"finished plans are told without one. {said}")


def _anchored(file: Path) -> Iterator[Finding]:
    """Where checkpoints go: the bot runs without them, and only its log would tell."""
    place = file if file.exists() else next(parent for parent in file.absolute().parents if parent.exists())
    if not os.access(place, os.W_OK if place == file else os.W_OK | os.X_OK):
        text = f"{file} cannot be written by whoever runs this, so the journal would not be anchored"
        yield Finding("checkpoints", "note", text, "let [audit] file name a place of the bot's user")


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
    url = make_url(settings.database)
    shown = url.render_as_string(hide_password=True)
    if is_to_come(url):
        yield _place_for(Path(str(url.database)))
        yield _seen([], [])
        return
    engine = looking(url)
    try:
        yield _schema(engine, shown)
        store = Intention(engine, settings.now())
        workers, offered = store.processes("workers"), store.contracts()
        late = _older_than_file([*workers, *store.processes("bot")], settings.config)
    except (SignoffError, DBAPIError) as error:
        reason = str(error).partition("\n")[0]
        yield Finding(
            "database", "missing", f"{shown}: {reason}", "check SIGNOFF_DATABASE_URL, and that it is up"
        )
        return
    finally:
        engine.dispose()
    yield _seen(workers, sorted({contract.worker for contract in offered}))
    yield from late


def _older_than_file(running: Sequence[Process], file: Path) -> list[Finding]:
    """Who still goes by what the file said before it was changed."""
    changed = (
        datetime.fromtimestamp(file.stat().st_mtime, UTC)
        if file.exists()
        else datetime.min.replace(tzinfo=UTC)
    )
    if not (late := sorted({one.kind for one in running if one.started_at < changed})):
        return []
    mend = "`signoff up` reads it by itself within seconds; otherwise restart them"
    return [Finding("changes", "note", f"{file} was changed after {' and '.join(late)} started", mend)]


def _seen(workers: Sequence[Process], names: Sequence[str]) -> Finding:
    if workers:
        return Finding("workers", "ok", f"{len(workers)} process(es), offering {', '.join(names)}")
    mend = "start them: signoff up, or python -P -m workers"
    return Finding("workers", "note", "no workers process was seen in the last half minute", mend)


def is_to_come(url: URL) -> bool:
    """Whether the first start will make the file."""
    return url.get_backend_name() == "sqlite" and not Path(str(url.database)).exists()


def _place_for(path: Path) -> Finding:
    """A file that is not there yet, and whether it can be made."""
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if os.access(folder, os.W_OK | os.X_OK):
        return Finding("database", "note", f"{path} is not there yet; the first start makes it")
    mend = "let SIGNOFF_STATE name a folder of the user that runs it"
    return Finding("database", "missing", f"{path} is not there, and {folder} may not be written to", mend)


def _schema(engine: Engine, shown: str) -> Finding:
    """Whether the database is of this release; bringing it up to date is for the first start."""
    with engine.connect() as connection:
        found = found_in(connection)
    refuse_newer(found)
    if found == newest():
        return Finding("database", "ok", shown)
    age = f"of an older release (schema {found})" if found else "empty"
    return Finding("database", "note", f"{shown} is {age}; the next start brings it up to date")


def _bot_token(settings: BotSettings) -> Iterator[Finding]:
    if not settings.slack_bot_token.get_secret_value():
        mend = "install the app from manifest.yml, then copy the Bot User OAuth Token (xoxb-…)"
        yield Finding("Slack bot token", "missing", "SLACK_BOT_TOKEN is not set", mend)
        return
    try:
        found = web_client(settings).auth_test()
    except (SlackApiError, OSError) as error:
        mend = "reinstall the app and copy the token again; check the network"
        yield Finding("Slack bot token", "missing", f"not accepted: {_code(error)}", mend)
        return
    yield Finding("Slack bot token", "ok", f"{found['user']} in {found['team']}")
    yield _scopes(str(found.headers.get("x-oauth-scopes", "")))


def _scopes(said: str) -> Finding:
    """What the app was granted, as Slack says with each answer, beside what manifest.yml asks for."""
    granted = {scope.strip() for scope in said.split(",") if scope.strip()}
    if lacking := SCOPES - granted:
        mend = "give the app manifest.yml's scopes (OAuth & Permissions), then reinstall it"
        return Finding("Slack scopes", "missing", f"not granted: {', '.join(sorted(lacking))}", mend)
    if more := granted - SCOPES:
        return Finding("Slack scopes", "note", f"more than it needs: {', '.join(sorted(more))}")
    return Finding("Slack scopes", "ok", "those of manifest.yml")


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
