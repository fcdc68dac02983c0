"""`signoff factor` and `approve`: second factors, and an approval by SSH signature."""

import sys
from collections.abc import Callable
from pathlib import Path

from bot.cards.blocks import PREFIX
from bot.cards.face.lines import subject
from bot.cli.sources import open_store, open_to_read
from bot.config import BotSettings
from bot.inbox.clicks import give_approval
from bot.policy import ssh_signature as signature
from bot.policy.totp import Safe, address, counter_of, new_key, new_secret
from bot.process import make_bot, web_client
from storage.config import login, read_config
from storage.errors import BadConfig, Conflict, SignoffError
from storage.extras import missing
from storage.intention import Intention
from storage.reading.plan_view import PlanView
from storage.safeguards.second_factors import LIMIT, Proof

TRIES = 3


def terminal(shown: str) -> str:
    """Ask whoever sits at this terminal."""
    try:
        return input(shown)
    except (EOFError, RuntimeError):
        raise SignoffError("Nobody answered. Nothing was kept.") from None


def demand_terminal() -> None:
    """A secret is shown to a person, and never to a log."""
    if not all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        raise SignoffError(
            "Enrolling shows a secret once and asks for a code of it, so it needs a terminal. "
            "With ssh: ssh -t HOST signoff factor enrol U0123456789"
        )


def factor(settings: BotSettings, act: str, user: str, ask: Callable[[str], str] = terminal) -> int:
    """enrol, unlock, remove somebody; list everybody; make a key."""
    if act == "key":
        print(new_key())
        return 0
    if act == "list":
        return list_factors(open_to_read(settings))
    if not user:
        raise SignoffError(f"Please say whose: signoff factor {act} U0123456789")
    store = open_store(settings)
    with store.coming("terminal"):
        if act == "enrol":
            if ask is terminal:
                demand_terminal()
            return enrol(store, Safe(settings.factor_key.get_secret_value()), user, ask)
        {"unlock": store.unlock, "remove": store.remove}[act](user, actor=login())
    print(f"{user}: codes are taken again." if act == "unlock" else f"{user} has no second factor any more.")
    return 0


def enrol(store: Intention, safe: Safe, user: str, ask: Callable[[str], str]) -> int:
    """Show a new secret once, on this terminal; keep it sealed when its owner has shown a code of it."""
    if store.factor(user):
        raise Conflict(f"{user} has a second factor already; `signoff factor remove {user}` comes first.")
    if said := missing("segno"):
        raise BadConfig(said)
    import segno

    secret = new_secret()
    uri = address(user, secret)
    segno.make(uri).terminal(compact=True)
    print(f"Let {user} scan this with an authenticator app, or type: {uri}\nIt is shown only now.")
    for _ in range(TRIES):
        if counter := counter_of(secret, ask("The code that it shows now: "), store.clock()):
            store.enrol(user, safe.seal(user, secret), counter, actor=login())
            print(f"{user} is enrolled.")
            return 0
        print("That is not the code. Does the phone's clock go right?")
    raise SignoffError("Nothing was kept.")


def list_factors(store: Intention) -> int:
    for found in store.factors():
        state = (
            "locked" if found.failures >= LIMIT else f"{found.failures} wrong codes since the last right one"
        )
        print(f"{found.user}  enrolled {found.enrolled_at:%Y-%m-%d}, {state}")
    if not store.factors():
        print("Nobody is enrolled. `signoff factor enrol U0123456789` enrols somebody.")
    return 0


def approve(settings: BotSettings, plan_id: int, digest: str, signed: Path | None) -> int:
    """Approve with an SSH signature; without one, print the text to sign."""
    store = open_store(settings) if signed else open_to_read(settings)
    view = store.view(plan_id)
    if not view.digest or digest not in {"", view.digest}:
        raise Conflict(f"The digest of plan {plan_id} is {view.digest or 'not made yet'}, not {digest}.")
    if signed is None or not digest:
        return explain(view)
    config = read_config(settings.config)
    user = signature.signer(signature.text(view.id, view.revision, digest), signed, config.signing)
    bot, _ = make_bot(store, web_client(settings), config)
    with store.coming("terminal"):
        actor = bot.demand(user, "approve", view)
        give_approval(bot, actor, view, {"r": view.revision, "d": digest[:PREFIX]}, Proof("signature"))
    print(f"{user} approved plan {view.id}, revision {view.revision}.")
    return 0


def explain(view: PlanView) -> int:
    print(f"Plan {view.id}: {subject(view)}. Read it first: signoff show {view.id}")
    print("To approve it, sign this text and hand in the signature:")
    wanted = signature.text(view.id, view.revision, view.digest)
    lines = wanted.rstrip("\n").replace("\n", "\\n")
    print(f"  printf '{lines}\\n' | ssh-keygen -Y sign -n {signature.NAMESPACE} -f KEY > plan-{view.id}.sig")
    print(f"  signoff approve {view.id} --digest {view.digest} --signature plan-{view.id}.sig")
    return 0
