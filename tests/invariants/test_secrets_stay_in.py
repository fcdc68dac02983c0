"""No secret that comes in while the product runs gets out of it: database, log, model, Slack."""

import pytest

from tests.proof.parts.leaks import leaked, seen

pytestmark = pytest.mark.hostile


def test_no_planted_secret_is_behind_any_of_the_four_doors(tmp_path):
    assert leaked(tmp_path, 150, seed=3) == {"database": [], "log": [], "model": [], "Slack": []}


def test_what_is_behind_a_door_would_be_seen():
    assert seen(["hunter2", "s3cr3t-0123456789"], "xx s3cr3t-01234 and hunter2 yy") == [
        "hunter2",
        "s3cr3t-0123456789",
    ]
    assert seen(["hunter2", "s3cr3t-0123456789"], "hunter 2, s3cr3t-0") == []
