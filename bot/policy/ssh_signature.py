"""Approvals by SSH signature: the text that is signed, and whose signature it is. ssh-keygen decides."""

import subprocess
from pathlib import Path

from storage.config import Signing
from storage.errors import BadConfig, NotAllowed

NAMESPACE = "signoff"
PATIENCE = 10.0
LARGEST = 16_384  # bytes of a signature


def text(plan: int, revision: int, digest: str) -> str:
    """What somebody signs: this plan, this revision, these effects."""
    return f"signoff approve\nplan {plan}\nrevision {revision}\ndigest {digest}\n"


def signer(signed: str, signature: Path, signing: Signing) -> str:
    """The Slack user whose key signed this text; NotAllowed when it is nobody's."""
    if signing.allowed_signers is None or not signing.allowed_signers.is_file():
        raise BadConfig(
            "Nobody may sign: [signing] allowed_signers in signoff.toml names no file. "
            "docs/deploying.md tells how."
        )
    if not signature.is_file() or signature.stat().st_size > LARGEST:
        raise NotAllowed(f"{signature} is no SSH signature.")
    known = ("-f", str(signing.allowed_signers), "-s", str(signature))
    found = _ssh_keygen("find-principals", *known).splitlines()
    principal = next((name for name in found if name in signing.people), "")
    if not principal:
        who = " or ".join(found)
        raise NotAllowed(
            f"[signing.people] in signoff.toml does not say who {who} is in Slack."
            if who
            else "No key in the allowed-signers file made this signature."
        )
    if not _ssh_keygen("verify", *known, "-I", principal, "-n", NAMESPACE, given=signed):
        raise NotAllowed(
            f"The signature of {principal} is not over this plan, revision and digest, or not for the "
            f"namespace {NAMESPACE}."
        )
    return signing.people[principal]


def _ssh_keygen(act: str, *options: str, given: str = "") -> str:
    """What it says, or "" when it says no."""
    argv = ["ssh-keygen", "-Y", act, *options]
    try:
        done = subprocess.run(  # noqa: S603 # argv; the paths are the operator's own
            argv, input=given, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except FileNotFoundError:
        raise BadConfig("ssh-keygen is not installed here (Debian: openssh-client).") from None
    except subprocess.TimeoutExpired:
        raise NotAllowed(f"ssh-keygen did not answer within {PATIENCE:.0f} s.") from None
    return done.stdout.strip() if done.returncode == 0 else ""
