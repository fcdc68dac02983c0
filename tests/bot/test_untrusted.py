"""Foreign words are made inert and short, once and for all."""

from hypothesis import given
from hypothesis import strategies as st

from bot.untrusted import clip, inert, legible


@given(st.text())
def test_inert_text_stays_as_it_is(text):
    assert inert(inert(text)) == inert(text)


@given(st.text(), st.integers(1, 20))
def test_a_clip_is_never_too_long(text, limit):
    assert len(clip(text, limit)) <= limit


def test_people_read_the_code_point_of_a_letter_that_passes_for_another():
    assert legible("deploy аuth") == "deploy а‹U+0430›uth"
    assert legible("Größe prüfen, 再起動") == "Größe prüfen, 再起動"
    assert legible("a\u202eb") == "ab"
    assert legible("auth\u3164\u2800\u034f") == "auth"
