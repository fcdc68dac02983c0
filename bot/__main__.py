"""signoff: the one command. `demo` to try it, `up` to run it, the rest to look."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from bot.config import BotSettings
from bot.policy.authorize import Actor, Refused, authorize
from storage.__main__ import main as journal
from storage.config import RELEASE, SignoffConfig, configure_logging, login
from storage.errors import NotAllowed, SignoffError

Add = Callable[..., argparse.ArgumentParser]


def main() -> int:
    try:
        if sys.argv[1:2] == ["audit"]:
            admit("audit")
            return journal(sys.argv[2:], "signoff audit")
        given = parser().parse_args()
        admit(given.command)
        return command(given, BotSettings())
    except SignoffError as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 0


# Which verb of policy each command is.
VERBS = {
    "demo": "run", "up": "run", "bot": "run", "plan": "look", "plans": "look", "show": "look",
    "doctor": "look", "stats": "look", "eval": "look", "runbook": "look", "worker": "look", "policy": "look",
    "stop": "stop", "resume": "resume", "factor": "enrol", "approve": "relay", "audit": "audit",
}  # fmt: skip


def admit(name: str) -> None:
    """Ask policy whether the operator, known by their login name, may use this command."""
    actor = Actor("", login(), terminal=True)
    answer = authorize(actor, VERBS.get(name, ""), None, SignoffConfig())
    if isinstance(answer, Refused):
        raise NotAllowed(answer.reason)


def command(given: argparse.Namespace, settings: BotSettings) -> int:
    """Each command imports only what it needs: a bot that fell over must be back within a second."""
    if given.command == "demo":
        from bot.demo.run import demo

        return demo(settings.state / "demo", port=given.port, reset=given.reset)
    if given.command in {"bot", "up"}:
        configure_logging(settings)
        return serve(given.command, settings)
    from bot.cli import checks, doctor, factors, plans, policy, stats, stops

    looks: dict[str, Callable[[], int]] = {
        "plan": lambda: plans.plan(settings, given.file),
        "show": lambda: plans.show(settings, given.id),
        "plans": lambda: plans.plans(settings),
        "doctor": lambda: doctor.doctor(settings),
        "approve": lambda: factors.approve(settings, given.id, given.digest, given.signature),
        "factor": lambda: factors.factor(settings, given.act, given.user),
        "stats": lambda: stats.print_stats(settings, as_json=given.json),
        "stop": lambda: stops.stop(settings, " ".join(given.words)),
        "resume": lambda: stops.resume(settings, " ".join(given.words)),
        "eval": lambda: checks.evaluate(settings, offline=given.offline, as_json=given.json),
        "runbook": lambda: checks.rehearse(settings),
        "policy": lambda: policy.main(settings, given.what, given.about or ""),
        "worker": lambda: checks.check_worker(given.module),
    }
    return looks[given.command]()


def serve(name: str, settings: BotSettings) -> int:
    from bot.cli.supervise import Supervisor, siblings
    from bot.process import load_config, run

    if name == "bot":
        return run(settings)
    load_config(settings)
    return Supervisor(siblings(os.environ)).run()


def parser() -> argparse.ArgumentParser:
    what = "plan with people, run what they approved: `demo` to try it, `up` to run it, the rest to look"
    top = argparse.ArgumentParser(prog="signoff", description=what)
    top.add_argument("--version", action="version", version=f"signoff {RELEASE}")
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
    trial.add_argument("--port", type=int, help="where the workspace listens (8700, or a free one)")
    trial.add_argument("--reset", action="store_true", help="forget the demo's state first")
    add("up", help="run the bot and the workers, and restart what falls over")
    add("bot", help="run the bot alone")


def add_plans(add: Add) -> None:
    add("plan", help="check a plan").add_argument("file", type=Path, help="the plan as JSON")
    add("plans", help="list the newest plans")
    add("show", help="show one plan and its journal").add_argument("id", type=int, help="the plan's number")
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
    add("doctor", help="say what is configured, what is missing, how to mend it")
    figures = add("stats", help="count ends, recoveries, times to approve and cost")
    figures.add_argument("--json", action="store_true", help="print it as JSON")
    halt = add("stop", help="start nothing any more, everywhere or in one place")
    halt.add_argument("words", nargs="*", help="[everything | plan 7 | environment production] REASON")
    lift = add("resume", help="lift a stop")
    lift.add_argument("words", nargs="*", help="[everything | plan 7 | environment production]")
    add("audit", help="export, verify, checkpoint or prune the journal")


def add_checks(add: Add) -> None:
    trial = add("eval", help="measure the planner on the shipped cases")
    trial.add_argument("--offline", action="store_true", help="with the runbooks, even if there is a key")
    trial.add_argument("--json", action="store_true", help="print it as JSON")
    books = add("runbook", help="run the examples of every runbook")
    books.add_argument("what", choices=["test"], help="what to do with them")
    kit = add("worker", help="hold a worker against the contract")
    kit.add_argument("what", choices=["check"], help="what to do with it")
    kit.add_argument("module", metavar="MODULE[:CLASS]", help="where the worker is")
    rules = add("policy", help="explain the rules for a plan, or test a changed file")
    rules.add_argument("what", choices=["explain", "test"], help="explain PLAN, or test FILE")
    rules.add_argument("about", nargs="?", help="a plan's number, or a changed signoff.toml")


if __name__ == "__main__":
    sys.exit(main())
