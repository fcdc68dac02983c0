"""What `signoff init` writes can be read, says who and what was found, and lets nothing out of its quotes."""

import subprocess
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.planner.examples import Stage, rehearse
from bot.planner.runbooks import book as runbooks
from bot.planner.validate import Catalogue
from bot.setup.choices import STAND_IN, Choices, environment
from bot.setup.configuration import configuration
from bot.setup.files import drafts, example, write
from bot.setup.init import told
from bot.setup.runbook import runbook
from bot.setup.toml import table
from storage.config import SignoffConfig, read_config
from storage.contract.survey import ClusterFound, DatabaseFound, Deployment, SuiteFound, Survey
from workers.builtin.kubernetes.rights import NEEDED, WANTED
from workers.registry import load

NASTY = 'a"]\n[people]\napprovers = ["U0MALLORY'
SHOP = Deployment(
    name="shop",
    namespace="shop-production",
    image="registry.example/shop",
    version="v1",
    replicas=2,
    port=80,
)
TESTS = SuiteFound(directory="/srv/shop", command=("pytest", "-q"), tool="pytest")
DATABASE = DatabaseFound(variable="SHOP_URL", name="shop")


def cluster(*found: Deployment, context: str = "here", trouble: str = "") -> ClusterFound:
    return ClusterFound(context=context, kubeconfig_env="KUBECONFIG", deployments=found, trouble=trouble)


def choices(survey: Survey, *approvers: str) -> Choices:
    return Choices(approvers, "Europe/London", "/srv", survey)


def read(chosen: Choices, folder: Path) -> SignoffConfig:
    path = folder / "signoff.toml"
    path.write_text(configuration(chosen), encoding="utf-8")
    return read_config(path)


def test_everything_that_was_found_is_named(tmp_path: Path) -> None:
    survey = Survey(cluster=cluster(SHOP), databases=(DATABASE,), suite=TESTS)

    config = read(choices(survey, "U0BOB"), tmp_path)

    assert config.people.approvers == ("U0BOB",)
    assert config.workers == ("test-runner", "db-backup", "k8s-deployer", "command")
    assert config.inventory["services"]["shop"]["adopt"] is True
    assert config.inventory["services"]["shop"]["database"] == "shop"
    assert config.inventory["databases"]["shop"]["url_env"] == "SHOP_URL"
    assert config.inventory["suites"]["full"]["command"] == ["pytest", "-q"]


def test_where_nothing_was_found_there_is_something_to_try(tmp_path: Path) -> None:
    config = read(choices(Survey()), tmp_path)

    assert config.workers == ("command",)
    assert config.people.approvers == (STAND_IN,)
    assert config.inventory["commands"]["disk-usage"]["reads"] is True


@pytest.mark.parametrize(
    "name", [NASTY, "a\nb", 'quote"', "back\\slash", "a\x7fb", "ünï", "a.b", "''", "\u2028"]
)
def test_no_name_gets_out_of_its_quotes(tmp_path: Path, name: str) -> None:
    odd = SHOP.model_copy(update={"name": name, "namespace": name, "image": name, "version": name})
    kept = odd.model_copy(update={"keeper": name, "hindrance": name, "name": f"k{name}"})
    left = odd.model_copy(update={"hindrance": name, "name": f"l{name}"})
    survey = Survey(
        cluster=cluster(odd, kept, left, context=name),
        databases=(DatabaseFound(variable=name, name=name),),
        suite=SuiteFound(directory=name, command=(name,), tool="pytest"),
    )

    config = read(choices(survey), tmp_path)

    assert config.people.approvers == (STAND_IN,)
    assert list(config.inventory["services"]) == [name]
    assert config.inventory["clusters"]["main"]["context"] == name


def test_a_cluster_that_could_not_be_asked_is_only_a_remark(tmp_path: Path) -> None:
    config = read(choices(Survey(cluster=cluster(trouble=f"it is away\n{NASTY}"))), tmp_path)

    assert "clusters" not in config.inventory


def test_what_others_keep_is_offered_to_the_gitops_deployer(tmp_path: Path) -> None:
    kept = SHOP.model_copy(update={"keeper": "Argo CD", "hindrance": "Argo CD keeps it"})
    text = configuration(choices(Survey(cluster=cluster(kept))))

    assert "Argo CD keeps shop" in text
    assert "# [inventory.gitops.shop]" in text
    assert "k8s-deployer" not in text


@pytest.mark.parametrize(
    ("namespace", "called"),
    [
        ("shop-production", "production"),
        ("default", "production"),
        ("staging", "staging"),
        ("team-dev", "development"),
    ],
)
def test_a_namespace_that_does_not_say_so_counts_as_production(namespace: str, called: str) -> None:
    assert environment(namespace) == called


def test_of_two_namesakes_production_is_written_and_the_other_is_told() -> None:
    staging = SHOP.model_copy(update={"namespace": "shop-staging"})
    chosen = choices(Survey(cluster=cluster(staging, SHOP)))

    assert [one.namespace for one in chosen.services] == ["shop-production"]
    assert "Left out: shop in shop-staging" in configuration(chosen)


def test_what_is_left_out_is_told_with_its_reason_and_the_list_stays_short() -> None:
    left = [SHOP.model_copy(update={"name": f"w{n}", "hindrance": "no Service"}) for n in range(5)]
    survey = Survey(cluster=cluster(SHOP, *left))
    text = "\n".join(told(survey, choices(survey)))

    assert "not w0 in shop-production: no Service" in text
    assert "w3" not in text
    assert "nor 2 more" in text


def test_a_note_never_touches_what_it_stands_behind() -> None:
    text = table(("a",), {"short": 1, "long": "x" * 60}, {"short": "one", "long": "two"})

    assert tomllib.loads(text) == {"a": {"short": 1, "long": "x" * 60}}
    assert [line.rpartition("  # ")[2] for line in text.splitlines()[1:]] == ["one", "two"]


@pytest.mark.parametrize("suite", [TESTS, None])
@pytest.mark.parametrize("databases", [(DATABASE,), ()])
@pytest.mark.parametrize("found", [(SHOP,), ()])
def test_the_first_runbook_means_what_its_examples_say_on_this_installation(
    tmp_path: Path,
    suite: SuiteFound | None,
    databases: tuple[DatabaseFound, ...],
    found: tuple[Deployment, ...],
) -> None:
    chosen = choices(Survey(cluster=cluster(*found), databases=databases, suite=suite))
    config, (name, text) = read(chosen, tmp_path), runbook(chosen)
    (tmp_path / f"{name}.yml").write_text(text)
    books = runbooks.read((runbooks.SHIPPED, tmp_path))
    own = [book for book in books if book.id == name]
    stage = Stage(books, Catalogue(load(config).contracts()), config, datetime(2026, 11, 18, 12, tzinfo=UTC))

    assert len(own) == 1
    assert [trial for trial in rehearse(stage, own) if trial.wrong] == []


def test_nothing_is_written_over_anything(tmp_path: Path) -> None:
    wanted = drafts(choices(Survey(cluster=cluster(SHOP))))
    (tmp_path / ".env.example").write_text("mine")

    first = {draft.path: new for draft, new in write(tmp_path, wanted)}
    again = {draft.path: new for draft, new in write(tmp_path, wanted)}

    assert first == {"signoff.toml": True, "runbooks/deploy-service.yml": True, ".env.example": False,
                     "signoff-rights.yml": True, ".signoff/.gitignore": True}  # fmt: skip
    assert {*again.values()} == {False}
    assert (tmp_path / ".env.example").read_text() == "mine"


def test_an_address_between_the_quotes_of_the_example_comes_whole_through_a_shell(tmp_path: Path) -> None:
    chosen = choices(Survey(databases=(DATABASE,)))
    address = "postgresql://shop:a$b@host/shop?sslmode=require&connect_timeout=5"
    (tmp_path / ".env").write_text(example(chosen).replace("SHOP_URL='", f"SHOP_URL='{address}"))

    said = subprocess.run(
        ["sh", "-c", "set -a; . ./.env; set +a; printenv SHOP_URL"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert said.stdout == f"{address}\n"


def test_the_list_of_rights_is_the_one_that_a_deploy_asks_for() -> None:
    import yaml

    rights = tuple((one.verb, one.group, one.resource, one.part) for one in (*NEEDED, *WANTED))
    chosen = choices(Survey(cluster=cluster(SHOP), rights=rights))
    text = next(draft.text for draft in drafts(chosen) if draft.path == "signoff-rights.yml")
    role = next(part for part in yaml.safe_load_all(text) if part["kind"] == "Role")
    given = {
        (verb, group, *f"{resource}/".split("/")[:2])
        for rule in role["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }

    assert given == {*rights}
    assert role["metadata"]["namespace"] == "shop-production"
