"""Somebody with a second factor: codes, SSH keys, and a plan that wants one."""

import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from bot.cards.blocks import pack
from bot.context import Bot
from bot.inbox.clicks import on_click
from bot.inbox.forms import on_form
from bot.policy.totp import DIGITS, PERIOD, Safe, new_key
from storage.config import People as ConfigPeople
from storage.config import Signing, SignoffConfig
from storage.contract.demands import Demands
from storage.reading.plan_view import PlanView
from tests.support.fakes import NOW, Everybody, propose
from tests.support.store import Store

SECRET = b"12345678901234567890"
KEY = new_key()
SAFE = Safe(KEY)
CONFIG = SignoffConfig(people=ConfigPeople(approvers=("BOB", "CAROL")))


def code(secret: bytes = SECRET, at: datetime = NOW) -> str:
    app = TOTP(secret, DIGITS, SHA1(), PERIOD)  # noqa: S303 # what authenticator apps use
    return app.generate(int(at.timestamp())).decode()


def enrol(store: Store, user: str = "BOB", secret: bytes = SECRET) -> None:
    store.enrol(user, SAFE.seal(user, secret), 1, actor="terminal:root")


def guarded(store: Store) -> PlanView:
    """A proposal that needs a second factor."""
    return store.view(propose(store, demands=Demands(second_factor=True)))


def make_bot(store: Store, opened: list[dict[str, Any]] | None = None, safe: Safe | None = SAFE) -> Bot:
    forms = [] if opened is None else opened
    return Bot(store, CONFIG, Everybody(), lambda trigger, view: forms.append(view), safe=safe)


def click(bot: Bot, view: PlanView, user: str = "BOB") -> str:
    value = pack(view.id, view.revision, view.digest)
    body = {"user": user, "action": "approve", "value": value, "channel": "C1", "trigger": "t"}
    return on_click(bot, body)


def filled(form: dict[str, Any], **values: str) -> dict[str, Any]:
    state = {name: {"value": {"value": given}} for name, given in values.items()}
    return form | {"id": "V1", "state": {"values": state}}


def submit(store: Store, view: PlanView, said: str, user: str = "BOB", **more: Any) -> dict[str, str]:
    opened: list[dict[str, Any]] = []
    bot = make_bot(store, opened)
    click(bot, view, user)
    return on_form(bot, user, filled(opened[-1], code=said))


def make_keys(home: Path) -> Path:
    """Bob's key, which is allowed for us; Mallory's, which is not; Carol's, allowed for another purpose."""
    for name in ("bob", "mallory", "carol"):
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(home / name)]
        subprocess.run(argv, check=True)
    bob, carol = (home.joinpath(f"{name}.pub").read_text().strip() for name in ("bob", "carol"))
    lines = f'bob@example namespaces="signoff" {bob}\ncarol@example namespaces="git" {carol}\n'
    (home / "allowed").write_text(lines)
    return home


def sign(keys: Path, said: str, name: str = "bob", namespace: str = "signoff") -> Path:
    argv = ["ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", str(keys / name)]
    done = subprocess.run(argv, input=said.encode(), capture_output=True, check=True)
    path = keys / "the.sig"
    path.write_bytes(done.stdout)
    return path


def signing(keys: Path, **people: str) -> Signing:
    return Signing(
        allowed_signers=keys / "allowed", people=people or {"bob@example": "BOB", "carol@example": "CAROL"}
    )
