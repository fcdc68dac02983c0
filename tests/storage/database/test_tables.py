"""What the columns promise, on both databases; and documents that are packed read as they were written."""

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.database.packed import armoured, pack, plain, unpack
from tests.support.fakes import approved, later, step, step_row

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner), max_leaves=9
)
DOCUMENTS = st.dictionaries(st.text(), VALUES)


def test_instants_come_back_as_they_went_in(store, clock):
    clock.advance(0.123456)
    plan_id = approved(store, step("s1", schedule={"not_before": later(hours=8)}))
    row = step_row(store, plan_id, "s1")

    assert store.view(plan_id).created_at == clock.now
    assert row.not_before == later(hours=8)
    assert row.not_before.utcoffset() == timedelta(0)


@given(DOCUMENTS, st.booleans())
def test_a_document_comes_back_letter_by_letter(document, ascii_only):
    text = json.dumps(document, ensure_ascii=ascii_only)
    packed = pack(text)

    assert packed is None or len(packed) < len(text)
    assert packed is None or unpack(packed) == plain(packed) == plain(json.dumps(armoured(packed))) == text


@given(st.text())
def test_what_was_written_as_text_is_read_as_it_lies(text):
    assert plain("{" + text) == "{" + text


def test_half_a_character_survives():
    text = "\ud800" + "step " * 20

    assert unpack(pack(text) or b"") == text


@pytest.mark.parametrize(
    "packed", [b"", b"\x02abc", b"\x01", b"\x01\xff\xff", (pack("step " * 50) or b"")[:-3]]
)
def test_what_is_no_document_is_refused(packed):
    with pytest.raises(ValueError, match="it was"):
        unpack(packed)


@pytest.mark.parametrize("raw", ['"', '""', '"hello"', '"AQID"', '"!!!!"'])
def test_a_text_in_the_place_of_a_document_is_refused(raw):
    with pytest.raises(ValueError, match="it is no document"):
        plain(raw)
