"""APScheduler's SQL store: a job a step, which adds the next one; 16 threads for plans, one for a chain."""

import logging
import sys
import time
from datetime import UTC
from threading import Event, Lock

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler

from tests.bench.peers.hands.answering import AT_ONCE, serve

NEVER_DROP = {"misfire_grace_time": None, "coalesce": True, "max_instances": 1}


class Now:
    """What jobs need, which can take no scheduler as an argument."""

    scheduler: BackgroundScheduler
    left = 0
    lock, done = Lock(), Event()


def nothing(left: int, where: str) -> None:
    if left > 1:
        Now.scheduler.add_job(nothing, args=[left - 1, where], executor=where)
    with Now.lock:
        Now.left -= 1
        if not Now.left:
            Now.done.set()


def run(many: int, steps: int, where: str) -> float:
    """The first step of each plan is there before the clock starts."""
    Now.left, scheduler = many * steps, Now.scheduler
    Now.done.clear()
    scheduler.pause()
    for _ in range(many):
        scheduler.add_job(nothing, args=[steps, where], executor=where)
    began = time.perf_counter()
    scheduler.resume()
    Now.done.wait()
    return time.perf_counter() - began


def main(url: str) -> None:
    logging.disable(logging.CRITICAL)
    Now.scheduler = BackgroundScheduler(
        jobstores={"default": SQLAlchemyJobStore(url.replace("postgresql:", "postgresql+psycopg:"))},
        executors={"one": ThreadPoolExecutor(1), "many": ThreadPoolExecutor(AT_ONCE)},
        job_defaults=NEVER_DROP,
        timezone=UTC,
    )
    Now.scheduler.start()
    serve(lambda count: run(1, count, "one"), lambda many, steps: run(many, steps, "many"))


if __name__ == "__main__":
    main(sys.argv[1])
