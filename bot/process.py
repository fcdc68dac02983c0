"""The bot process: one app, and six loops that sleep until something was committed."""

import logging
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from sqlalchemy import Engine

from bot.cards.blocks import Block, permalink
from bot.cards.home import HomeFacts, closed, home
from bot.config import BotSettings
from bot.context import Advise, AskModel, Bot, Revise
from bot.inbox.dispatch import handle_all
from bot.people import People, Unidentified
from bot.planner.decision import Decision, Progress, Verb
from bot.planner.model.claude import Claude, connect
from bot.planner.model.usage import PRICES, Usage
from bot.planner.model.wire import Asked, Declined
from bot.planner.runbooks import book as runbooks
from bot.planner.runbooks.book import Planned
from bot.policy.authorize import Actor
from bot.policy.totp import Safe
from bot.slack.app import build
from bot.slack.http_mode import serving
from bot.slack.outbox import Outbox
from bot.turns.anchor import Anchor
from bot.turns.one_at_a_time import in_turn
from bot.turns.reminders import remind
from bot.turns.rounds import tend, think
from storage.config import SignoffConfig, read_config
from storage.contract.spec import PlanSpec
from storage.database.commit_notices import CommitListener
from storage.database.engine import migrate, open_engine
from storage.database.only_one import only_one
from storage.errors import BadConfig
from storage.intention import Intention
from storage.monitoring.health import Health, HealthSettings, Pulse, answering
from storage.private_files import private_directory
from storage.reading.plan_view import PlanView
from storage.signal_flag import Flag

TICK = 1.0
Thinking = tuple[AskModel | None, Advise | None, Revise | None]
NO_MODEL: Thinking = (None, None, None)
# Seconds that a loop may take for one turn: Slack may keep it waiting, a model longer.
PATIENCE = {"hear": 300.0, "think": 900.0, "tend": 300.0, "speak": 300.0, "remind": 300.0, "anchor": 900.0}
logger = logging.getLogger(__name__)


def run(settings: BotSettings) -> int:
    """Until SIGTERM, or until one of the loops breaks: then the supervisor starts a new one."""
    sys.setswitchinterval(0.001)  # an ack passes through five threads, and the loops give way late by default
    config = load_config(settings)
    private_directory(settings.state)
    engine = open_engine(settings.database)
    with only_one(engine, "bot"):
        return live(settings, config, engine)


def live(settings: BotSettings, config: SignoffConfig, engine: Engine) -> int:
    """The life of one bot: hear, think, tend, speak, remind, anchor."""
    migrate(engine)
    store = Intention(engine, settings.now(), settings.redactor())
    client = web_client(settings)
    thinks, safe = connect_planner(settings, config, store), open_safe(settings, config)
    bot, outbox = make_bot(store, client, config, thinks, settings.state / "attempts", safe)
    store.adopt(config.version(), config.rules(), actor="bot")
    file, channel = config.audit.anchor(settings.state), config.audit.channel
    anchor = Anchor(store, file, channel, config.people.admins)
    stop = Flag()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    work = {
        "hear": lambda: handle_all(bot), "think": paced(lambda: think(bot)), "tend": paced(lambda: tend(bot)),
        "speak": paced(outbox.speak), "remind": seldom(lambda: remind(bot)),
        "anchor": seldom(anchor.drop, config.audit.minutes * 60),
    }  # fmt: skip
    pulse = Pulse(**PATIENCE)
    loops = [pulse.beating(name, in_turn(engine, name, do)) for name, do in work.items()]
    with answering(Health(store, pulse), HealthSettings()), listening(settings, client, bot):
        spin(store, loops, stop, settings.orphaned)
    anchor.drop()
    if len(store.unsent()) == 1:  # the last word; where more waits, Slack is not there, and it waits, too
        outbox.speak()
    return 0


@contextmanager
def listening(settings: BotSettings, client: WebClient, bot: Bot) -> Iterator[None]:
    """Hear Slack by Socket Mode, or by signed requests where a port is configured."""
    if settings.http_port:
        secret = settings.slack_signing_secret.get_secret_value()
        with serving(build(client, bot, secret), secret, settings.http_host, settings.http_port):
            yield
        return
    handler = SocketModeHandler(build(client, bot), settings.slack_app_token.get_secret_value())
    handler.connect()  # type: ignore[no-untyped-call] # Bolt's adapter carries no types
    try:
        yield
    finally:
        handler.close()  # type: ignore[no-untyped-call] # as above


def load_config(settings: BotSettings) -> SignoffConfig:
    """The configuration, if a bot may run on it. Deny by default: no approvers, no bot."""
    config = read_config(settings.config)
    if not config.people.approvers:
        raise BadConfig(
            f"{settings.config} names no approvers: add Slack user ids under [people] approvers = [...]."
        )
    way_in = (
        ("SLACK_SIGNING_SECRET", settings.slack_signing_secret)
        if settings.http_port
        else ("SLACK_APP_TOKEN", settings.slack_app_token)
    )
    for name, secret in (("SLACK_BOT_TOKEN", settings.slack_bot_token), way_in):
        if not secret.get_secret_value().strip():
            raise BadConfig(f"{name} is not set. README.md tells how to get it; `signoff demo` needs none.")
    open_safe(settings, config)
    return config


def web_client(settings: BotSettings) -> WebClient:
    """A client that never repeats a call by itself: the outbox decides what is sent again."""
    token = settings.slack_bot_token.get_secret_value()
    return WebClient(token=token, base_url=settings.slack_api_url, timeout=10, retry_handlers=[])


def connect_planner(settings: BotSettings, config: SignoffConfig, store: Intention) -> Thinking:
    """How to ask the model for a plan, how one goes on, and how it is changed, when there is a key."""
    key = settings.anthropic_api_key.get_secret_value()
    if not key.strip():
        return NO_MODEL
    chosen, client = config.model, cache(lambda: connect(key))  # its import takes seconds: when first asked
    books = runbooks.read((runbooks.SHIPPED, *config.runbooks))
    if chosen.name not in PRICES:
        raise BadConfig(f"No price is known for [model] name = '{chosen.name}'. Known: {', '.join(PRICES)}.")

    def model(spend: Callable[[str, Usage], None]) -> Claude:
        return Claude(
            client(),
            chosen.name,
            chosen.effort,
            PRICES,
            spend,
            redact=store.redact.text,
            clean=store.redact.document,
        )

    def ask(text: str, spend: Callable[[str, Usage], None]) -> Planned | Asked | Declined:
        return model(spend).plan(text, store.contracts(), config, store.clock(), books)

    def advise(
        now: Progress,
        history: Sequence[Decision],
        rungs: Sequence[Verb],
        spend: Callable[[str, Usage], None],
    ) -> Decision:
        return model(spend).advise(now, history, rungs, store.contracts(), config, store.clock())

    def revise(spec: PlanSpec, text: str, spend: Callable[[str, Usage], None]) -> Planned | Asked | Declined:
        return model(spend).revise(spec, text, store.contracts(), config, store.clock())

    return ask, advise, revise


def open_safe(settings: BotSettings, config: SignoffConfig) -> Safe | None:
    """What opens second factors. A rule that asks for one needs the key, or signatures instead."""
    key = settings.factor_key.get_secret_value()
    wanted = [rule.name for rule in config.policy.rules if rule.require and rule.require.second_factor]
    if wanted and not key.strip() and config.signing.allowed_signers is None:
        raise BadConfig(
            f"The rule “{wanted[0]}” asks for a second factor, and nobody could show one. Set "
            "SIGNOFF_FACTOR_KEY (`signoff factor key` makes one) and enrol people, or [signing] "
            "allowed_signers."
        )
    return Safe(key) if key.strip() else None


def make_bot(
    store: Intention,
    client: WebClient,
    config: SignoffConfig,
    thinking: Thinking = NO_MODEL,
    artifacts: Path | None = None,
    safe: Safe | None = None,
) -> tuple[Bot, Outbox]:
    """The bot and its outbox, for this workspace."""
    try:
        known = client.auth_test()
    except (SlackApiError, OSError) as error:
        raise BadConfig(f"Slack does not accept the bot token, or cannot be reached: {error}") from None
    books = runbooks.read((runbooks.SHIPPED, *config.runbooks))
    enterprise, groups = str(known.get("enterprise_id") or ""), config.groups()
    people = People(client, str(known["team_id"]), enterprise=enterprise, groups=groups)
    drawn = homes(store, config, books, str(known["url"]), people)
    outbox = Outbox(
        store, client, drawn, artifacts, config.policy.on_call, str(known["url"]), thinking[1] is not None
    )
    return Bot(store, config, people, outbox.open_view, books, *thinking, safe), outbox


def homes(
    store: Intention, config: SignoffConfig, books: list[runbooks.Runbook], site: str, people: People
) -> Callable[[str, str], Block]:
    """How a person's home tab is drawn, from the rows as they stand; `site` is the workspace's address."""

    def draw(user: str, channel: str) -> Block:
        plans, past = store.open_plans(limit=100), store.recent(50)
        scene = HomeFacts(plans, past, store.stops(), books, config, store.clock(), link)
        try:
            actor = people.actor(user)
        except Unidentified:
            actor = Actor("", user)  # what waits for them as a member of a group is not shown now
        return home(user, channel, scene, actor.groups) if not actor.barred else closed(actor.barred)

    def link(view: PlanView) -> str:
        return permalink(site, view.channel, view.card)

    return draw


def paced(work: Callable[[], None], pause: float = 0.1) -> Callable[[], None]:
    """The same work, with a breath between its turns: one look serves many commits, and acks go first."""
    last = [-pause]

    def turn() -> None:
        time.sleep(max(0.0, last[0] + pause - time.monotonic()))
        work()
        last[0] = time.monotonic()

    return turn


def seldom(work: Callable[[], None], pause: float = 10.0) -> Callable[[], None]:
    """The same work, but not with every commit."""
    last = [-pause]

    def turn() -> None:
        if time.monotonic() - last[0] >= pause:
            last[0] = time.monotonic()
            work()

    return turn


def spin(
    store: Intention,
    loops: list[Callable[[], None]],
    stop: Flag,
    orphaned: Callable[[], bool] = lambda: False,
) -> None:
    """Run each loop in a thread; the first one that breaks ends them all."""

    def turning(work: Callable[[], None]) -> None:
        with closing(CommitListener(store.engine)) as commits:
            while not stop.is_set():
                if orphaned():
                    stop.set()
                work()
                commits.wait(TICK, stop.is_set)

    with ThreadPoolExecutor(len(loops), "loop") as pool:
        turns = [pool.submit(turning, work) for work in loops]
        done, _ = wait(turns, return_when=FIRST_COMPLETED)
        stop.set()
        for turn in done:
            turn.result()
