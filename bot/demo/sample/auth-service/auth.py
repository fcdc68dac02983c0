"""The sample service of the demo: sign-in tokens that expire."""

import hashlib
import hmac

LIFETIME = 3600
SECRET = b"practice-only"


def issue(user: str, now: int) -> str:
    """A token that names the user and the time."""
    return f"{user}.{now}.{_seal(user, now)}"


def verify(token: str, now: int) -> str | None:
    """The user of a token that is genuine and not too old."""
    user, issued, seal = token.rsplit(".", 2)
    if not hmac.compare_digest(seal, _seal(user, int(issued))):
        return None
    return None if expired(now - int(issued)) else user


def expired(age: int) -> bool:
    return age > LIFETIME


def _seal(user: str, issued: int) -> str:
    return hmac.new(SECRET, f"{user}.{issued}".encode(), hashlib.sha256).hexdigest()
