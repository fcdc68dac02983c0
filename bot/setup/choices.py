"""What `signoff init` makes of what was found: names, environments, which service goes first. Pure."""

import re
from dataclasses import dataclass

from storage.contract.survey import ClusterFound, DatabaseFound, Deployment, SuiteFound, Survey

STAND_IN = "U0123456789"  # doctor knows it, and asks for a real one
PLACES = (
    ("production", r"prod|live"),
    ("staging", r"stag|preprod|uat|qa"),
    ("development", r"dev|test|sandbox"),
)


@dataclass(frozen=True)
class Choices:
    """Everything that the files are written from."""

    approvers: tuple[str, ...]
    zone: str
    folder: str
    survey: Survey

    @property
    def services(self) -> list[Deployment]:
        """Those that could be deployed as they stand, one for each name, production before others."""
        ready = sorted(self._deployments(), key=lambda one: (_rank(one.namespace), one.name))
        first: dict[str, Deployment] = {}
        for one in ready:
            if not one.hindrance:
                first.setdefault(one.name, one)
        return sorted(first.values(), key=lambda one: one.name)

    @property
    def kept_elsewhere(self) -> list[Deployment]:
        """Those that a controller keeps as a git repository says: for the gitops-deployer."""
        return [one for one in self._deployments() if one.keeper]

    @property
    def left(self) -> list[Deployment]:
        chosen = {(one.namespace, one.name) for one in (*self.services, *self.kept_elsewhere)}
        return [one for one in self._deployments() if (one.namespace, one.name) not in chosen]

    @property
    def cluster(self) -> ClusterFound | None:
        found = self.survey.cluster
        return found if found and not found.trouble else None

    @property
    def databases(self) -> tuple[DatabaseFound, ...]:
        return self.survey.databases

    @property
    def suite(self) -> SuiteFound | None:
        return self.survey.suite

    def database_of(self, service: Deployment) -> str:
        """The one whose name is in the service's, or the other way round; else the only one there is."""
        names = [one.name for one in self.databases]
        near = [name for name in names if _near(name, service.name)]
        return near[0] if near else names[0] if len(names) == 1 else ""

    def _deployments(self) -> tuple[Deployment, ...]:
        return self.cluster.deployments if self.cluster else ()


def environment(namespace: str) -> str:
    """What a namespace is called in plans. An unknown one counts as production, where most care is taken."""
    return next((name for name, signs in PLACES[1:] if re.search(signs, namespace)), "production")


def _rank(namespace: str) -> tuple[bool, bool]:
    return environment(namespace) != "production", not re.search(PLACES[0][1], namespace)


def _near(database: str, service: str) -> bool:
    parts = {*re.split(r"[-_]", database)} - {"prod", "production", "db", "service", "staging", "main"}
    return bool(parts & {*re.split(r"[-_]", service)})
