"""`signoff up --local`: your own configuration, on a Slack workspace that lives on this machine."""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

from bot.cli.reload import Reload
from bot.cli.supervise import Supervisor, siblings, with_health
from bot.config import BotSettings
from bot.demo.manifest import installed
from bot.demo.seed import free_ports
from bot.local.server import LocalSlack
from bot.local.shapes import Channel, Group, Member
from bot.process import load_config
from storage.config import SignoffConfig, is_group, read_config
from storage.errors import BadConfig
from storage.private_files import private_directory, private_opener

PATIENCE = 60.0  # seconds
YOU = Member("U0YOU", "you", "You")
OPS = Channel("C0OPS", "ops", "Your own plans, on this machine")
GUIDE = (
    "*Your own configuration, on a Slack workspace that lives on this machine.* What is approved here really "
    "happens. Ask as yourself; then act as an approver (*Acting as*, below). `/plan help` says what you can "
    "ask for."
)


def own(settings: BotSettings, *, port: int) -> int:
    """Until interrupted."""
    if os.environ.get("SLACK_BOT_TOKEN") or os.environ.get("SLACK_APP_TOKEN"):
        raise BadConfig(
            "--local does not start beside real Slack tokens. Unset SLACK_BOT_TOKEN and SLACK_APP_TOKEN."
        )
    with workspace(settings, port) as slack:
        tokens = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        here = BotSettings.model_validate(tokens)
        load_config(here)
        env = {**os.environ, **tokens, "SLACK_API_URL": slack.api_url}
        supervisor = Supervisor(siblings(with_health(env)))
        print("  Starting the bot and the workers: some seconds …", flush=True)
        Thread(target=welcome, args=(slack,), daemon=True).start()
        return supervisor.run(Reload(here, supervisor).look)


def welcome(slack: LocalSlack) -> None:
    """The address, once somebody answers there: whoever is quicker would be told that /plan failed."""
    try:
        slack.client(patience=PATIENCE).wait_for_bot()
    except AssertionError:
        print("  The bot has not come up yet; what it says stands above.", flush=True)
    print(f"\n  Your workspace:  {slack.page_url}\n  Stop:            Ctrl-C\n", flush=True)


def workspace(settings: BotSettings, port: int) -> LocalSlack:
    """One channel, with somebody who asks and everybody whom the configuration names."""
    config = read_config(settings.config)
    people, groups = [*members(config)], [id_ for id_ in named(config) if is_group(id_)]
    inside = tuple(one.id for one in people[1:])
    return LocalSlack(
        members=people, channels=(OPS,), title="Signoff, locally", guide=GUIDE, **installed(),
        suggestions=("/plan help",),
        groups=[Group(id_, f"group-{n}", f"Group {n}", inside) for n, id_ in enumerate(groups, 1)],
        port=free_ports(port)[0], token=_token(settings.state), path=settings.state / "workspace.db",
    )  # fmt: skip


def named(config: SignoffConfig) -> list[str]:
    ids = (*config.people.approvers, *config.people.admins, *sorted(config.named()), config.policy.on_call)
    return [*dict.fromkeys(filter(None, ids))]


def members(config: SignoffConfig) -> Iterator[Member]:
    """You, and each person by what they may do; where only groups are named, somebody to be in them."""
    yield YOU
    people = [id_ for id_ in named(config) if not is_group(id_)] or ["U0APPROVER"]
    for number, id_ in enumerate(people, 1):
        only_admin = id_ in {*config.people.admins} - {*config.people.approvers}
        may, admin = "admin" if only_admin else "approver", id_ in config.people.admins
        yield Member(id_, f"{may}-{number}", f"{may.title()} {number}", is_admin=admin)


def _token(state: Path) -> str:
    """The same one at each start, so that an open page finds its way back."""
    path = private_directory(state) / "workspace.token"
    if not path.exists():
        with open(path, "w", opener=private_opener) as file:
            file.write(secrets.token_urlsafe(16))
    return path.read_text()
