"""Facts of a contract that came later enter its hash only where they are not the default."""

from storage.contract.capability import Contract
from storage.contract.spec import Mandate
from tests.support.fakes import contract


def test_a_contract_that_does_not_draft_keeps_the_hash_it_was_approved_with() -> None:
    read = contract("check", changes=False, repeat="safe")
    assert "drafts" not in read.model_dump(mode="json")
    assert read.hash() == Contract.model_validate(read.model_dump(mode="json")).hash()
    assert read.model_copy(update={"drafts": True}).hash() != read.hash()


def test_a_mandate_without_money_for_agents_stands_in_no_digest() -> None:
    assert "max_worker_usd" not in Mandate().model_dump(mode="json")
    assert Mandate(max_worker_usd=5.0).model_dump(mode="json")["max_worker_usd"] == 5.0


def test_only_what_neither_changes_nor_drafts_reads() -> None:
    assert contract("check", changes=False).reads
    assert not contract("check", changes=False, drafts=True).reads
    assert not contract("check").reads
