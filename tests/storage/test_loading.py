"""What a process imports is not looked through for garbage."""

import gc
from collections.abc import Iterator

import pytest

from storage.loading import loading


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


def test_nobody_looks_for_garbage_while_it_is_imported_nor_among_it_afterwards():
    with loading():
        meanwhile, imported = gc.isenabled(), [{"a": 1}]

    assert (meanwhile, gc.isenabled()) == (False, True)
    assert gc.get_freeze_count() > 0
    assert not any(one is imported for one in gc.get_objects())


def test_what_cannot_be_imported_leaves_it_as_it_was():
    with pytest.raises(ImportError), loading():
        raise ImportError

    assert gc.isenabled()


def test_whoever_wants_no_look_at_all_gets_none():
    gc.disable()
    with loading():
        pass

    assert not gc.isenabled()
