"""The second factor: codes and their secrets, what a wrong one costs, and signatures instead."""

import logging
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from bot.cards.blocks import pack
from bot.cli import factors
from bot.cli.sources import open_store
from bot.config import BotSettings
from bot.context import Bot
from bot.inbox.clicks import on_click
from bot.inbox.dispatch import handle_all
from bot.inbox.forms import on_filled, on_form
from bot.plans.permits import stricter
from bot.policy import ssh_signature as signature
from bot.policy.totp import DIGITS, PERIOD, Safe, address, counter_of, new_key, new_secret
from bot.process import open_safe
from storage.config import People as ConfigPeople
from storage.config import Signing, SignoffConfig
from storage.contract.demands import Demands
from storage.errors import BadConfig, Conflict, NotAllowed, SignoffError
from storage.reading.plan_view import PlanView
from storage.safeguards.second_factors import LIMIT, Proof
from tests.proof.parts.leaks import Members
from tests.support.fakes import NOW, TEAM, FakeClock, propose, strangers, tamper, terms, together
from tests.support.store import Store

SECRET = b"12345678901234567890"
KEY = new_key()
SAFE = Safe(KEY)
CONFIG = SignoffConfig(people=ConfigPeople(approvers=("BOB", "CAROL")))

pytestmark = pytest.mark.authorize


def code(secret: bytes = SECRET, at: datetime = NOW) -> str:
    app = TOTP(secret, DIGITS, SHA1(), PERIOD)  # noqa: S303 # what authenticator apps use
    return app.generate(int(at.timestamp())).decode()


def enrol(store: Store, user: str = "BOB", secret: bytes = SECRET) -> None:
    store.enrol(user, SAFE.seal(user, secret), 1, actor="terminal:root")


def guarded(store: Store) -> PlanView:
    """A proposal that needs a second factor."""
    return store.view(propose(store, demands=Demands(second_factor=True)))


def make_bot(store: Store, opened: list[dict[str, Any]] | None = None, safe: Safe | None = SAFE) -> Bot:
    forms = [] if opened is None else opened
    return Bot(store, CONFIG, Members(), lambda trigger, view: forms.append(view), safe=safe)


def click(bot: Bot, view: PlanView, user: str = "BOB") -> str:
    value = pack(view.id, view.revision, view.digest)
    body = {"user": user, "action": "approve", "value": value, "channel": "C1", "trigger": "t"}
    return on_click(bot, body)


def filled(form: dict[str, Any], **values: str) -> dict[str, Any]:
    state = {name: {"value": {"value": given}} for name, given in values.items()}
    return form | {"id": "V1", "state": {"values": state}}


def submit(store: Store, view: PlanView, said: str, user: str = "BOB", **more: Any) -> dict[str, str]:
    opened: list[dict[str, Any]] = []
    bot = make_bot(store, opened)
    click(bot, view, user)
    return on_form(bot, user, filled(opened[-1], code=said))


# codes


@pytest.mark.parametrize(
    ("at", "said"),
    [(59, "287082"), (1111111109, "081804"), (1111111111, "050471"), (1234567890, "005924"),
     (2000000000, "279037"), (20000000000, "353130")],
)  # fmt: skip
def test_codes_are_those_of_rfc_6238(at, said):
    assert counter_of(SECRET, said, datetime.fromtimestamp(at, UTC)) == at // 30


def test_a_code_lives_for_a_period_on_either_side_and_no_longer():
    moment = int(NOW.timestamp())
    fits = {drift for drift in range(-4, 5) if counter_of(SECRET, code(at=_at(moment + drift * 30)), NOW)}

    assert fits == {-1, 0, 1}
    assert counter_of(SECRET, f" {code()[:3]} {code()[3:]} ", NOW)
    assert [counter_of(SECRET, said, NOW) for said in ("", "000000", "abcdef", "١٢٣٤٥٦", code()[:5])] == [
        0
    ] * 5


def _at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def test_a_seal_opens_with_its_key_for_its_owner_alone():
    sealed = SAFE.seal("BOB", SECRET)

    assert SAFE.opened("BOB", sealed) == SECRET
    for safe, user, given in (
        (Safe(new_key()), "BOB", sealed),
        (SAFE, "CAROL", sealed),
        (SAFE, "BOB", sealed[:-3]),
        (SAFE, "BOB", ""),
    ):
        with pytest.raises(BadConfig, match="was not sealed"):
            safe.opened(user, given)


@pytest.mark.parametrize("key", ["", "  ", "not-a-key", "AAAA"])
def test_a_missing_or_broken_key_is_said_kindly(key):
    with pytest.raises(BadConfig, match="`signoff factor key` makes one"):
        Safe(key)


# approving with a code


def test_approve_asks_for_a_code_and_the_right_one_approves(lite):
    enrol(lite)
    view, opened = guarded(lite), []

    assert click(make_bot(lite, opened), view) == ""
    assert lite.view(view.id).approved_by == ()
    assert on_form(make_bot(lite), "BOB", filled(opened[0], code=code())) == {}

    after = lite.view(view.id)
    assert (after.state, after.approved_by) == ("approved", ("BOB",))
    event = next(event for event in lite.events(view.id) if event.verb == "approve")
    assert (event.data["factor"], event.data["via"]) == ("code", "form")


def test_without_a_factor_a_key_or_a_code_nobody_approves_and_each_is_told_what_to_do(lite):
    view = guarded(lite)
    with pytest.raises(NotAllowed, match="signoff factor enrol BOB"):
        click(make_bot(lite), view)
    enrol(lite)
    with pytest.raises(NotAllowed, match="SIGNOFF_FACTOR_KEY"):
        click(make_bot(lite, safe=None), view)
    with pytest.raises(Conflict, match="second factor"):
        lite.approve(view.id, 1, view.digest, team=TEAM, user="BOB", policy="p1")

    assert "six digits" in submit(lite, view, " ")["code"]
    assert lite.view(view.id).approved_by == ()


def test_five_wrong_codes_lock_it_each_on_record_and_an_operator_unlocks_it(lite):
    enrol(lite)
    view = guarded(lite)
    said = [submit(lite, view, "000000")["code"] for _ in range(LIMIT)]
    with pytest.raises(NotAllowed, match="locked"):
        click(make_bot(lite), view)

    assert [line.partition("left: ")[2][:1] for line in said[:-1]] == ["4", "3", "2", "1"]
    assert "signoff factor unlock BOB" in said[-1]
    refusals = [event for event in lite.events(view.id) if event.verb == "refuse"]
    assert [event.data["failures"] for event in refusals] == [1, 2, 3, 4, 5]
    assert {(event.actor, event.data["via"]) for event in refusals} == {("BOB", "form")}
    lite.unlock("BOB", actor="terminal:root")
    assert submit(lite, view, code()) == {}


def test_a_lock_holds_against_the_right_code_in_a_form_that_was_open_before(lite):
    enrol(lite)
    view, opened = guarded(lite), []
    click(make_bot(lite, opened), view)
    for _ in range(LIMIT):
        lite.mistake(view.id, "approve", user="BOB")

    assert "locked" in on_form(make_bot(lite), "BOB", filled(opened[0], code=code()))["code"]
    assert lite.view(view.id).approved_by == ()


def test_a_code_counts_once_and_none_before_it(lite, clock):
    enrol(lite)
    first, second, third = guarded(lite), guarded(lite), guarded(lite)
    older = code()
    clock.advance(30)

    assert submit(lite, first, code(at=clock())) == {}
    assert "used already" in submit(lite, second, code(at=clock()))["code"]
    assert "used already" in submit(lite, second, older)["code"]
    assert lite.events(second.id)[-1].verb == "refuse"
    clock.advance(30)
    assert submit(lite, third, code(at=clock())) == {}


def test_of_two_bots_with_the_same_code_one_approves(store):
    enrol(store)
    plans, counter = [guarded(store) for _ in range(6)], counter_of(SECRET, code(), NOW)

    def give(other: Store, view: PlanView) -> Callable[[], bool]:
        proof = Proof("code", counter)
        return lambda: other.approve(view.id, 1, view.digest, team=TEAM, user="BOB", policy="p1", proof=proof)

    results = together([give(other, view) for other, view in zip(strangers(store, 6), plans, strict=True)])

    assert results.count(True) == 1
    assert sum("used already" in str(result) for result in results) == 5


def test_of_guesses_at_the_same_moment_only_the_first_can_be_right(lite):
    enrol(lite)
    view = guarded(lite)
    seen = lite.factor("BOB").failures
    lite.mistake(view.id, "approve", user="BOB")

    with pytest.raises(Conflict):
        lite.approve(
            view.id, 1, view.digest, team=TEAM, user="BOB", policy="p1",
            proof=Proof("code", counter_of(SECRET, code(), NOW), seen),
        )  # fmt: skip


def test_a_code_is_not_used_up_by_an_approval_that_did_not_happen(lite):
    enrol(lite)
    view, other = guarded(lite), guarded(lite)
    old: list[dict[str, Any]] = []
    click(make_bot(lite, old), view)
    lite.reject(view.id, 1, user="CAROL", reason="no")

    assert "already rejected" in on_form(make_bot(lite), "BOB", filled(old[0], code=code()))["code"]
    assert submit(lite, other, code()) == {}


def test_an_old_form_with_a_right_code_decides_nothing(lite):
    enrol(lite)
    view, opened = guarded(lite), []
    click(make_bot(lite, opened), view)
    form = filled(opened[0], code=code())
    tampered = form | {"private_metadata": form["private_metadata"].replace(view.digest[:16], "0" * 16)}

    assert "not the one" in on_form(make_bot(lite), "BOB", tampered)["code"]
    assert "may not approve" in on_form(make_bot(lite), "EVE", form)["code"]
    assert lite.view(view.id).approved_by == ()


def test_the_home_tabs_review_asks_for_the_code_and_keeps_it_nowhere(lite):
    from bot.cards.decision_form import decision_form

    enrol(lite)
    view = guarded(lite)
    form = decision_form(view, "D1", NOW)
    bot = make_bot(lite)
    chosen = {"choice": {"value": {"selected_option": {"value": "approve"}}}}
    empty = filled(form, code="", text="")
    empty["state"]["values"] |= chosen
    right = filled(form, code=code(), text="")
    right["state"]["values"] |= chosen

    assert "code" in {block.get("block_id") for block in form["blocks"]}
    assert "six digits" in on_form(bot, "BOB", empty)["code"]
    assert on_form(bot, "BOB", right) == {}
    assert lite.unhandled() == []
    assert lite.view(view.id).approved_by == ("BOB",)


def test_a_review_without_its_code_that_was_delivered_all_the_same_is_refused(lite):
    enrol(lite)
    view = guarded(lite)
    meta = {"p": view.id, "r": 1, "d": view.digest[:16], "c": "D1"}
    body = {"user": "BOB", "form": "review", "choice": "approve", "text": "", "meta": meta}
    with pytest.raises(Conflict, match="second factor"):
        on_filled(make_bot(lite), body)


def test_a_code_and_a_secret_stand_nowhere(lite, caplog):
    caplog.set_level(logging.DEBUG)
    secret = new_secret()
    enrol(lite, secret=secret)
    view = guarded(lite)
    wrong, right = "135790", code(secret)
    submit(lite, view, wrong)
    submit(lite, view, right)
    handle_all(make_bot(lite))
    with lite.engine.connect() as connection:
        dump = "\n".join(connection.connection.driver_connection.iterdump())

    known = (wrong, right, secret.hex(), address("BOB", secret).partition("secret=")[2].partition("&")[0])
    assert lite.view(view.id).approved_by == ("BOB",)
    assert [found for found in known if found in dump or found in caplog.text] == []


def test_an_approval_that_somebody_wrote_into_the_database_without_a_factor_gets_no_permit(lite):
    enrol(lite)
    view = guarded(lite)
    submit(lite, view, code())
    asked = terms(demands=Demands(second_factor=True))
    assert stricter(asked, lite.view(view.id), 1) == ""
    tamper(lite, "UPDATE approval SET factor = ''")

    assert "second factor" in stricter(asked, lite.view(view.id), 1)


@pytest.mark.parametrize(
    ("key", "signers", "starts"),
    [("", None, False), (KEY, None, True), ("", "f", True)],
    ids=["neither", "a key", "signatures"],
)
def test_a_bot_whose_rules_ask_for_a_factor_that_nobody_could_show_does_not_start(key, signers, starts):
    rule = {"name": "n", "reason": "r", "require": {"second_factor": True}}
    raw = {"policy": {"rules": [rule]}, "signing": {"allowed_signers": signers} if signers else {}}
    config, settings = SignoffConfig.model_validate(raw), BotSettings(factor_key=key)
    if starts:
        assert (open_safe(settings, config) is None) == (not key)
    else:
        with pytest.raises(BadConfig, match="SIGNOFF_FACTOR_KEY"):
            open_safe(settings, config)


# the terminal


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
        import base64

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


# signatures


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bob's key, which is allowed for us; Mallory's, which is not; Carol's, allowed for another purpose."""
    home = tmp_path_factory.mktemp("keys")
    for name in ("bob", "mallory", "carol"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(home / name)], check=True
        )
    bob, carol = (home.joinpath(f"{name}.pub").read_text().strip() for name in ("bob", "carol"))
    lines = f'bob@example namespaces="signoff" {bob}\ncarol@example namespaces="git" {carol}\n'
    (home / "allowed").write_text(lines)
    return home


def sign(keys: Path, said: str, name: str = "bob", namespace: str = "signoff") -> Path:
    argv = ["ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", str(keys / name)]
    done = subprocess.run(argv, input=said.encode(), capture_output=True, check=True)
    path = keys / "the.sig"
    path.write_bytes(done.stdout)
    return path


def signing(keys: Path, **people: str) -> Signing:
    return Signing(
        allowed_signers=keys / "allowed", people=people or {"bob@example": "BOB", "carol@example": "CAROL"}
    )


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
