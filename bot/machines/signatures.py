"""Whether a call is its source's own: over the raw bytes, before anything is parsed. Pure."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence

SKEW = 300  # seconds that a signed time may differ from ours
Headers = Mapping[str, str]


def github(headers: Headers, raw: bytes, secrets: Sequence[str], now: float) -> bool:
    given = headers.get("X-Hub-Signature-256", "")
    return any(_same(given, f"sha256={_hex(secret.encode(), raw)}") for secret in secrets)


def pagerduty(headers: Headers, raw: bytes, secrets: Sequence[str], now: float) -> bool:
    given = [one.strip() for one in headers.get("X-PagerDuty-Signature", "").split(",")]
    return any(_same(one, f"v1={_hex(secret.encode(), raw)}") for one in given[:8] for secret in secrets)


def standard(headers: Headers, raw: bytes, secrets: Sequence[str], now: float) -> bool:
    """Standard Webhooks: id, time and body are signed together, so none of them can be exchanged."""
    id_, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not (id_ and at.isascii() and at.isdigit() and len(at) < 12 and abs(now - int(at)) <= SKEW):
        return False
    given = headers.get("webhook-signature", "").split(" ")[:8]
    wanted = [f"v1,{signed(secret, id_, at, raw)}" for secret in secrets]
    return any(_same(one, good) for one in given for good in wanted)


def bearer(headers: Headers, raw: bytes, secrets: Sequence[str], now: float) -> bool:
    """Alertmanager signs nothing; it shows a secret, and TLS or loopback keeps it."""
    given = headers.get("Authorization", "")
    return any(_same(given, f"Bearer {secret}") for secret in secrets)


def signed(secret: str, id_: str, at: str, raw: bytes) -> str:
    """As the Standard Webhooks say: HMAC-SHA256 over id.timestamp.body, in base64."""
    key = _key(secret)
    return base64.b64encode(hmac.digest(key, f"{id_}.{at}.".encode() + raw, "sha256")).decode()


def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        return secret.encode()


def _hex(key: bytes, raw: bytes) -> str:
    return hmac.new(key, raw, hashlib.sha256).hexdigest()


def _same(given: str, good: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), good.encode())


PROOFS = {"github": github, "pagerduty": pagerduty, "standard": standard, "alertmanager": bearer}
