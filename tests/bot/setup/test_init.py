"""`signoff init` as it is typed: it looks, writes once, shows no secret, and says what comes next."""

import subprocess
from pathlib import Path

import pytest

from tests.support.terminal import typed

SECRET = "postgresql://shop:pa55word@db.example/shop"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_shop.py").write_text("def test_it(): pass\n")
    return tmp_path


def files(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}


def test_a_dry_run_writes_nothing_and_shows_all_without_the_secret(home: Path) -> None:
    before = files(home)

    said = typed(home, "init", "--dry-run", KUBECONFIG="/nowhere", SHOP_URL=SECRET)

    assert said.returncode == 0, said.stderr
    assert files(home) == before
    assert 'url_env = "SHOP_URL"' in said.stdout
    assert "Nothing was written." in said.stdout
    assert "pa55word" not in said.stdout


def test_it_writes_once_and_says_the_one_thing_that_is_missing(home: Path) -> None:
    first = typed(home, "init", "--approver", "U0BOB", KUBECONFIG="/nowhere")
    config = (home / "signoff.toml").read_text()
    (home / "signoff.toml").write_text(config + "# mine\n")
    again = typed(home, "init", KUBECONFIG="/nowhere")

    assert files(home) >= {"signoff.toml", "runbooks/check-up.yml", ".env.example"}
    assert "signoff up --local" in first.stdout
    assert "Slack bot token" in first.stdout.splitlines()[-1]
    assert "Slack app token" not in first.stdout
    assert "kept     signoff.toml" in again.stdout
    assert (home / "signoff.toml").read_text().endswith("# mine\n")


def test_what_is_nobodys_to_commit_is_left_out_by_git(home: Path) -> None:
    subprocess.run(["git", "init", "-q", str(home)], check=True)
    typed(home, "init", KUBECONFIG="/nowhere", SHOP_URL=SECRET)
    for name in (".signoff/signoff.db", "backups/shop.dump"):
        (home / name).write_text("rows")
    asked = subprocess.run(
        ["git", "-C", str(home), "status", "--short"], capture_output=True, text=True, check=True
    )

    assert ".env.example" in asked.stdout
    assert "backups" not in asked.stdout
    assert ".signoff" not in asked.stdout
    assert (home / ".signoff").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("words", "why"), [(["--approver", "bob"], "no Slack id"), (["--context", "x"], "no context 'x'")]
)
def test_what_cannot_be_is_said(home: Path, words: list[str], why: str) -> None:
    said = typed(home, "init", *words, KUBECONFIG="/nowhere")

    assert said.returncode == 1
    assert why in said.stderr
    assert "signoff.toml" not in files(home)
