"""What a version's image really is: a tag can be moved, a digest cannot."""

import base64
import os
import re
from urllib.parse import quote

import urllib3

from workers.base import Permanent, Transient
from workers.builtin.kubernetes.adoption import repository
from workers.builtin.kubernetes.manifests import ServiceEntry
from workers.builtin.shared.http_origin import reason

ACCEPTED = ", ".join(
    [
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    ]
)
DIGEST = re.compile(r"^sha256:[0-9a-f]{64}$")
CHALLENGE = re.compile(r'(\w+)="([^"]*)"')
TIMEOUT = urllib3.Timeout(total=5.0)


def image(entry: ServiceEntry, version: str) -> tuple[str, str]:
    """The image of a version, and what kept it from being pinned, if that was asked for."""
    name = f"{entry.image}:{version}"
    if not (entry.resolve_digest or entry.require_digest):
        return name, ""
    try:
        return f"{name}@{digest(entry, version)}", ""
    except (Permanent, Transient) as error:
        if entry.require_digest:
            raise
        return name, str(error)


def digest(entry: ServiceEntry, version: str) -> str:
    """The registry's word on a tag. Transient when it gives none; Permanent when there is no such tag."""
    base, name = location(entry)
    url, headers = f"{base}/v2/{name}/manifests/{quote(version)}", {"Accept": ACCEPTED}
    answer = ask("HEAD", url, headers)
    if answer.status == 401:
        headers["Authorization"] = authorization(answer.headers.get("WWW-Authenticate", ""), entry)
        answer = ask("HEAD", url, headers)
    if answer.status == 404:
        raise Permanent(f"The registry has no {entry.image}:{version}.")
    found = answer.headers.get("Docker-Content-Digest", "")
    if answer.status != 200 or not DIGEST.match(found):
        raise Transient(f"The registry gave no digest of {entry.image}:{version} ({answer.status}).")
    return found


def location(entry: ServiceEntry) -> tuple[str, str]:
    """Where the registry answers, and what it calls the image."""
    host, found, name = repository(entry.image).partition("/")
    hosted = bool(found) and ("." in host or ":" in host or host == "localhost")
    if entry.registry:
        return entry.registry.rstrip("/"), name if hosted else entry.image
    if not hosted:
        raise Transient(f"No registry is known for {entry.image}: its name has no host.")
    return f"https://{host}", name


def authorization(challenge: str, entry: ServiceEntry) -> str:
    """The header that the registry asks for: a token from its own place, or the credentials themselves."""
    given = os.environ.get(entry.registry_auth_env, "") if entry.registry_auth_env else ""
    basic = "Basic " + base64.b64encode(given.encode()).decode() if given else ""
    wanted = dict(CHALLENGE.findall(challenge))
    if not challenge.lower().startswith("bearer") or "realm" not in wanted:
        return basic
    fields = {name: wanted[name] for name in ("service", "scope") if name in wanted}
    answer = ask("GET", wanted["realm"], {"Authorization": basic} if basic else {}, fields)
    try:
        body = answer.json() if answer.status == 200 else {}
    except ValueError:
        body = {}
    return f"Bearer {body.get('token') or body.get('access_token') or ''}"


def ask(
    method: str, url: str, headers: dict[str, str], fields: dict[str, str] | None = None
) -> urllib3.BaseHTTPResponse:
    try:
        with urllib3.PoolManager(retries=False, timeout=TIMEOUT) as pool:
            return pool.request(method, url, headers=headers, fields=fields, redirect=False)
    except urllib3.exceptions.HTTPError as error:
        raise Transient(f"The registry did not answer: {reason(error)}.") from error
