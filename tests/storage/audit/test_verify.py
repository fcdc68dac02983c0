"""The journal leaves the database, and whatever was done to it is seen: without us, against a checkpoint."""

import json
import os
import subprocess
import sys
from functools import partial
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from storage.__main__ import main, verify
from storage.audit.export import checkpoint, journal, ocsf
from storage.audit.retention import prune
from storage.audit.verify import read_checkpoint, root
from storage.config import login
from storage.database.engine import open_engine
from storage.errors import Conflict
from storage.journal.chain import canonical
from tests.proof.audit import unnoticed
from tests.support.fakes import (
    NOW,
    FakeClock,
    ask,
    propose,
    tamper,
    together,
)
from tests.support.places import ROOT
from tests.support.samples.journal import EDITS, busy, finished, judged
from tests.support.store import Store

ODD = {"a time that is none": "UPDATE event SET at = 'noon' WHERE seq = 2",
       "data that is no JSON": "UPDATE event SET data = '{' WHERE seq = 2",
       "data that is no object": "UPDATE event SET data = '[1]' WHERE seq = 2",
       "a number for a word": "UPDATE event SET actor = x'00ff' WHERE seq = 2"}  # fmt: skip


def test_an_untouched_journal_holds_and_what_is_newer_than_the_checkpoint_is_counted(store, tmp_path):
    busy(store)
    made = checkpoint(store.engine, tmp_path / "anchor", NOW)
    ask(store)
    verdict = judged(store, tmp_path / "anchor")

    assert verdict.problems == []
    assert verdict.newer == 1
    assert verdict.events == made.events + 1
    assert len(made.heads) == 4


@pytest.mark.hostile
@pytest.mark.parametrize("statement", EDITS.values(), ids=EDITS)
def test_what_somebody_did_to_the_database_is_seen(store, tmp_path, statement):
    busy(store)
    checkpoint(store.engine, tmp_path / "anchor", NOW)
    tamper(store, statement)

    assert judged(store, tmp_path / "anchor").problems


@pytest.mark.hostile
@pytest.mark.parametrize("statement", ODD.values(), ids=ODD)
def test_rows_that_cannot_be_read_are_seen_and_do_not_hide_the_others(lite, tmp_path, statement):
    busy(lite)
    made = checkpoint(lite.engine, tmp_path / "anchor", NOW)
    tamper(lite, statement)
    verdict = judged(lite, tmp_path / "anchor")

    assert verdict.problems
    assert verdict.events >= made.events - 3  # there are three second events


@pytest.mark.hostile
def test_no_tampering_with_a_long_journal_goes_unnoticed():
    assert unnoticed(260, chains=12, seed=5) == []


def test_a_checkpoint_that_a_crash_left_half_written_is_none_and_stops_nothing(lite, tmp_path):
    anchored = tmp_path / "anchor"
    busy(lite)
    first = checkpoint(lite.engine, anchored, NOW)
    whole = anchored.read_text()
    ask(lite)
    anchored.write_text(whole + whole[: len(whole) // 2])

    assert read_checkpoint(anchored.read_text().splitlines(keepends=True)) == first
    second = checkpoint(lite.engine, anchored, NOW)
    assert second.events == first.events + 1
    assert anchored.read_text().startswith(whole + '{"at"')
    assert judged(lite, anchored).problems == []
    anchored.write_text(whole[:99] + "\n" + whole)
    with pytest.raises(Conflict, match="find out who changed it"):
        checkpoint(lite.engine, anchored, NOW)


def test_a_checkpoint_file_only_grows_and_names_only_what_moved(store, tmp_path):
    anchored = tmp_path / "deep" / "anchor"
    busy(store)
    first = checkpoint(store.engine, anchored, NOW)
    again = checkpoint(store.engine, anchored, NOW)
    before = anchored.read_text()
    plan_id = ask(store)
    second = checkpoint(store.engine, anchored, NOW)
    lines = anchored.read_text().splitlines()

    assert again == first
    assert anchored.read_text().startswith(before)
    assert [[head[0] for head in json.loads(line)["heads"]] for line in lines[1:]] == [[plan_id]]
    assert read_checkpoint(lines) == second
    assert read_checkpoint(lines, first.root) == first
    assert first.root in str(first)


@pytest.mark.hostile
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE event SET actor = 'MALLORY' WHERE seq = (SELECT max(seq) FROM event)",
        "UPDATE plan SET events = 1",
        "UPDATE plan SET head = 'forged'",
        "DELETE FROM event WHERE seq = (SELECT max(seq) FROM event)",
    ],
)
def test_a_history_that_does_not_follow_from_the_last_checkpoint_is_not_anchored(store, tmp_path, statement):
    plan_id = propose(store)
    checkpoint(store.engine, tmp_path / "anchor", NOW)
    before = (tmp_path / "anchor").read_text()
    store.reject(plan_id, 1, user="BOB", reason="no")
    tamper(store, statement)

    with pytest.raises(Conflict, match="does not follow"):
        checkpoint(store.engine, tmp_path / "anchor", NOW)
    assert (tmp_path / "anchor").read_text() == before


@pytest.mark.hostile
def test_a_changed_checkpoint_file_is_refused(lite, tmp_path):
    busy(lite)
    checkpoint(lite.engine, tmp_path / "anchor", NOW)
    text = (tmp_path / "anchor").read_text()
    (tmp_path / "anchor").write_text(text.replace('"heads":[[0,1', '"heads":[[0,2'))

    with pytest.raises(Conflict, match="changed"):
        checkpoint(lite.engine, tmp_path / "anchor", NOW)


def test_several_bots_anchor_in_one_file(store, tmp_path):
    def anchor_once(number: int) -> None:
        ask(store)
        checkpoint(store.engine, tmp_path / "anchor", NOW)

    together([partial(anchor_once, number) for number in range(6)])
    last = checkpoint(store.engine, tmp_path / "anchor", NOW)

    assert last.events == 6
    assert judged(store, tmp_path / "anchor").problems == []


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 9])
def test_the_root_covers_every_head(count):
    heads = {plan: (3, f"{plan:064x}") for plan in range(count)}
    changed = [root(heads | {plan: (4, heads[plan][1])}) for plan in heads]

    assert len({root(heads), *changed}) == count + 1
    assert root(dict(reversed(heads.items()))) == root(heads)


def test_the_verifier_is_one_file_that_needs_nothing_but_python(lite, tmp_path):
    busy(lite)
    made = checkpoint(lite.engine, tmp_path / "anchor", NOW)
    (tmp_path / "export").write_bytes(b"".join(journal(lite.engine)))
    (tmp_path / "cut").write_bytes(b"".join([*journal(lite.engine)][:-1]))
    alone = tmp_path / "verify.py"
    alone.write_bytes((ROOT / "storage" / "audit" / "verify.py").read_bytes())

    def verify(export: str, *more: str) -> subprocess.CompletedProcess[str]:
        given = [
            sys.executable,
            "-I",
            "-S",
            alone,
            tmp_path / export,
            "--checkpoint",
            tmp_path / "anchor",
            *more,
        ]
        return subprocess.run(given, capture_output=True, text=True, check=False)

    good, cut = verify("export", "--root", made.root), verify("cut")

    assert (good.returncode, cut.returncode) == (0, 1)
    assert "every link holds" in good.stdout
    assert "ends with event" in cut.stdout
    assert "no such checkpoint" in verify("export", "--root", "00").stderr
    assert verify("nowhere").returncode == 1


def test_old_events_are_forgotten_and_the_chains_still_hold(store, clock, tmp_path):
    anchored, export = tmp_path / "anchor", tmp_path / "export"
    old = finished(store)
    waiting = propose(store)
    clock.advance(days=500)
    young = finished(store)
    checkpoint(store.engine, anchored, clock())
    export.write_bytes(b"".join(journal(store.engine)))
    length = len(store.events(old))
    gone = prune(store, before=NOW.replace(year=2027), export=export, anchored=anchored, actor="ops")
    early = judged(store, anchored)
    checkpoint(store.engine, anchored, clock())

    assert gone == length
    assert store.events(old) == []
    assert store.events(waiting)
    assert store.events(young)
    assert [event.verb for event in store.events(0)] == ["prune"]
    assert "no checkpoint has seen it" in early.problems[0]
    assert judged(store, anchored).problems == []
    assert judged(store, anchored).pruned == length
    assert [verify(store.engine, plan) for plan in (young, waiting)] == [0, 0]
    tamper(store, "UPDATE event SET actor = 'MALLORY' WHERE plan_id = 0")
    assert judged(store, anchored).problems


def test_nothing_is_forgotten_that_a_good_export_does_not_hold(lite, clock, tmp_path):
    anchored, export = tmp_path / "anchor", tmp_path / "export"
    plan_id = finished(lite)
    given = {"export": export, "anchored": anchored, "actor": "ops"}
    with pytest.raises(Conflict, match="no checkpoint"):
        prune(lite, NOW.replace(year=2030), **given)
    checkpoint(lite.engine, anchored, NOW)
    export.write_bytes(b"".join([*journal(lite.engine)][:-1]))

    with pytest.raises(Conflict, match="no good copy"):
        prune(lite, NOW.replace(year=2030), **given)
    assert lite.events(plan_id)


def test_every_event_becomes_one_record_for_a_siem(lite):
    busy(lite)
    lite.refuse(0, "approve", user="MALLORY", reason="not an approver")
    records = [json.loads(record) for record in ocsf(journal(lite.engine))]
    refused = next(record for record in records if record["api"]["operation"] == "refuse")

    assert len(records) == len([*journal(lite.engine)])
    assert {record["type_uid"] for record in records} <= {600301, 600302, 600303, 600304}
    assert (refused["class_uid"], refused["category_uid"], refused["status_id"]) == (6003, 6, 2)
    assert refused["actor"] == {"user": {"uid": "MALLORY"}}
    assert refused["time"] == int(NOW.timestamp() * 1000)
    assert refused["unmapped"] == {"verb": "approve", "reason": "not an approver"}


def test_the_commands_export_anchor_and_verify(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("SIGNOFF_STATE", str(tmp_path))
    monkeypatch.delenv("SIGNOFF_DATABASE_URL", raising=False)

    def said(*words: str) -> str:
        assert main([*words]) == 0
        sys.stdout.flush()
        return capfd.readouterr().out

    said("migrate")
    busy(Store(open_engine(f"sqlite:///{tmp_path / 'signoff.db'}"), FakeClock()))
    anchor, export = str(tmp_path / "anchor"), tmp_path / "export"
    posted = said("checkpoint", anchor)
    assert said("checkpoint").split()[3:] == posted.split()[3:]
    export.write_text(said("export"))
    taken = json.loads(export.read_text().splitlines()[1])["event"]
    assert (taken["verb"], taken["actor"], taken["data"]) == ("export", login(), {"format": "jsonl"})

    assert "root" in posted
    assert "every link holds" in said("verify", str(export), "--checkpoint", anchor)
    assert "every link holds" in said("verify", str(export))
    assert "every link holds" in said("verify", "1")
    assert main(["verify", "77"]) == 1
    assert "no plan 77" in capfd.readouterr().err
    assert json.loads(said("export", "--format", "ocsf").splitlines()[0])["class_uid"] == 6003
    assert "0 events" in said("prune", "--export", str(export), "--checkpoint", anchor)


sayable: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.text()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(sayable)
def test_the_fast_encoder_says_exactly_what_rfc_8785_says(value):
    assert canonical(value) == rfc8785.dumps(value)


def test_who_has_no_name_on_this_machine_is_on_record_by_number(monkeypatch):
    def unknown(uid: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)

    assert login() == f"terminal:{os.getuid()}"
