"""The bot process: one app, and eight loops that sleep until something was committed."""

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient
from sqlalchemy import Engine

from bot.cards.blocks import Block, permalink
from bot.cards.home import HomeFacts, closed, home
from bot.config import BotSettings
from bot.context import Advise, AskModel, Bot, Revise, Thought
from bot.hearing.hearer import Hearer
from bot.machines.cloud_events import secrets_of, tell
from bot.machines.oncall.duty import duties
from bot.people import Home, People, Unidentified
from bot.planner.decision import Decision, Progress, Verb
from bot.planner.model.calls import connect
from bot.planner.model.claude import Claude, claude
from bot.planner.model.prompt import Ground
from bot.planner.model.streaming import heard_by
from bot.planner.model.usage import ModelUnavailable, Usage, prices
from bot.planner.runbooks import book as runbooks
from bot.planner.validate import Catalogue
from bot.plans.up_to_date import fresh
from bot.policy.authorize import Actor
from bot.policy.totp import Safe
from bot.policy.visibility import visible
from bot.slack.app import build
from bot.slack.meeting import LINE, SlackAway, find_home, meeting
from bot.slack.outbox import Outbox
from bot.slack.socket_mode import refuse_said_twice
from bot.slack.together.lines import Lines
from bot.slack.together.shared_pace import SharedPace
from bot.turns.anchor import Anchor
from bot.turns.claims import Claims
from bot.turns.cron_jobs import ringing
from bot.turns.forgetting import forget_old, tidy
from bot.turns.loops import paced, seldom, spin
from bot.turns.one_at_a_time import Shifts
from bot.turns.rounds import look_after, tend
from bot.turns.thinking import Thinker
from storage.clock import wall
from storage.config import ON_CALL, Purpose, SignoffConfig, read_config
from storage.contract.spec import PlanSpec
from storage.database.agreed_clock import agreed
from storage.database.engine import await_database, migrate, open_engine
from storage.database.only_one import only_one
from storage.errors import BadConfig, Unavailable
from storage.intention import Intention
from storage.monitoring.health import Health, HealthSettings, Pulse, answering
from storage.monitoring.skew import skewed
from storage.monitoring.troubles import Troubles
from storage.monitoring.undone import undone
from storage.private_files import private_directory
from storage.reading.plan_view import PlanView
from storage.signal_flag import Flag

if TYPE_CHECKING:
    from slack_bolt import App

P = ParamSpec("P")
R = TypeVar("R")
Thinking = tuple[AskModel | None, Advise | None, Revise | None]
NO_MODEL: Thinking = (None, None, None)
NOWHERE = Home("")  # until Slack has said whose token it is
# Seconds that a loop may take for one turn: Slack may keep it waiting, a model longer.
PATIENCE = {"hear": 300.0, "think": 900.0, "tend": 300.0, "speak": 300.0, "remind": 300.0, "anchor": 900.0,
            "forget": 900.0, "tidy": 900.0, "tell": 300.0}  # fmt: skip
CACHE = 500  # kilobytes of pages for each of a bot's connections: in a storm it has a dozen of them
# What any number of bots do at once: each thing of it is claimed, and not all of it.
SHARED = {"hear", "think", "speak"}
logger = logging.getLogger(__name__)


def run(settings: BotSettings) -> int:
    """Until SIGTERM, or until one of the loops breaks: then the supervisor starts a new one."""
    sys.setswitchinterval(0.001)  # an ack passes through five threads, and the loops give way late by default
    config = load_config(settings)
    private_directory(settings.state)
    engine = open_engine(settings.database, cache=CACHE)
    with only_one(engine, "bot"):
        return live(settings, config, engine)


def live(settings: BotSettings, config: SignoffConfig, engine: Engine) -> int:
    """The life of one bot: hear, think, tend, speak, remind, anchor, forget."""
    await_database(engine)
    migrate(engine)
    machine = agreed(engine, wall)
    store, troubles = Intention(engine, settings.now(machine), settings.redactor()), Troubles()
    client = web_client(settings)
    thinks, safe = connect_planner(settings, config, store, troubles), open_safe(settings, config)
    try:
        here = find_home(client)
    except SlackAway as error:
        logger.warning("%s; the bot starts, and hears and shows nothing yet", error)
        troubles.say(LINE, f"{error}; nothing is heard from there.")
        here = NOWHERE
    bot, outbox = make_bot(store, client, config, thinks, settings.state / "attempts", safe, here)
    tickets = settings.tickets()
    bot, outbox = (
        replace(bot, board=bool(tickets.address)),
        replace(outbox, troubles=troubles, tickets=tickets),
    )
    store.adopt(config.version(), config.rules(), actor="bot")
    file, channel = config.audit.anchor(settings.state), config.audit.channel
    anchor = Anchor(store, file, channel, config.people.admins)
    stop, pulse, heard_by = Flag(), Pulse(**PATIENCE), secrets_of(config.events, os.environ)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: stop.set())
    claims = {kind: Claims(engine, kind, PATIENCE[kind]) for kind in SHARED}
    hearer, thinker = Hearer(bot, claims["hear"]), Thinker(bot, claims["think"], config.model.at_once)
    if engine.dialect.name == "postgresql":
        outbox = replace(outbox, lines=Lines(store, claims["speak"]), pace=SharedPace(store=store))
    work = {
        "hear": hearer.turn, "think": paced(thinker.turn),
        "tend": paced(lambda: tend(bot)),
        "speak": paced(
            lambda: replace(outbox, site=bot.people.home.url, on_call=on_call_now(bot)).speak()
        ),
        "remind": seldom(lambda: look_after(bot, bot.people.home.url)),
        "anchor": seldom(anchor.drop, config.audit.minutes * 60),
        "forget": seldom(lambda: forget_old(store, config.audit.keep_days), 3600.0),
        "tidy": seldom(lambda: tidy(store), 600.0),
        "tell": seldom(lambda: tell(bot, heard_by), 2.0),
    }  # fmt: skip
    health = Health(store, pulse, troubles, lambda: [*undone(store), *skewed(machine)])
    with answering(health, HealthSettings()), listening(settings, client, bot, troubles), ringing(bot):
        keeps = [one.keep for one in claims.values()]
        shifts = Shifts(engine, work.keys() - SHARED, pulse.is_late, keeps=keeps)
        with closing(hearer), closing(thinker):
            spin(store, work, shifts, pulse, stop, lambda: os._exit(1), settings.orphaned, machine.compare)
    with suppress(Unavailable):
        anchor.drop()
        if len(store.unsent()) == 1:  # the last word; where more waits, Slack is not there, and it waits, too
            outbox.speak()
    return 0


@contextmanager
def listening(settings: BotSettings, client: WebClient, bot: Bot, troubles: Troubles) -> Iterator[None]:
    """Hear Slack by Socket Mode, or by signed requests; and machines, where a port is configured."""
    app = build(client, bot)

    def meet() -> Callable[[], None]:
        if not bot.people.home.team:
            bot.people.home = find_home(client)
        return lambda: None

    def connect() -> Callable[[], None]:
        meet()
        handler = SocketModeHandler(app, settings.slack_app_token.get_secret_value())
        refuse_said_twice(handler.client)
        try:
            handler.connect()  # type: ignore[no-untyped-call] # Bolt's adapter carries no types
        except Exception:
            handler.close()  # type: ignore[no-untyped-call] # as above
            raise
        return handler.close

    with doors(settings, bot, app), meeting(meet if settings.slack_by_http else connect, troubles):
        yield


@contextmanager
def doors(settings: BotSettings, bot: Bot, app: "App") -> Iterator[int]:
    """Serve what comes by HTTP, if a port is configured: machines, and Slack where it comes that way."""
    if not settings.http_port:
        yield 0
        return
    from bot.machines.opening import machine_doors  # with aiohttp, 10 MB: only where somebody listens
    from bot.slack.http_mode import slack_door
    from storage.http_server import serving

    secret = settings.slack_signing_secret.get_secret_value()
    slack = [slack_door(app, secret)] if settings.slack_by_http else []
    with (
        machine_doors(bot, settings.public_url, os.environ) as (routes, beside),
        serving(
            "SIGNOFF_HTTP_PORT", settings.http_host, settings.http_port, [*slack, *routes], beside=beside
        ) as port,
    ):
        yield port


def load_config(settings: BotSettings) -> SignoffConfig:
    """The configuration, if a bot may run on it. Deny by default: no approvers, no bot."""
    config = read_config(settings.config)
    if not config.people.approvers:
        raise BadConfig(
            f"{settings.config} names no approvers: add Slack user ids under [people] approvers = [...]."
        )
    way_in = (
        ("SLACK_SIGNING_SECRET", settings.slack_signing_secret)
        if settings.http_port and not settings.slack_app_token.get_secret_value().strip()
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


def connect_planner(
    settings: BotSettings, config: SignoffConfig, store: Intention, troubles: Troubles | None = None
) -> Thinking:
    """How to ask the model for a plan, how one goes on, and how it is changed, when there is a key."""
    key = settings.anthropic_api_key.get_secret_value()
    if not key.strip():
        return NO_MODEL
    client = cache(lambda: connect(key))  # its import takes seconds: when first asked
    books = runbooks.read((runbooks.SHIPPED, *config.runbooks))
    known = prices(config.model)

    def model(spend: Callable[[str, Usage], None], purpose: Purpose) -> Claude:
        return claude(
            client(), config.model, purpose, known, spend,
            redact=store.redact.text, clean=store.redact.document, aloud=heard_by(spend),
        )  # fmt: skip

    def offered() -> list[runbooks.Runbook]:
        return runbooks.usable(books, Catalogue(store.contracts()).calls())

    def ask(text: str, spend: Callable[[str, Usage], None], ground: Ground) -> Thought:
        asked, contracts = model(spend, "plan"), store.contracts()
        return asked.plan(text, contracts, config, store.clock(), offered(), ground)

    def advise(
        now: Progress,
        history: Sequence[Decision],
        rungs: Sequence[Verb],
        spend: Callable[[str, Usage], None],
    ) -> Decision:
        asked, contracts = model(spend, "review"), store.contracts()
        return asked.advise(now, history, rungs, contracts, config, store.clock(), offered())

    def revise(spec: PlanSpec, text: str, spend: Callable[[str, Usage], None], ground: Ground) -> Thought:
        asked, contracts = model(spend, "change"), store.contracts()
        return asked.revise(spec, text, contracts, config, store.clock(), offered(), ground)

    told = troubles or Troubles()
    return told_of(ask, told), told_of(advise, told), told_of(revise, told)


def told_of(call: Callable[P, R], troubles: Troubles) -> Callable[P, R]:
    """The same call of the model; a monitor hears when it does not answer, and when it does again."""

    def asked(*given: P.args, **more: P.kwargs) -> R:
        try:
            found = call(*given, **more)
        except ModelUnavailable as error:
            said = f"The model does not answer, so runbooks and people plan: {error}"
            troubles.say("model", said, serious=False)
            raise
        troubles.mend("model")
        return found

    return asked


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
    here: Home | None = None,
) -> tuple[Bot, Outbox]:
    """The bot and its outbox, for this workspace."""
    here = here or find_home(client)
    books = runbooks.read((runbooks.SHIPPED, *config.runbooks))
    people = People(client, here, groups=config.groups())
    people.duties = duties(config, os.environ, people.by_email)
    drawn = homes(store, config, books, people)
    guides = thinking[1] is not None
    known = (config.policy.on_call, here.url, people, guides)
    outbox = Outbox(
        store, client, drawn, artifacts, *known, admins=config.people.admins, shared=people.outside
    )
    bot = Bot(
        store, config, people, outbox.open_view, books, *thinking, safe, outbox.site, thread=people.said_in
    )  # fmt: skip
    return bot, replace(outbox, fresh=partial(fresh, bot))


def on_call_now(bot: Bot) -> str:
    """Whom a question calls: a group, or the people of a schedule; its fallback while nobody can say."""
    named = bot.config.policy.on_call
    if not named.startswith(ON_CALL):
        return named
    try:
        return " ".join(sorted(bot.people.members(named)))
    except Unidentified:
        return bot.config.oncall[named.removeprefix(ON_CALL)].otherwise


def homes(
    store: Intention, config: SignoffConfig, books: list[runbooks.Runbook], people: People
) -> Callable[[str, str], Block]:
    """How a person's home tab is drawn, from the rows as they stand."""

    def draw(user: str, channel: str) -> Block:
        try:
            actor = people.actor(user)
        except Unidentified:
            actor = Actor("", user)  # no plan is shown now
        plans, past = (
            [plan for plan in found if visible(actor, plan, config, partial(people.reads, user))]
            for found in (store.open_plans(limit=100), store.recent(50))
        )
        shown = (store.stops(), books, config, store.clock(), link)
        recurs = [
            one for one in store.recurring() if one.state == "active" and people.reads(user, one.channel)
        ]
        scene = HomeFacts(plans, past, *shown, recurs, store.as_recorded, store.recovery())
        return home(user, channel, scene, actor.groups) if not actor.barred else closed(actor.barred)

    def link(view: PlanView) -> str:
        return permalink(people.home.url, view.channel, view.card)

    return draw
