"""Deploys services that Argo CD, Flux or anybody else keeps in the state of a git repository."""

import difflib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from workers.base import (
    Check,
    Context,
    Named,
    Params,
    Permanent,
    Preview,
    Report,
    Transient,
    Worker,
    action,
    check,
)  # fmt: skip
from workers.builtin.gitops import editing
from workers.builtin.gitops.entry import GitopsEntry
from workers.builtin.gitops.repository import Blob, Rejected, Repository, trailer
from workers.builtin.gitops.running import Running
from workers.builtin.shared.cluster import Cluster, packages, real_cluster
from workers.builtin.shared.entries import read_entry, secrets

HEALTHY: dict[str, tuple[Check, ...]] = {"service_healthy": (check("ready", "eq", True),)}
TARGET = "service:{environment}/{service}"
Version = Annotated[str, Field(pattern=r"^v?[0-9]+(\.[0-9]+){0,3}([-.][0-9A-Za-z.-]+)?$", max_length=64)]
Connect = Callable[[str, dict[str, Any], str], Cluster]
TRIES = 5  # pushes that others were faster than


class ReleaseParams(Params):
    service: Annotated[str, Named("gitops")]
    version: Version
    environment: str = "production"


class TakeBackParams(Params):
    service: Annotated[str, Named("gitops")]
    to_version: Literal["previous"] | Version = "previous"
    environment: str = "production"


class ReleaseData(BaseModel):
    service: str
    version: str
    previous_version: str
    commit: str
    ready: bool
    replicas: int
    seconds: float


@dataclass(frozen=True)
class Change:
    """What a version would change: the file before and after it, and the commit that it rests on."""

    parent: str
    before: Blob
    spot: editing.Spot
    version: str

    @property
    def after(self) -> str:
        return editing.replaced(self.before.text, self.spot, self.version)

    def difference(self, file: str) -> str:
        lines = (self.before.text.splitlines(), self.after.splitlines())
        return "\n".join(difflib.unified_diff(*lines, file, file, n=2, lineterm=""))


class GitopsDeployer(Worker):
    """Deploys by changing a version in a git repository, and waits until the cluster runs it."""

    name = "gitops-deployer"

    def __init__(
        self,
        inventory: dict[str, dict[str, dict[str, Any]]],
        *,
        pause: Callable[[float], None] = time.sleep,
        connect: Connect = real_cluster,
    ) -> None:
        super().__init__(inventory)
        self.pause, self.connect = pause, connect

    @action(
        changes=True,
        repeat="safe",
        timeout=1800,
        typical=120,
        target=TARGET,
        undo="take_back",
        criteria=HEALTHY,
        says="*Release* {service} [{was} → ]*{version}* on {environment}, through its repository",
        leaves="{service} is {version} on {environment}",
    )
    def release(self, params: ReleaseParams, ctx: Context) -> Report[ReleaseData]:
        """Change a service's version in its git repository, and wait until the cluster runs it."""
        begun = time.monotonic()
        entry, repository = self._open(params.service, params.environment, ctx)
        said = f"Release {params.service} {params.version} on {params.environment}"
        commit, was = self._write(entry, repository, params.version, said, ctx)
        return self._waited(params.service, params.version, was, commit, entry, ctx, begun)

    @release.before
    def note_previous(self, params: ReleaseParams, ctx: Context) -> dict[str, Any]:
        """Which version the repository named before this step, and by what key its commit is found."""
        entry, repository = self._open(params.service, params.environment, ctx)
        return {
            "version": self._change(entry, repository, params.version, ctx.key).spot.version,
            "key": ctx.key,
        }

    @release.preview
    def preview_release(self, params: ReleaseParams, ctx: Context) -> Preview:
        """The difference that the commit would make, and what the cluster runs now."""
        entry, repository = self._open(params.service, params.environment, ctx)
        return self._previewed(
            entry, params.service, self._change(entry, repository, params.version, ctx.key), ctx
        )

    @action(
        changes=True,
        repeat="safe",
        timeout=1800,
        typical=120,
        target=TARGET,
        criteria=HEALTHY,
        says="*Take back* {service} to *{to_version:previous=the version before}* on {environment}",
        leaves="{service} is on {to_version:previous=the version before} again on {environment}",
    )
    def take_back(self, params: TakeBackParams, ctx: Context) -> Report[ReleaseData]:
        """Revert a service's release in its git repository, or name an earlier version there."""
        begun = time.monotonic()
        entry, repository = self._open(params.service, params.environment, ctx)
        repository.fetch()
        reverted = repository.commit_of(str(ctx.previous.get("key") or "no step")) if ctx.previous else ""
        version = self._earlier(params, ctx)
        if params.to_version == "previous" and not reverted:
            return self._nothing(params, version, ctx, begun)
        if reverted:
            self._check_still_ours(entry, repository, reverted, version, ctx.key)
        what = f"Take back {params.service} to {version} on {params.environment}"
        said = f"{what}\n\nThis reverts commit {reverted}." if reverted else what
        commit, was = self._write(entry, repository, version, said, ctx)
        return self._waited(params.service, version, was, commit, entry, ctx, begun)

    @take_back.preview
    def preview_take_back(self, params: TakeBackParams, ctx: Context) -> Preview:
        """The difference; only a few words as long as nobody knows what `previous` will be."""
        entry, repository = self._open(params.service, params.environment, ctx)
        if params.to_version == "previous":
            return Preview(f"Puts the version back that {entry.file} named before, by a commit of its own.")
        return self._previewed(
            entry, params.service, self._change(entry, repository, params.to_version, ctx.key), ctx
        )

    def _previewed(self, entry: GitopsEntry, service: str, change: Change, ctx: Context) -> Preview:
        runs = self._running(service, entry, ctx).version() or "nothing"
        was, shown = change.spot.version, change.difference(entry.file)
        words = (
            f"One commit on {entry.branch} of {entry.repository}:\n{shown}"
            if shown
            else "Nothing changes there."
        )
        odd = (f"!the cluster runs {runs}"[:41],) if runs != was else ()
        return Preview(
            f"{words}\nThe cluster runs {runs} now; it is waited for until it runs {change.version}.",
            {"file": entry.file, "was": was, "to": change.version},
            (f"1 line of {Path(entry.file).name}"[:40] if shown else "named there already", *odd),
            was,
        )

    def _change(self, entry: GitopsEntry, repository: Repository, version: str, key: str) -> Change:
        """Against the newest commit; after a half-done attempt, against what its own commit rests on."""
        head = repository.fetch()
        own = repository.commit_of(key)
        return self._against(entry, repository, repository.parent(own) if own else head, version)

    def _against(self, entry: GitopsEntry, repository: Repository, commit: str, version: str) -> Change:
        blob = repository.read(commit, entry.file)
        spot = editing.find(blob.text, path=entry.path, image=entry.image, file=entry.file)
        return Change(commit, blob, spot, version)

    def _write(
        self, entry: GitopsEntry, repository: Repository, version: str, said: str, ctx: Context
    ) -> tuple[str, str]:
        """The commit that names the version, and the version before it; an earlier attempt's is enough."""
        first = self._change(entry, repository, version, ctx.key)
        if own := repository.commit_of(ctx.key):
            return own, first.spot.version
        change = first
        for _ in range(TRIES):
            if change.spot.version != first.spot.version:
                raise Transient(
                    f"Somebody set {entry.file} to {change.spot.version} meanwhile. Nothing was pushed."
                )
            if change.after == change.before.text:
                return change.parent, change.spot.version
            message = f"{said}\n\n{trailers(ctx)}\n"
            made = repository.commit(
                change.parent, entry.file, Blob(change.before.mode, change.after), message, entry.author
            )
            ctx.progress("pushing")
            ctx.hold()
            try:
                repository.push(made)
            except Rejected:
                change = self._against(entry, repository, repository.fetch(), version)
            else:
                return made, first.spot.version
        raise Transient(f"{entry.branch} moved {TRIES} times while it was pushed to. Nothing was pushed.")

    def _waited(
        self,
        service: str,
        version: str,
        was: str,
        commit: str,
        entry: GitopsEntry,
        ctx: Context,
        begun: float,
    ) -> Report[ReleaseData]:
        try:
            text, replicas = self._running(service, entry, ctx).wait(version)
        except Permanent as error:
            where = f"{service} {version} stands in the repository (commit {commit[:10]})"
            raise Permanent(f"{where}, and does not run: {error}") from None
        data = ReleaseData(
            service=service, version=version, previous_version=was, commit=commit, ready=True,
            replicas=replicas, seconds=round(time.monotonic() - begun, 1),
        )  # fmt: skip
        return Report.ok(
            f"{service} {was} → {version} on {entry.environment}, commit {commit[:10]}, {text}", data
        )

    def _nothing(
        self, params: TakeBackParams, version: str, ctx: Context, begun: float
    ) -> Report[ReleaseData]:
        """What never reached the repository need not be taken back."""
        data = ReleaseData(
            service=params.service, version=version, previous_version=version, commit="", ready=True,
            replicas=0, seconds=round(time.monotonic() - begun, 1),
        )  # fmt: skip
        return Report.ok(f"nothing of {params.service} was pushed, so nothing is taken back", data)

    def _check_still_ours(
        self, entry: GitopsEntry, repository: Repository, reverted: str, version: str, key: str
    ) -> None:
        """What somebody has named there since is theirs, and is not overwritten."""
        mine = self._against(entry, repository, reverted, version).spot.version
        now = self._change(entry, repository, version, key).spot.version
        if now not in (mine, version):
            raise Permanent(
                f"Somebody has set {entry.file} to {now} since, so it is left alone. It is not {version}."
            )

    def _earlier(self, params: TakeBackParams, ctx: Context) -> str:
        if params.to_version != "previous":
            return params.to_version
        if not (known := str(ctx.previous.get("version") or "")):
            raise Permanent(f"Nobody knows which version of {params.service} was there before. Name it.")
        return known

    def packages(self) -> Iterator[str]:
        return packages(self.inventory)

    def needs(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Each repository and each cluster that a service is kept in."""
        for name, raw in self.inventory.get("gitops", {}).items():
            yield f"repository of {name}", partial(self._try, name, raw)

    def _try(self, name: str, raw: dict[str, Any]) -> None:
        from datetime import UTC, datetime
        from tempfile import TemporaryDirectory

        entry = read_entry(GitopsEntry, "gitops", name, raw)
        with TemporaryDirectory() as place:
            ctx = Context(0, "doctor", 0, f"doctor-{name}", Path(place), lambda: datetime.now(UTC))
            _, repository = self._open(name, entry.environment, ctx)
            self._change(entry, repository, "0", ctx.key)
            self._running(name, entry, ctx).version()

    def _open(self, service: str, environment: str, ctx: Context) -> tuple[GitopsEntry, Repository]:
        entry = read_entry(GitopsEntry, "gitops", service, self.entry("gitops", service))
        if environment != entry.environment:
            raise Permanent(
                f"{service} has no environment '{environment}' in signoff.toml. Known: {entry.environment}."
            )
        secret = secrets(entry.secrets_env, f"gitops.{service}")
        env = {**entry.env, **secret}
        return entry, Repository(entry.repository, entry.branch, ctx, env, [*secret.values()])

    def _running(self, service: str, entry: GitopsEntry, ctx: Context) -> Running:
        home = self.entry("clusters", entry.cluster)
        if home.get("kind") != "kubernetes":
            raise Permanent(f'[inventory.clusters.{entry.cluster}] needs kind = "kubernetes".')
        cluster = self.connect(entry.cluster, home, entry.namespace)
        name, image = entry.deployment or service, entry.image
        return Running(cluster, name, image, entry.wait_seconds, self.pause, ctx.progress, ctx.cancelled)


def trailers(ctx: Context) -> str:
    """What ties the commit to the plan and to the people who approved it."""
    lines = [f"Signoff-Plan: {ctx.plan}", f"Signoff-Step: {ctx.step}", trailer(ctx.key)]
    return "\n".join([*lines, *(f"Approved-by: {user}" for user in ctx.approvers())])
