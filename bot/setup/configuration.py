"""signoff.toml, written from what was found. Pure."""

from bot.setup.choices import STAND_IN, Choices, environment
from bot.setup.toml import remark, silent, table, value
from storage.contract.survey import Deployment


def configuration(chosen: Choices) -> str:
    found = (_suite(chosen), *_databases(chosen), *_services(chosen), _commands())
    parts = (_head(chosen), _people(chosen), _policy(), *found, _more())
    return "\n\n".join(part for part in parts if part) + "\n"


def workers(chosen: Choices) -> list[str]:
    """Nothing is named that has nothing to do here."""
    found = [
        ("test-runner", bool(chosen.suite)),
        ("db-backup", bool(chosen.databases)),
        ("k8s-deployer", bool(chosen.services)),
    ]
    return [*(name for name, there in found if there), "command"]


def _head(chosen: Choices) -> str:
    return "\n".join(
        [
            "# Written by `signoff init`; it is yours now. Every key: docs/configuration.md. Secrets",
            "# come from the environment (.env.example). `signoff up` reads this file again when it changes.",
            f"zone = {value(chosen.zone)}",
            f"workers = {value(workers(chosen))}",
            'runbooks = ["runbooks"]',
        ]
    )


def _people(chosen: Choices) -> str:
    ids = chosen.approvers or (STAND_IN,)
    note = "Slack ids: a person's profile → ⋮ → Copy member ID"
    told = note if chosen.approvers else f"put yours here. {note}"
    return table(("people",), {"approvers": ids, "admins": ids[:1]}, {"approvers": told})


def _policy() -> str:
    words = "How many people must approve, by risk; a change in production is high. Rules: docs/policy.md"
    return f"{remark(words)}\n{table(('policy', 'approvals'), {'high': 1})}"


def _suite(chosen: Choices) -> str:
    if not chosen.suite:
        return remark("No tests were found in this folder. [inventory.suites.full] would name their command.")
    found = chosen.suite
    plain: dict[str, object] = {
        "command": found.command,
        "directory": found.directory,
        "environments": ("staging",),
    }
    tool = {"tool": found.tool} if found.tool == "exit-code" else {}
    return table(("inventory", "suites", "full"), plain | tool, {"command": "argv; never a shell"})


def _databases(chosen: Choices) -> list[str]:
    notes = {"url_env": "the variable that holds its address; only the workers read it"}
    return [
        table(
            ("inventory", "databases", one.name),
            {"kind": "postgres", "environment": "production", "url_env": one.variable,
             "directory": f"{chosen.folder}/backups"},
            notes,
        )
        for one in chosen.databases
    ]  # fmt: skip


def _services(chosen: Choices) -> list[str]:
    found = chosen.survey.cluster
    if found is None:
        return [remark("No kubeconfig was found; [inventory.clusters.main] would name a cluster.")]
    home: dict[str, object] = {"kind": "kubernetes", "context": found.context}
    if found.kubeconfig_env:
        home["kubeconfig_env"] = found.kubeconfig_env
    cluster = table(("inventory", "clusters", "main"), home)
    if found.trouble:
        why = f"The context {found.context} could not be looked at: {found.trouble}"
        return [f"{remark(why)}\n{silent(cluster)}"]
    return [
        cluster,
        *(_service(chosen, one) for one in chosen.services),
        *(_kept(one) for one in chosen.kept_elsewhere),
        *(remark(f"Left out: {one.name} in {one.namespace}: {why_left(one)}") for one in chosen.left),
    ]


def _service(chosen: Choices, one: Deployment) -> str:
    given: dict[str, object] = {
        "cluster": "main", "environment": environment(one.namespace), "namespace": one.namespace,
        "image": one.image, "replicas": one.replicas, "port": one.port, "adopt": True,
    }  # fmt: skip
    if name := chosen.database_of(one):
        given["database"] = name
    notes = {
        "adopt": "the first approved deploy takes over what runs there; until then nothing is touched",
        "image": f"runs {one.version} now",
    }
    return table(("inventory", "services", one.name), given, notes)


def _kept(one: Deployment) -> str:
    """A service that a controller keeps in the state of a git repository."""
    text = table(
        ("inventory", "gitops", one.name),
        {"repository": "git@…", "file": "…/kustomization.yaml", "image": one.image, "cluster": "main",
         "namespace": one.namespace, "environment": environment(one.namespace)},
    )  # fmt: skip
    why = (
        f'{one.keeper} keeps {one.name} in {one.namespace}: name its repository, add "gitops-deployer" above.'
    )
    return f"{remark(why)}\n{silent(text)}"


def why_left(one: Deployment) -> str:
    return (
        one.hindrance
        or "one of that name is named already; [inventory.clusters.main] namespaces would name both"
    )


def _commands() -> str:
    notes = {"reads": "it changes nothing, so nobody need approve it: /plan run disk-usage"}
    return table(("inventory", "commands", "disk-usage"), {"argv": ("df", "-h"), "reads": True}, notes)


def _more() -> str:
    window = table(
        ("windows", "nightly"),
        {"days": ("mon", "tue", "wed", "thu"), "hours": 2, "environments": ("production",)},
    )
    return (
        f'{remark("More, when you need it:")}\n{silent(window)}\n# start = 02:00:00\n# zone = "Europe/London"'
    )
