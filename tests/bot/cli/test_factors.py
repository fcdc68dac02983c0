"""Second factors on the terminal: enrolled, unlocked, removed; and an approval by signature."""

import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.cli import factors
from bot.cli.sources import open_store
from bot.config import BotSettings
from bot.policy import ssh_signature as signature
from storage.contract.demands import Demands
from storage.errors import Conflict, NotAllowed, SignoffError
from tests.support.fakes import FakeClock, propose, tamper
from tests.support.samples.second_factor import KEY, code, enrol, make_bot, sign
from tests.support.store import Store

pytestmark = pytest.mark.authorize


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BotSettings:
    monkeypatch.setenv("SIGNOFF_STATE", str(tmp_path))
    monkeypatch.setenv("SIGNOFF_FACTOR_KEY", KEY)
    monkeypatch.setenv("SIGNOFF_CONFIG", str(tmp_path / "signoff.toml"))
    return BotSettings()


def answers(shown: Callable[[], str], *wrong: str) -> Callable[[str], str]:
    """Somebody at the terminal: types these, and then what their app shows."""
    left = [*wrong]

    def ask(question: str) -> str:
        if left:
            return left.pop(0)
        uri = shown()
        return code(base64.b32decode(uri.partition("secret=")[2].partition("&")[0]), datetime.now(UTC))

    return ask


def test_enrolment_shows_the_secret_once_and_wants_a_code(settings, capsys):
    seen: list[str] = []

    def shown() -> str:
        seen.append(capsys.readouterr().out)
        return "".join(seen)

    assert factors.factor(settings, "enrol", "BOB", answers(shown, "000000")) == 0
    store = open_store(settings)
    factors.factor(settings, "list", "")

    assert "otpauth://totp/Signoff:BOB" in seen[0]
    assert "█" in seen[0]
    assert "BOB  enrolled" in capsys.readouterr().out
    assert "otpauth" not in store.factor("BOB").sealed
    events = [(event.verb, event.data) for event in store.events(0)]
    assert events == [("enrol", {"user": "BOB", "via": "terminal"})]
    with pytest.raises(Conflict, match="already"):
        factors.factor(settings, "enrol", "BOB", answers(shown))


def test_nothing_is_kept_of_an_enrolment_without_a_code(settings, capsys):
    with pytest.raises(SignoffError, match="Nothing was kept"):
        factors.factor(settings, "enrol", "BOB", lambda question: "000000")

    assert open_store(settings).factors() == []
    factors.factor(settings, "list", "")
    assert "Nobody is enrolled" in capsys.readouterr().out


def test_unlock_and_remove_are_for_those_who_have_one(settings):
    for act in ("unlock", "remove"):
        with pytest.raises(Conflict, match="has no second factor"):
            factors.factor(settings, act, "EVE")
        with pytest.raises(SignoffError, match="say whose"):
            factors.factor(settings, act, "")
    store = open_store(settings)
    enrol(store)
    tamper(store, "UPDATE factor SET failures = 5")

    factors.factor(settings, "unlock", "BOB")
    assert store.factor("BOB").failures == 0
    factors.factor(settings, "remove", "BOB")
    assert store.factor("BOB") is None
    assert [event.verb for event in store.events(0)] == ["enrol", "unlock", "remove"]


def test_the_terminal_approves_with_a_signature_through_the_same_door(settings, keys, monkeypatch, capsys):
    store = Store(open_store(settings).engine, FakeClock(datetime.now(UTC)))
    view = store.view(
        propose(store, demands=Demands(second_factor=True), expires_at=datetime.max.replace(tzinfo=UTC))
    )
    settings.config.write_text(
        f'[people]\napprovers = ["BOB"]\n[signing]\nallowed_signers = "{keys / "allowed"}"\n'
        '[signing.people]\n"bob@example" = "BOB"\n'
    )
    monkeypatch.setattr(
        factors, "make_bot", lambda store, client, config: (replace(make_bot(store), config=config), None)
    )
    factors.approve(settings, view.id, "", None)
    said = capsys.readouterr().out
    assert view.digest in said
    wanted = sign(keys, signature.text(view.id, 1, view.digest))
    with pytest.raises(Conflict, match="digest"):
        factors.approve(settings, view.id, "0" * 64, wanted)
    tamper(store, "UPDATE revision SET authors = :who", who='["BOB"]')
    with pytest.raises(NotAllowed, match="somebody else must approve"):
        factors.approve(settings, view.id, view.digest, wanted)
    tamper(store, "UPDATE revision SET authors = :who", who='["ANN"]')

    assert factors.approve(settings, view.id, view.digest, wanted) == 0

    after = store.view(view.id)
    assert (after.state, after.approved_by) == ("approved", ("BOB",))
    verbs = [(event.verb, event.data.get("via"), event.data.get("factor")) for event in store.events(view.id)]
    assert ("refuse", "terminal", None) in verbs
    assert ("approve", "terminal", "signature") in verbs
