"""A lock is handed on in the order of asking, and every other time to somebody in a hurry."""

import threading
import time
from contextlib import suppress

from storage.database.fair_lock import FairLock


def passing(lock: FairLock, order: list[str], name: str, *, urgent: bool = False) -> threading.Thread:
    """Somebody who waits for the lock, and is known to wait."""

    def hold() -> None:
        with lock.turn(urgent=urgent):
            order.append(name)

    before = len(lock._queues[urgent])
    thread = threading.Thread(target=hold)
    thread.start()
    while len(lock._queues[urgent]) == before:
        time.sleep(0.001)
    return thread


def test_a_lock_is_handed_on_in_the_order_of_asking():
    lock, order = FairLock(), list[str]()
    with lock.turn():
        waiting = [passing(lock, order, name) for name in "abcde"]
    for thread in waiting:
        thread.join()

    assert order == [*"abcde"]


def test_every_other_turn_is_for_the_urgent():
    lock, order = FairLock(), list[str]()
    with lock.turn():
        waiting = [passing(lock, order, name) for name in "abc"]
        waiting += [passing(lock, order, name, urgent=True) for name in "XYZ"]
    for thread in waiting:
        thread.join()

    assert order == [*"XaYbZc"]


def test_an_error_hands_the_lock_on():
    lock, order = FairLock(), list[str]()
    with suppress(ZeroDivisionError), lock.turn():
        waiting = passing(lock, order, "next")
        raise ZeroDivisionError
    waiting.join(timeout=10)
    with lock.turn():
        order.append("last")

    assert order == ["next", "last"]
