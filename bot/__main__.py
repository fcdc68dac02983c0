"""signoff: the one command. `demo` to try it, `up` to run it, the rest to look."""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from storage.errors import NotAllowed, SignoffError
from storage.extras import missing
from storage.loading import loading

if TYPE_CHECKING:
    from bot.config import BotSettings

Add = Callable[..., argparse.ArgumentParser]
HIGHEST_PORT = 65_535


def main() -> int:
    """What is only asked or mistyped ends while it is read, and needs nothing of what is imported then."""
    given = None if sys.argv[1:2] == ["audit"] else parser().parse_args()
    with loading():
        from storage.command_line import answered

        if given and given.command == "bot":
            import bot.process  # noqa: F401 # all of it, while nobody looks for garbage
    return answered(lambda: run(given))


def run(given: argparse.Namespace | None) -> int:
    if given is None:
        from storage.__main__ import main as journal

        admit("audit")
        return journal(sys.argv[2:], "signoff audit")
    from bot.config import BotSettings

    admit(given.command)
    return command(given, BotSettings())


def port(text: str) -> int:
    """Where to listen, if such a port can be."""
    if not text.isdigit() or int(text) > HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"'{text}' is not between 0 (any free one) and {HIGHEST_PORT}")
    return int(text)


# Which verb of policy each command is.
VERBS = {
    "init": "look", "demo": "run", "up": "run", "bot": "run", "board": "run",
    "plan": "look", "plans": "look", "show": "look",
    "doctor": "look", "stats": "look", "eval": "look", "runbook": "look", "worker": "look", "policy": "look",
    "understand": "look", "propose": "relay", "stop": "stop", "resume": "resume", "factor": "enrol",
    "approve": "relay", "audit": "audit", "token": "admit", "mcp": "look", "hooks": "admit",
}  # fmt: skip


def admit(name: str) -> None:
    """Ask policy whether the operator, known by their login name, may use this command."""
    from bot.policy.authorize import Actor, Refused, authorize
    from storage.config import SignoffConfig, login

    actor = Actor("", login(), terminal=True)
    answer = authorize(actor, VERBS.get(name, ""), None, SignoffConfig())
    if isinstance(answer, Refused):
        raise NotAllowed(answer.reason)


def command(given: argparse.Namespace, settings: "BotSettings") -> int:
    """Each command imports only what it needs: a bot that fell over must be back within a second."""
    from storage.config import configure_logging

    if given.command == "demo":
        from bot.demo.run import demo

        return demo(settings.state / "demo", port=given.port, reset=given.reset, model=given.model)
    if given.command == "up" and given.local:
        from bot.demo.own import own

        configure_logging(settings)
        return own(settings, port=given.port)
    if given.command in {"bot", "up", "board"}:
        configure_logging(settings)
        return serve(given.command, settings)
    from bot.cli import (
        checks,
        doctor,
        factors,
        fleet_stats,
        hooks,
        language,
        plans,
        policy,
        stats,
        stops,
        tokens,
    )

    looks: dict[str, Callable[[], int]] = {
        "init": lambda: set_up(given, settings),
        "plan": lambda: plans.plan(settings, given.file),
        "propose": lambda: propose_anywhere(given, settings),
        "show": lambda: plans.show(settings, given.id, as_json=given.json),
        "plans": lambda: plans.plans(settings, as_json=given.json),
        "doctor": lambda: doctor.doctor(settings),
        "approve": lambda: factors.approve(settings, given.id, given.digest, given.signature),
        "factor": lambda: factors.factor(settings, given.act, given.user),
        "token": lambda: tokens.token(settings, given),
        "mcp": lambda: mcp(given, settings),
        "hooks": lambda: hooks.hooks(settings, given.act, given.key),
        "stats": lambda: (fleet_stats.print_fleet if given.of == "fleet" else stats.print_stats)(
            settings, as_json=given.json
        ),
        "stop": lambda: stops.stop(settings, " ".join(given.words)),
        "resume": lambda: stops.resume(settings, " ".join(given.words)),
        "eval": lambda: evaluate(given, settings),
        "understand": lambda: language.understand(settings, " ".join(given.words)),
        "runbook": lambda: runbook(given, settings),
        "policy": lambda: policy.main(settings, given.what, given.about or ""),
        "worker": lambda: checks.check_worker(given.module),
    }
    return looks[given.command]()


def set_up(given: argparse.Namespace, settings: "BotSettings") -> int:
    from bot.setup.init import Given, init

    return init(settings, Given(given.approver, given.context, given.project, given.dry_run))


def propose_anywhere(given: argparse.Namespace, settings: "BotSettings") -> int:
    """By HTTP where an address is given, else on the server itself."""
    from bot.cli import propose, propose_remotely

    if settings.url:
        return propose_remotely.propose_remotely(settings.url, settings.token.get_secret_value(), given)
    if given.wait or given.key or given.runbook or given.answer or given.behalf:
        raise SignoffError(
            "That needs SIGNOFF_URL and SIGNOFF_TOKEN; on the server itself, only words or a file."
        )
    if not given.channel:
        raise SignoffError("Please say where: --channel C0123456789.")
    from storage.config import read_config

    read_config(settings.config)  # without one, no bot would ever take it
    return propose.propose(settings, " ".join(given.what), given.channel)


def mcp(given: argparse.Namespace, settings: "BotSettings") -> int:
    """The MCP server over stdio; or what another one lends, asked by the workers."""
    from bot.cli.supervise import PYTHON

    if given.act == "pin":
        if not given.server:
            raise SignoffError("Please say which: signoff mcp pin NAME, of an [inventory.mcp.NAME].")
        return subprocess.run([*PYTHON, "-m", "workers", "pin", given.server], check=False).returncode  # noqa: S603 # our own module
    if said := missing("mcp"):
        raise SignoffError(said)
    from bot.machines.mcp_stdio import serve as speak

    return speak(settings.url, settings.token.get_secret_value())


def evaluate(given: argparse.Namespace, settings: "BotSettings") -> int:
    from bot.cli import checks

    if given.what[:1] == ["compare"]:
        if len(given.what) != 3:
            raise SignoffError("Please name two reports: signoff eval compare A.json B.json")
        return checks.compare(*map(Path, given.what[1:]))
    if given.what:
        raise SignoffError(
            f"“{given.what[0]}” is nothing to evaluate; there is: signoff eval compare A.json B.json"
        )
    return checks.evaluate(
        settings, offline=given.offline, as_json=given.json, cases=given.cases, floor=given.floor,
        samples=given.samples, report=given.report,
    )  # fmt: skip


def runbook(given: argparse.Namespace, settings: "BotSettings") -> int:
    from bot.cli import checks, language

    if given.what == "test":
        return checks.rehearse(settings)
    if not given.which:
        raise SignoffError("Please name a runbook to export, or a file to import.")
    if given.what == "export":
        return language.export(settings, given.which)
    return language.take_in(settings, Path(given.which))


def serve(name: str, settings: "BotSettings") -> int:
    if name == "board":
        from bot.board.process import run as look

        return look(settings)
    if name == "bot":
        from bot.process import run

        return run(settings)
    from bot.cli.reload import Reload
    from bot.cli.supervise import Supervisor, siblings, with_health
    from bot.process import load_config

    load_config(settings)
    supervisor = Supervisor(siblings(with_health(os.environ)))
    return supervisor.run(Reload(settings, supervisor).look)


def parser() -> argparse.ArgumentParser:
    what = "plan with people, run what they approved: `demo` to try it, `up` to run it, the rest to look"
    top = argparse.ArgumentParser(prog="signoff", description=what)
    top.add_argument("--version", action="version", version=f"signoff {version('signoff')}")
    commands = top.add_subparsers(dest="command", required=True, metavar="command")

    def add(name: str, help: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=help, description=help)

    add_serving(add)
    add_plans(add)
    add_operating(add)
    add_checks(add)
    return top


def add_serving(add: Add) -> None:
    trial = add("demo", help="try everything here, with a Slack workspace on localhost")
    trial.add_argument("--port", type=port, help="where the workspace listens (8700, or a free one)")
    trial.add_argument("--reset", action="store_true", help="forget the demo's state first")
    trial.add_argument("--model", action="store_true", help="let a model plan: by your key, or a stand-in")
    first = add("init", help="look around, and write a configuration for what is there")
    first.add_argument(
        "--approver", action="append", default=[], metavar="ID", help="a Slack id; may be repeated"
    )
    first.add_argument("--context", default="", help="of the kubeconfig (the one in use)")
    first.add_argument("--project", type=Path, default=Path(), help="whose tests to run (this folder)")
    first.add_argument("--dry-run", action="store_true", help="print the files, and write nothing")
    run = add("up", help="run the bot and the workers, and restart what falls over")
    run.add_argument(
        "--local", action="store_true", help="on a Slack workspace on this machine: to try your own"
    )
    run.add_argument(
        "--port", type=port, default=8700, help="where that workspace listens (8700, or a free one)"
    )
    add("bot", help="run the bot alone")
    add("board", help="show plans and figures in the browser")


def add_plans(add: Add) -> None:
    add("plan", help="check a plan").add_argument("file", type=Path, help="the plan as JSON")
    put = add("propose", help="put a plan's file, or a wish, before people")
    put.add_argument("what", nargs="*", metavar="FILE.json|TEXT", help="a plan as JSON, or what you need")
    put.add_argument("--channel", default="", help="the Slack channel's id, as in C0123456789")
    put.add_argument("--wait", default="", metavar="30m", help="until it has ended; the exit code says how")
    put.add_argument("--key", default="", help="the same key finds the same plan again")
    put.add_argument("--runbook", default="", help="instead of words")
    put.add_argument("--slot", action="append", default=[], metavar="NAME=VALUE", help="of the runbook")
    put.add_argument("--answer", action="append", default=[], metavar="NAME=VALUE", help="what was missing")
    put.add_argument(
        "--for", action="append", default=[], dest="behalf", metavar="github:LOGIN", help="an author besides"
    )
    newest = add("plans", help="list the newest plans")
    newest.add_argument("--json", action="store_true", help="print it as JSON")
    one = add("show", help="show one plan and its journal")
    one.add_argument("id", type=int, help="the plan's number")
    one.add_argument("--json", action="store_true", help="print it as JSON")
    yes = add("approve", help="approve a plan by SSH signature, or print what to sign")
    yes.add_argument("id", type=int, help="the plan's number")
    yes.add_argument("--digest", default="", help="of the plan as you read it")
    yes.add_argument("--signature", type=Path, help="what ssh-keygen -Y sign made")


def add_operating(add: Add) -> None:
    second = add("factor", help="manage second factors, and the key that seals them")
    second.add_argument(
        "act", choices=["enrol", "unlock", "remove", "list", "key"], help="key makes a new key"
    )
    second.add_argument("user", nargs="?", default="", help="whom to enrol, unlock or remove")
    add_token(add)
    add_mcp(add)
    told = add("hooks", help="look at what hooks said, and say it again")
    told.add_argument("act", choices=["list", "show", "replay"], help="what to do")
    told.add_argument("key", nargs="?", default="", help="of a call, or how it begins")
    add("doctor", help="say what is configured, what is missing, how to mend it")
    figures = add("stats", help="count ends, recoveries, times to approve and cost")
    figures.add_argument("of", nargs="?", choices=["plans", "fleet"], default="plans", help="of what")
    figures.add_argument("--json", action="store_true", help="print it as JSON")
    halt = add("stop", help="start nothing any more, everywhere or in one place")
    halt.add_argument("words", nargs="*", help="[everything | plan 7 | environment production] REASON")
    lift = add("resume", help="lift a stop")
    lift.add_argument("words", nargs="*", help="[everything | plan 7 | environment production]")
    add("audit", help="export, verify, report, checkpoint or prune the journal")


def add_token(add: Add) -> None:
    key = add("token", help="let a machine ask: new NAME, list, revoke NUMBER")
    key.add_argument("act", choices=["new", "list", "revoke"], help="what to do")
    key.add_argument("which", nargs="?", default="", help="a new token's name, or the number of one")
    key.add_argument("--owner", default="", help="the person behind it, by Slack id")
    key.add_argument("--channel", action="append", default=[], help="where it may ask; may be repeated")
    key.add_argument("--runbook", action="append", default=[], help="only these; else any wish")
    key.add_argument("--environment", action="append", default=[], help="only these; else any")
    key.add_argument("--scope", action="append", default=[], help="propose, look, cancel; else all three")
    key.add_argument("--days", type=int, default=90, help="how long it holds (90)")


def add_mcp(add: Add) -> None:
    tools = add("mcp", help="serve tools for agents on stdio, or pin a server's")
    tools.add_argument("act", choices=["serve", "pin"], help="serve ours, or pin those of a server")
    tools.add_argument("server", nargs="?", default="", help="a name under [inventory.mcp]")


def add_checks(add: Add) -> None:
    trial = add("eval", help="measure the planner on the shipped cases")
    trial.add_argument("--offline", action="store_true", help="with the runbooks, even if there is a key")
    trial.add_argument("--json", action="store_true", help="print it as JSON")
    trial.add_argument("--cases", type=Path, help="a file of requests, one JSON object a line")
    trial.add_argument("--floor", type=float, help="the share that must be right, as in 0.85 (a model: 0.7)")
    trial.add_argument("--samples", type=int, default=1, help="how often a model is asked for each case (1)")
    trial.add_argument("--report", type=Path, metavar="FILE.json", help="write the figures there, and as .md")
    trial.add_argument(
        "what", nargs="*", metavar="compare A.json B.json", help="two such reports side by side"
    )
    words = add("understand", help="say what a sentence means here, what is not used, and why")
    words.add_argument("words", nargs="+", help="what somebody would say to /plan")
    books = add("runbook", help="run the examples of every runbook, or hand one on")
    books.add_argument("what", choices=["test", "export", "import"], help="export NAME, or import FILE")
    books.add_argument("which", nargs="?", default="", help="a runbook's name, or its file")
    kit = add("worker", help="hold a worker against the contract")
    kit.add_argument("what", choices=["check"], help="what to do with it")
    kit.add_argument("module", metavar="MODULE[:CLASS]", help="where the worker is")
    rules = add("policy", help="explain the rules for a plan, or test a changed file")
    rules.add_argument("what", choices=["explain", "test"], help="explain PLAN, or test FILE")
    rules.add_argument("about", nargs="?", help="a plan's number, or a changed signoff.toml")


if __name__ == "__main__":
    sys.exit(main())
