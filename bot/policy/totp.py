"""One-time codes (RFC 6238) and the seal around their secrets. Pure: the clock and the key are passed in."""

import hmac
import secrets
from datetime import datetime
from typing import TYPE_CHECKING

from storage.errors import BadConfig
from storage.extras import missing

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

PERIOD, DIGITS = 30, 6  # what every authenticator app can do; so is SHA-1, which is sound as an HMAC
DRIFT = 1  # periods that two clocks may differ by


class Safe:
    """Seals secrets under a key that only the bot has. A seal opens for its owner alone."""

    def __init__(self, key: str) -> None:
        self._box = box(key)

    def seal(self, user: str, secret: bytes) -> str:
        return self._box.encrypt(user.encode() + b"\0" + secret).decode()

    def opened(self, user: str, sealed: str) -> bytes:
        """The secret; BadConfig when another key sealed it, or for somebody else."""
        from cryptography.fernet import InvalidToken

        try:
            owner, _, secret = self._box.decrypt(sealed.encode()).partition(b"\0")
        except InvalidToken:
            owner, secret = b"", b""
        if owner != user.encode():
            raise BadConfig(
                f"The second factor of {user} was not sealed for them with this SIGNOFF_FACTOR_KEY. Set the "
                f"key that it was enrolled with, or `signoff factor remove {user}` and enrol again."
            )
        return secret


def box(key: str) -> "Fernet":
    if not key.strip():
        raise BadConfig(
            "SIGNOFF_FACTOR_KEY is not set. `signoff factor key` makes one; it belongs into the "
            "environment of the bot and of nobody else."
        )
    demand()
    from cryptography.fernet import Fernet

    try:
        return Fernet(key.strip())
    except ValueError:
        raise BadConfig("SIGNOFF_FACTOR_KEY is no key. `signoff factor key` makes one.") from None


def demand() -> None:
    """Second factors are an extra: 18 MB that only those need who enrol somebody."""
    if said := missing("cryptography"):
        raise BadConfig(f"SIGNOFF_FACTOR_KEY cannot be used, nor a new one made. {said}")


def new_key() -> str:
    demand()
    from cryptography.fernet import Fernet

    return Fernet.generate_key().decode()


def new_secret() -> bytes:
    return secrets.token_bytes(20)


def counter_of(secret: bytes, code: str, now: datetime) -> int:
    """Which of the codes around this moment it is; 0 for none of them."""
    from cryptography.hazmat.primitives.hashes import SHA1
    from cryptography.hazmat.primitives.twofactor.hotp import HOTP

    made, said = HOTP(secret, DIGITS, SHA1()), "".join(code.split()).encode()  # noqa: S303 # see above
    at = int(now.timestamp()) // PERIOD
    around = range(max(at - DRIFT, 1), at + DRIFT + 1)
    return max((n for n in around if hmac.compare_digest(made.generate(n), said)), default=0)


def address(user: str, secret: bytes) -> str:
    """What an authenticator app reads from a QR code."""
    from cryptography.hazmat.primitives.hashes import SHA1
    from cryptography.hazmat.primitives.twofactor.totp import TOTP

    return TOTP(secret, DIGITS, SHA1(), PERIOD).get_provisioning_uri(user, "Signoff")  # noqa: S303 # see above
