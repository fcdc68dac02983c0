"""One value changes, and every other byte stays."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cluster.gitops_site import KUSTOMIZATION
from workers.base import Permanent
from workers.builtin.gitops.editing import find, replaced

VALUES = (
    "# chart values\nimage:\n  repository: registry.example/shop\n  tag: 'v1.4.0' # pinned\nreplicas: 2\n"
)
PLAIN = (
    "kind: Service\n---\nkind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n"
    "        - {name: shop, image: 'registry.example:5000/shop:v1.4.0'}\n"
)
CONTAINER = "spec.template.spec.containers.0.image"


def edited(text: str, version: str, *, path: str = "", image: str = "") -> str:
    return replaced(text, find(text, path=path, image=image, file="f.yaml"), version)


def test_a_tag_of_a_kustomization_changes_and_comments_stay() -> None:
    after = edited(KUSTOMIZATION, "v1.5.0", image="registry.example/shop")

    assert after == KUSTOMIZATION.replace("newTag: v1.4.0", "newTag: v1.5.0")


def test_values_of_a_chart_keep_their_quotes() -> None:
    assert edited(VALUES, "v1.5.0", path="image.tag") == VALUES.replace("'v1.4.0'", "'v1.5.0'")


def test_an_image_in_plain_yaml_keeps_its_name_and_its_port() -> None:
    after = edited(PLAIN, "v1.5.0", path=CONTAINER, image="registry.example:5000/shop")

    assert after == PLAIN.replace("shop:v1.4.0", "shop:v1.5.0")


@pytest.mark.parametrize("version", ["1.10", "2", "0x10", "1e3", "2026.01.01"])
def test_a_version_that_yaml_would_take_for_a_number_is_quoted(version: str) -> None:
    after = edited(KUSTOMIZATION, version, image="registry.example/shop")

    assert yaml.safe_load(after)["images"][0]["newTag"] == version


@given(st.from_regex(r"\Av?[0-9]{1,3}(\.[0-9]{1,3}){0,3}(-[0-9A-Za-z.-]{1,8})?\Z"))
def test_whatever_the_version_only_that_value_is_another(version: str) -> None:
    before, after = (
        yaml.safe_load(KUSTOMIZATION),
        yaml.safe_load(edited(KUSTOMIZATION, version, image="registry.example/shop")),
    )
    before["images"][0]["newTag"] = version

    assert after == before


@pytest.mark.parametrize(
    ("text", "path", "image", "why"),
    [
        ("a: [", "a", "", "no YAML"),
        ("a: 1", "b", "", "has no 'b'"),
        ("images: [{name: x}]", "", "x", "has no an image 'x'"),
        ("a: 1\n---\na: 2", "a", "", "more than one"),
        ("a: &here v1\nb: *here", "a", "", "not edited here"),
        ("a: |\n  v1\n", "a", "", "not edited here"),
        ("a: !!str v1", "a", "", "not edited here"),
        ("a: other.example/shop:v1", "a", "registry.example/shop", "names the image other.example/shop"),
        ("a: {b: 1}", "a", "", "has no 'a'"),
        ("a: [x]", "a.7", "", "has no 'a.7'"),
    ],
)
def test_what_cannot_be_edited_surely_is_refused(text: str, path: str, image: str, why: str) -> None:
    with pytest.raises(Permanent, match=why):
        find(text, path=path, image=image, file="f.yaml")
