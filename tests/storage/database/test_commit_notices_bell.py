"""Who listens to SQLite in the process that commits is woken by the commit, and by nothing else."""

import threading
from contextlib import closing

import pytest

from storage.database import commit_notices
from storage.database.commit_notices import CommitListener

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
