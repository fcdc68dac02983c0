"""Approving with a code: the right one once, what a wrong one costs, and that no code is kept."""

import logging
from typing import Any

import pytest

from bot.inbox.forms import on_filled, on_form
from bot.policy.totp import address, new_secret
from storage.errors import Conflict, NotAllowed
from storage.safeguards.second_factors import LIMIT
from tests.support.fakes import NOW, TEAM
from tests.support.room import handle_all
from tests.support.samples.second_factor import click, code, enrol, filled, guarded, make_bot, submit

pytestmark = pytest.mark.authorize


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
