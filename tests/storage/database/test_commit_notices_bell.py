"""Who listens to SQLite in the process that commits is woken by the commit, and by nothing else."""

import threading
from contextlib import closing

import pytest

from storage.database import commit_notices
from storage.database.commit_notices import CommitListener
from storage.database.narrow import open_to_watch

FOR_EVER = 1e6


@pytest.fixture(autouse=True)
def no_other_look(monkeypatch):
    """Whoever is not woken is not found waiting by its next look."""
    monkeypatch.setattr(commit_notices, "POLL", FOR_EVER)


def test_a_commit_wakes_every_listener_of_its_process(on_disk):
    woken, ready = [], threading.Barrier(3)

    def listen() -> None:
        with closing(CommitListener(on_disk.engine)) as commits:
            commits.wait(FOR_EVER)  # the first look finds what was there before
            ready.wait()
            commits.wait(FOR_EVER)
            woken.append(1)

    threads = [threading.Thread(target=listen) for _ in range(2)]
    for thread in threads:
        thread.start()
    ready.wait()
    on_disk.say("x", channel="C1", text="no")
    for thread in threads:
        thread.join()

    assert woken == [1, 1]


def test_what_only_reads_or_is_rolled_back_rings_no_bell(on_disk):
    bell = on_disk.engine.get_execution_options()["bell"]
    before = bell.rung
    on_disk.unsent()
    with pytest.raises(ZeroDivisionError), on_disk.write():
        raise ZeroDivisionError
    silent = bell.rung
    on_disk.say("x", channel="C1", text="no")

    assert (silent, bell.rung) == (before, before + 1)


def test_who_listens_for_others_looks_seldom_while_its_own_process_has_work(on_disk, monkeypatch):
    bell, slept = on_disk.engine.get_execution_options()["bell"], []
    monkeypatch.setattr(commit_notices, "POLL", 0.03)
    monkeypatch.setattr(commit_notices.time, "sleep", slept.append)
    monkeypatch.setattr(commit_notices.time, "monotonic", lambda: bell.rang_at + 0.02)
    bell.pause()
    monkeypatch.setattr(commit_notices.time, "monotonic", lambda: bell.rang_at + 0.04)
    bell.pause()

    assert slept == [0.03, commit_notices.ALONE]


def test_who_only_reads_finds_commits_by_looking(on_disk, monkeypatch):
    monkeypatch.setattr(commit_notices, "POLL", 0.0)
    reader = open_to_watch(on_disk.engine.url.render_as_string())
    with closing(CommitListener(reader)) as commits:
        commits.wait(FOR_EVER)
        on_disk.say("x", channel="C1", text="no")
        commits.wait(FOR_EVER)
    reader.dispose()

    assert "bell" not in reader.get_execution_options()
