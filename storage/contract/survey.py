"""What a look around found, for `signoff init`: names and places, and never a value that is secret."""

from pydantic import BaseModel, ConfigDict


class Found(BaseModel):
    """Base of every finding: data that was read elsewhere, and is only looked at."""

    model_config = ConfigDict(frozen=True)


class Deployment(Found):
    """One that runs there. `hindrance` says why the k8s-deployer would leave it alone, if it would."""

    name: str
    namespace: str
    image: str
    version: str
    replicas: int
    port: int
    keeper: str = ""
    hindrance: str = ""


class ClusterFound(Found):
    """A context of the kubeconfig, and what runs there; `trouble` when it could not be looked at."""

    context: str
    kubeconfig_env: str = ""
    deployments: tuple[Deployment, ...] = ()
    lacking: dict[str, tuple[str, ...]] = {}  # namespace → rights that a deploy needs and we have not
    trouble: str = ""


class DatabaseFound(Found):
    """A variable that holds a database's address. The address itself stays where it is."""

    variable: str
    name: str


class SuiteFound(Found):
    """How the tests of a folder are run."""

    directory: str
    command: tuple[str, ...]
    tool: str


class Survey(Found):
    """Everything that a look around found."""

    contexts: tuple[str, ...] = ()
    cluster: ClusterFound | None = None
    databases: tuple[DatabaseFound, ...] = ()
    suite: SuiteFound | None = None
    rights: tuple[tuple[str, str, str, str], ...] = ()  # verb, group, resource, part
