import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))
import auth


@pytest.mark.parametrize("user", ["ann", "bob", "carol", "a.person@example.com", "名前"])
def test_a_fresh_token_names_its_user(user):
    assert auth.verify(auth.issue(user, now=1000), now=1001) == user


@pytest.mark.parametrize("age", [auth.LIFETIME + 1, auth.LIFETIME * 2])
def test_an_old_token_is_refused(age):
    assert auth.verify(auth.issue("ann", now=1000), now=1000 + age) is None


def test_a_token_lasts_its_whole_lifetime():
    assert auth.verify(auth.issue("ann", now=1000), now=1000 + auth.LIFETIME) == "ann"


def test_a_forged_token_is_refused():
    genuine = auth.issue("ann", now=1000)

    assert auth.verify(genuine.replace("ann", "bob"), now=1001) is None
