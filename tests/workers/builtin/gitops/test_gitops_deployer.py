"""A release is one commit, pushed once, that the cluster then runs; what others did meanwhile stays."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cluster.deploy_site import real_site
from tests.support.cluster.gitops_site import FILE, KUSTOMIZATION, GitopsSite, Kept, git, syncing
from tests.support.places import ROOT
from workers.base import Permanent, Transient
from workers.builtin.gitops.repository import Repository

pytest_plugins = ("tests.support.cluster.fixtures",)


@pytest.fixture
def site(tmp_path: Path) -> GitopsSite:
    return GitopsSite(tmp_path / "site")


def test_a_release_is_one_commit_that_names_the_plan_and_who_approved(site: GitopsSite) -> None:
    report = site.release("v1.5.0")
    message = git(site.origin, "log", "-1", "--format=%B", "main")

    assert report.status == "succeeded", report.summary
    assert site.text() == KUSTOMIZATION.replace("newTag: v1.4.0", "newTag: v1.5.0")
    assert site.log() == ["Release shop v1.5.0 on production", "begin"]
    assert message.splitlines()[2:] == [
        "Signoff-Plan: 1", "Signoff-Step: step-1", "Signoff-Key: k1", "Approved-by: U0BOB",
        "Approved-by: U0CAROL",
    ]  # fmt: skip
    assert (report.data.previous_version, report.data.version) == ("v1.4.0", "v1.5.0")


def test_people_see_the_difference_and_what_runs_now(site: GitopsSite) -> None:
    found = site.preview("v1.5.0")

    assert "-    newTag: v1.4.0\n+    newTag: v1.5.0" in found.text
    assert "The cluster runs v1.4.0 now" in found.text
    assert found.was == "v1.4.0"
    assert site.log() == ["begin"]


def test_a_version_that_moved_since_is_another_basis_and_a_neighbours_is_not(site: GitopsSite) -> None:
    seen = site.preview("v1.5.0").basis
    site.somebody_writes(FILE, KUSTOMIZATION.replace('"1.10"', '"1.11"'))
    beside = site.preview("v1.5.0").basis
    site.somebody_writes(FILE, KUSTOMIZATION.replace("v1.4.0", "v1.4.9"))

    assert beside == seen
    assert site.preview("v1.5.0").basis != seen


def test_an_attempt_that_was_cut_off_after_its_push_rests_on_what_people_saw(site: GitopsSite) -> None:
    seen = site.preview("v1.5.0").basis
    site.release("v1.5.0")

    assert site.preview("v1.5.0", "k1").basis == seen
    assert site.before("v1.5.0")["version"] == "v1.4.0"


def test_a_newer_commit_elsewhere_is_built_upon(site: GitopsSite, monkeypatch: pytest.MonkeyPatch) -> None:
    faster = iter([lambda: site.somebody_writes("README", "hello", "in between")])
    push = Repository.push

    def late(self: Repository, commit: str) -> None:
        next(faster, lambda: "")()
        push(self, commit)

    monkeypatch.setattr(Repository, "push", late)
    report = site.release("v1.5.0")

    assert report.status == "succeeded"
    assert site.log() == ["Release shop v1.5.0 on production", "in between", "begin"]
    assert git(site.origin, "show", "main:README") == "hello"


def test_a_newer_version_of_somebody_else_is_never_overwritten(
    site: GitopsSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    faster = iter(
        [lambda: site.somebody_writes(FILE, KUSTOMIZATION.replace("v1.4.0", "v9.9.9"), "in between")]
    )
    push = Repository.push

    def late(self: Repository, commit: str) -> None:
        next(faster, lambda: "")()
        push(self, commit)

    monkeypatch.setattr(Repository, "push", late)
    with pytest.raises(Transient, match=r"set .* to v9\.9\.9 meanwhile"):
        site.release("v1.5.0")

    assert site.log() == ["in between", "begin"]


def test_two_plans_on_one_repository_both_happen(site: GitopsSite) -> None:
    first, second = site.preview("v1.5.0"), site.preview("1.12", service="billing")
    site.release("v1.5.0", "k1")

    assert site.preview("1.12", service="billing").basis == second.basis != first.basis
    assert site.release("1.12", "k2", "billing").status == "succeeded"
    assert (site.version("shop"), site.version("billing")) == ("v1.5.0", "1.12")


def test_a_rollback_is_a_revert_of_its_own(site: GitopsSite) -> None:
    noted = site.before("v1.5.0")
    site.release("v1.5.0")
    released = git(site.origin, "rev-parse", "main")

    report = site.take_back(previous=noted)
    again = site.take_back(previous=noted)

    assert (report.status, again.status) == ("succeeded", "succeeded")
    assert site.text() == KUSTOMIZATION
    assert len(site.log()) == 3
    assert f"This reverts commit {released}." in git(site.origin, "log", "-1", "--format=%B", "main")


def test_a_rollback_of_what_was_never_pushed_changes_nothing(site: GitopsSite) -> None:
    report = site.take_back(previous=site.before("v1.5.0"))

    assert "nothing of shop was pushed" in report.summary
    assert site.log() == ["begin"]


def test_a_rollback_leaves_alone_what_somebody_named_since(site: GitopsSite) -> None:
    noted = site.before("v1.5.0")
    site.release("v1.5.0")
    site.somebody_writes(FILE, KUSTOMIZATION.replace("v1.4.0", "v1.6.0"), "a fix")

    with pytest.raises(Permanent, match=r"to v1\.6\.0 since, so it is left alone"):
        site.take_back(previous=noted)
    assert site.version() == "v1.6.0"


def test_a_cluster_that_nobody_syncs_is_told_with_the_commit_that_stands(site: GitopsSite) -> None:
    site.more = {"wait_seconds": 0.1}
    site.cluster = Kept(site, stale="v1.4.0")

    with pytest.raises(
        Permanent, match=r"v1\.5\.0 stands in the repository \(commit .*still told to run v1\.4\.0"
    ):
        site.release("v1.5.0")


def test_a_file_that_is_a_link_is_not_followed(site: GitopsSite) -> None:
    (site.desk / "evil").symlink_to("/etc/passwd")
    site.somebody_writes("other", "x")
    site.more = {"file": "evil", "path": "a"}

    with pytest.raises(Permanent, match="has no file evil"):
        site.preview("v1.5.0")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"file": "../x", "path": "a"}, "inside the repository"),
        ({"repository": "https://bob:pa55@git.example/x"}, "without a password"),
        ({"repository": "--upload-pack=evil"}, "address"),
        ({"branch": "--force"}, "branch"),
        ({"author": "x\ny"}, "author"),
    ],
)
def test_an_entry_that_could_be_misread_is_refused(site: GitopsSite, more: dict[str, str], why: str) -> None:
    site.more = more
    with pytest.raises(Permanent, match=why):
        site.preview("v1.5.0")


def test_whenever_it_is_killed_it_ends_with_one_commit() -> None:
    argv = [sys.executable, "-m", "tests.crash.gitops", "commit-tree", "push"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("4 kills, 1 of them after the push; each time one commit")


@pytest.mark.k8s
def test_it_is_released_on_a_real_cluster_that_somebody_syncs(kubeconfig: Path, tmp_path: Path) -> None:
    with real_site(kubeconfig, tmp_path) as real:
        site = GitopsSite(tmp_path / "site", real.namespace, real.home, real.admin())
        pods = {
            "metadata": {"labels": {"app": "shop"}},
            "spec": {"containers": [{"name": "shop", "image": "registry.example/shop:v1.4.0"}]},
        }
        spec = {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "shop"}},
            "template": pods,
            "progressDeadlineSeconds": 20,
        }
        place = f"/apis/apps/v1/namespaces/{real.namespace}/deployments"
        real.admin().call("POST", place, {"metadata": {"name": "shop"}, "spec": spec})
        with syncing(site, real.admin()):
            noted = site.before("v1.5.0")
            report = site.release("v1.5.0")
            with pytest.raises(Permanent, match="ImagePullBackOff"):
                site.release("v1.6.0-bad", "k2")
            site.release("v1.5.0", "k3")
            back = site.take_back(previous=noted)
        runs = real.admin().get("Deployment", "shop")

    assert report.status == "succeeded", report.summary
    assert report.data.replicas == 2
    assert back.status == "succeeded"
    assert runs
    assert runs["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.example/shop:v1.4.0"
