"""Words that look like others are told from words of other languages."""

import pytest

from bot.look_alikes import doubtful, marked, odd_letters

PROSE = [
    "Größe der Datenbank prüfen, bitte übermorgen",
    "¿Cuántos usuarios? 1º de mayo, María y Mª José",
    "authサービスを再起動してください",
    "データベースauth_prodのバックアップを取る ＡＢＣ社",
    "把auth-service部署到生产环境v2版",
    "데이터베이스 auth를 백업",
    "Перезапусти auth-service с базы и проверь",
    "κάνε επανεκκίνηση του auth",
    "wait 5 µs, 5 μs, 10 kΩ, Δt = 2 s",
    "kafić u Zagrebu, Łódź, İstanbul, ağır, Việt Nam",
    "réplica naïve façade œuvre ﬁn de l’été — “ok” … ½ 2² №5",
    "שלום עולם, deploy מחר",
    "مرحبا deploy ٢٠٢٦",
    "Ҡазан",
    "plain ascii v2.1.4 a-b_c",
    "",
]
TRICKS = [
    ("аuth-service", "аuth"),  # Cyrillic а
    ("deploy раypal", "раypal"),
    ("restart рау now", "рау"),  # all Cyrillic, and nothing else is
    ("рау", "рау"),
    ("Αdmin", "Αdmin"),  # Greek capital alpha
    ("ɡit", "ɡit"),
    ("ѕсоре", "ѕсоре"),
    ("ａdmin", "ａdmin"),  # fullwidth
    ("ｒｏｏｔ", "ｒｏｏｔ"),
    ("𝐫𝐨𝐨𝐭", "𝐫𝐨𝐨𝐭"),
    ("v٢", "v٢"),
    ("ꓢꓔꓳꓑ", "ꓢꓔꓳꓑ"),
    ("ᎪᏢᏢ", "ᎪᏢᏢ"),
    ("prоd и ещё", "prоd"),  # mixed, in a Russian sentence
    ("ⅼogs", "ⅼogs"),
]


@pytest.mark.parametrize("text", PROSE)
def test_ordinary_prose_of_any_language_passes_as_it_is(text):
    assert doubtful(text) == []
    assert marked(text) == text


@pytest.mark.parametrize(("text", "word"), TRICKS)
def test_a_word_that_is_not_what_it_looks_like_is_told(text, word):
    assert doubtful(text) == [word]
    assert marked(text) != text
    assert "‹U+" in marked(text)
    assert [*odd_letters(text)]


def test_the_letters_that_are_odd_are_named():
    assert marked("аuth") == "а‹U+0430›uth"
    assert [*odd_letters("аuth")] == ["“а” is U+0430 cyrillic small letter a"]


@pytest.mark.parametrize(
    "text",
    [
        "auth‐service",
        "auth‑service",
        "auth−b",
        "v2․1․x",
        "etc⁄passwd",
        "a∕b",
        "–rf",
        "—force x",
        "x –rf",
        "--a=–b",
        "––all",
        "－x",
    ],
)
def test_a_sign_that_passes_for_another_is_told(text):
    assert "‹U+" in marked(text)
    assert next(odd_letters(text)).startswith("“")


@pytest.mark.parametrize(
    "text",
    ["from 2–4 am", "well — yes", "done—at last", "−5 °C, 1⁄2", "a - b", "– first\n– second", "Москва‐2"],
)
def test_dashes_of_prose_pass_as_they_are(text):
    assert marked(text) == text
    assert [*odd_letters(text)] == []
