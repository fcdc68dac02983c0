"""Every key of signoff.toml stands on its page, and nothing else does."""

from tests.support.pages.configuration import PAGE, PLAIN, keys, page, words
from tests.support.places import ROOT


def said() -> set[str]:
    return {
        ".".join(filter(None, ("" if table == "top" else table, name)))
        for table, rows in words().items()
        for name in rows
        if name != "about"
    }


def plain(path: str) -> bool:
    return path.split(".")[1:2] != [] and path.split(".")[0] == "inventory" and path.split(".")[1] in PLAIN


def test_every_key_has_its_words_and_no_words_are_left_over() -> None:
    assert all(text for rows in words().values() for text in rows.values())
    assert {path for path in said() if not plain(path)} == keys().keys()


def test_keys_that_no_model_reads_are_asked_for_by_name() -> None:
    for path in filter(plain, said()):
        _, table, _, name = path.split(".")
        code = "".join(file.read_text() for place in PLAIN[table] for file in (ROOT / place).glob("*.py"))

        assert f'"{name}"' in code or name == "environment", path


def test_the_page_is_the_one_that_is_made_of_them() -> None:
    written = PAGE.read_text(encoding="utf-8")

    assert written == page(), "run: .venv/bin/python -m tests.support.pages.configuration"
