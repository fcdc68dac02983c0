"""A signature counts for its plan, revision and digest, and for those whose key is allowed for it."""

import pytest

from bot.policy import ssh_signature as signature
from storage.config import Signing
from storage.errors import BadConfig, NotAllowed
from tests.support.samples.second_factor import sign, signing

pytestmark = pytest.mark.authorize

TEXT = signature.text(7, 2, "ab" * 32)


def test_a_signature_over_plan_revision_and_digest_is_its_signers(keys):
    assert signature.signer(TEXT, sign(keys, TEXT), signing(keys)) == "BOB"


@pytest.mark.parametrize(
    ("over", "name", "namespace", "why"),
    [
        (signature.text(8, 2, "ab" * 32), "bob", "signoff", "is not over this plan"),
        (signature.text(7, 3, "ab" * 32), "bob", "signoff", "is not over this plan"),
        (signature.text(7, 2, "ac" * 32), "bob", "signoff", "is not over this plan"),
        (TEXT, "bob", "git", "is not over this plan|No key"),
        (TEXT, "mallory", "signoff", "No key"),
        (TEXT, "carol", "signoff", "is not over this plan|No key"),
    ],
    ids=["plan", "revision", "digest", "namespace", "stranger", "key for another purpose"],
)
def test_any_other_signature_is_refused(keys, over, name, namespace, why):
    with pytest.raises(NotAllowed, match=why):
        signature.signer(TEXT, sign(keys, over, name, namespace), signing(keys))


def test_who_a_principal_is_and_which_file_counts_must_be_configured(keys, tmp_path):
    signed = sign(keys, TEXT)
    with pytest.raises(NotAllowed, match=r"who bob@example is in Slack"):
        signature.signer(TEXT, signed, signing(keys, other="BOB"))
    with pytest.raises(BadConfig, match="allowed_signers"):
        signature.signer(TEXT, signed, Signing())
    for rubbish in (tmp_path / "none", tmp_path):
        with pytest.raises(NotAllowed, match="no SSH signature"):
            signature.signer(TEXT, rubbish, signing(keys))
    (tmp_path / "odd").write_bytes(b"\xff\x00 not a signature")
    with pytest.raises(NotAllowed, match="No key"):
        signature.signer(TEXT, tmp_path / "odd", signing(keys))
