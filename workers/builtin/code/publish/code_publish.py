"""code-publish: pushes what was integrated, and asks a forge for a pull request, with its credential."""

import base64
import json
import os
from typing import Annotated, Any

import urllib3
from pydantic import BaseModel, Field, StringConstraints

from workers.base import Context, Params, Permanent, Preview, Report, Transient, Worker, action
from workers.builtin.code.ground.git import CAREFUL, ENV, PASSING, SECONDS, Git
from workers.builtin.code.ground.refs import integrated
from workers.builtin.code.ground.repository import Entry, Repository, entry_of
from workers.commands import process

Branch = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_./-]{0,99}$")]


class PushParams(Params):
    repository: Repository
    branch: Branch


class PushData(BaseModel):
    commit: str
    branch: str


class PullParams(PushParams):
    title: str = Field(min_length=1, max_length=200)


class PullData(BaseModel):
    url: str
    number: int


class CodePublish(Worker):
    """Pushes integrated work to where the repository lives, and opens pull requests."""

    name = "code-publish"

    @action(
        changes=True,
        repeat="safe",
        timeout=600,
        typical=10,
        target="repository:{repository}/{branch}",
        says="*Push* {repository} to {branch}",
        leaves="{branch} of {repository} has what was integrated",
    )
    def push(self, params: PushParams, ctx: Context) -> Report[PushData]:
        """Pushes the plan's integrated branch; never by force."""
        git, entry = self._git(params, ctx)
        tip = _integrated(git, ctx)
        done = _sent(
            git, entry, ["push", "--quiet", "--", _remote(entry), f"{tip}:refs/heads/{params.branch}"], ctx
        )
        if done.returncode != 0:
            raise _refused(done.text(), f"{params.branch} was not pushed")
        return Report[PushData].ok(
            f"{params.branch} is {tip[:8]} now", PushData(commit=tip, branch=params.branch)
        )

    @push.preview
    def _preview(self, params: PushParams, ctx: Context) -> Preview:
        git, entry = self._git(params, ctx)
        done = _sent(
            git, entry, ["ls-remote", "--heads", "--", _remote(entry), f"refs/heads/{params.branch}"], ctx
        )
        if done.returncode != 0:
            raise _refused(done.text(), "the remote cannot be asked")
        was = done.text().split()[0] if done.text().split() else ""
        told = f"{params.branch} is {was[:8]} there now" if was else f"{params.branch} is new there"
        return Preview(told, {"was": was}, (told,), was[:8])

    @action(
        changes=True,
        repeat="safe",
        timeout=120,
        typical=5,
        target="repository:{repository}/{branch}",
        says="*Open* a pull request for {branch} of {repository}: {title}",
    )
    def open_pr(self, params: PullParams, ctx: Context) -> Report[PullData]:
        """Asks the forge for a pull request; one that is open for the branch already is it."""
        _, entry = self._git(params, ctx)
        if not entry.forge:
            raise Permanent(
                f"[inventory.repositories.{params.repository}] names no forge. Nothing was opened."
            )
        owner = entry.forge.rstrip("/").split("/")[-2]
        known = _asked(entry, "GET", f"/pulls?state=open&head={owner}:{params.branch}")
        body = {
            "title": params.title,
            "head": params.branch,
            "base": entry.base,
            "body": f"Signoff plan {ctx.plan}",
        }
        found = known[0] if known else _asked(entry, "POST", "/pulls", body)
        data = PullData(url=str(found.get("html_url", ""))[:300], number=int(found["number"]))
        return Report[PullData].ok(f"pull request {data.number} is open", data)

    def _git(self, params: PushParams, ctx: Context) -> tuple[Git, Entry]:
        entry = entry_of(params.repository, self.entry("repositories", params.repository))
        git = Git(entry, ctx)
        git.ready()
        return git, entry


def _integrated(git: Git, ctx: Context) -> str:
    if tip := git.tip(integrated(ctx.plan)):
        return tip
    raise Permanent("Nothing of this plan is integrated yet. Nothing was pushed.")


def _remote(entry: Entry) -> str:
    return entry.push or entry.source


def _sent(git: Git, entry: Entry, words: list[str], ctx: Context) -> process.Finished:
    """With the credential in the environment of this one command; it stands in no argument and no file."""
    secret = _secret(entry.push_token_env)
    pair = base64.b64encode(f"x-access-token:{secret}".encode()).decode() if secret else ""
    given = (
        {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "http.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {pair}",
        }
        if secret
        else {}
    )
    return process.run(
        ["git", *CAREFUL, *words],
        cwd=entry.pool.absolute(),
        env=ENV | {"GIT_DIR": str(git.dir)} | given,
        timeout=SECONDS,
        scratch=ctx.scratch,
        key=ctx.key,
        cancelled=ctx.cancelled,
        secrets=[secret, pair],
    )


def _secret(name: str) -> str:
    if name and not os.environ.get(name):
        raise Permanent(f"{name} is not set where code-publish runs. Nothing was done.")
    return os.environ.get(name, "") if name else ""


def _refused(told: str, what: str) -> Permanent | Transient:
    lines = [line for line in told.splitlines() if line.strip()] or ["it printed nothing"]
    if "fetch first" in told or "non-fast-forward" in told or "rejected" in told:
        return Permanent(f"{what}: somebody else has pushed there since. Nothing was overwritten.")
    kind = Transient if PASSING.search(told) else Permanent
    return kind(f"{what}: {lines[-1][:200]}")


def _asked(entry: Entry, verb: str, path: str, body: dict[str, Any] | None = None) -> Any:
    headers = {"Authorization": f"Bearer {_secret(entry.forge_token_env)}", "Accept": "application/json"}
    data = json.dumps(body) if body else None
    try:
        with urllib3.PoolManager(retries=False, timeout=30.0) as pool:
            reply = pool.request(verb, entry.forge.rstrip("/") + path, headers=headers, body=data)
    except urllib3.exceptions.HTTPError as error:
        raise Transient(f"The forge cannot be reached ({type(error).__name__}).") from None
    if reply.status >= 500 or reply.status == 429:
        raise Transient(f"The forge is busy or out of order (HTTP {reply.status}).")
    if reply.status >= 400:
        raise Permanent(f"The forge refused (HTTP {reply.status}); an administrator should check its token.")
    return json.loads(reply.data)
