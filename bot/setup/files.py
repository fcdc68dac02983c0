"""What `signoff init` writes: each file once, and none over another."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from bot.setup.choices import Choices
from bot.setup.configuration import configuration
from bot.setup.runbook import runbook
from bot.setup.toml import remark

CONFIG, EXAMPLE, RIGHTS = "signoff.toml", ".env.example", "signoff-rights.yml"
IGNORED = ".gitignore"


@dataclass(frozen=True)
class Draft:
    """A file that is not there yet."""

    path: str
    text: str
    about: str


def drafts(chosen: Choices) -> list[Draft]:
    name, text = runbook(chosen)
    found = [
        Draft(CONFIG, configuration(chosen), "who approves, and what there is to work on"),
        Draft(f"runbooks/{name}.yml", text, "your first runbook"),
        Draft(EXAMPLE, example(chosen), "the variables that it needs"),
    ]
    if chosen.services:
        found.append(Draft(RIGHTS, rights(chosen), "what the workers must be allowed in the cluster"))
    private = {".signoff": "the journal"} | ({"backups": "dumps"} if chosen.databases else {})
    return [
        *found,
        *(Draft(f"{name}/{IGNORED}", "*\n", f"git leaves out {private[name]}") for name in private),
    ]


def write(folder: Path, wanted: list[Draft]) -> Iterator[tuple[Draft, bool]]:
    """Each with whether it was written; what is there already stays as it is."""
    for draft in wanted:
        path = folder / draft.path
        path.parent.mkdir(mode=0o700 if path.name == IGNORED else 0o777, parents=True, exist_ok=True)
        try:
            with path.open("x", encoding="utf-8") as file:  # fails if it is there, whoever was faster
                file.write(draft.text)
        except FileExistsError:
            yield draft, False
        else:
            yield draft, True


def example(chosen: Choices) -> str:
    """.env.example: the names of the variables, and no value of any."""
    lines = [
        remark(
            "Copy to .env, fill in (in quotes), and load it before `signoff up`: set -a; . ./.env; set +a"
        ),
        remark("Slack: README.md tells where to get both. Only the bot reads them."),
        "SLACK_BOT_TOKEN=''",
        "SLACK_APP_TOKEN=''",
    ]
    held = [one.variable for one in chosen.databases]
    if chosen.cluster and chosen.cluster.kubeconfig_env:
        held.append(chosen.cluster.kubeconfig_env)
    if held:
        lines += [remark("Only the workers read these."), *(f"{name}=''" for name in held)]
    lines.append(
        remark("A model plans where there is a key; without one the runbooks do.")
        + "\n# ANTHROPIC_API_KEY=''"
    )
    return "\n".join(lines) + "\n"


def rights(chosen: Choices) -> str:
    """A Role for each namespace, with just what a deploy and its way back use."""
    places = sorted({one.namespace for one in chosen.services})
    found = [part for place in places for part in _role(place, chosen.survey.rights)]
    head = remark(
        "What the workers need in the cluster, and nothing more. Give it to the user of their kubeconfig:"
    )
    return (
        f"{head}\n# kubectl apply -f {RIGHTS}   (first put that user in place of signoff-workers)\n"
        + yaml.safe_dump_all(found, sort_keys=False)
    )


def _role(namespace: str, needed: tuple[tuple[str, str, str, str], ...]) -> list[Mapping[str, object]]:
    grouped: dict[tuple[str, str], list[str]] = {}
    for verb, group, resource, part in needed:
        grouped.setdefault((group, "/".join(filter(None, (resource, part)))), []).append(verb)
    rules = [
        {"apiGroups": [group], "resources": [name], "verbs": verbs}
        for (group, name), verbs in grouped.items()
    ]
    top = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    named = {"name": "signoff-workers", "namespace": namespace}
    bound = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "signoff-workers"}
    who = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "signoff-workers"}]
    return [
        {**top, "kind": "Role", "metadata": named, "rules": rules},
        {**top, "kind": "RoleBinding", "metadata": dict(named), "roleRef": bound, "subjects": who},
    ]
