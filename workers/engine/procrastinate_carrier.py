"""Procrastinate as the carrier: its queue brings a due step to one process. Its event loop stays in here."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from queue import SimpleQueue
from threading import Thread

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Status
from sqlalchemy import Engine

from storage.errors import Unavailable
from storage.steps.claims import Ending
from workers.engine.attempt import Attempts, Running
from workers.engine.turn import Crew

LAPSE = 3.0  # seconds after which an offer that nobody took is made again
LOOK = 200  # due steps on offer at once
DEAD = 30.0  # seconds without a heartbeat, after which a process's jobs are swept away
SCHEMA = 7365677  # the advisory lock under which Procrastinate's tables are made
logger = logging.getLogger(__name__)


class ProcrastinateCarrier:
    """Offers due steps on the queue of their capability; takes what it is brought, if the rows agree."""

    def __init__(self, attempts: Attempts, crew: Crew) -> None:
        self.attempts, self.crew = attempts, crew
        self._app = App(connector=PsycopgConnector(conninfo=address(attempts.store.engine)))
        self._task = self._app.task(name="run_step")(self._bring)
        self._offered: dict[int, float] = {}
        self._arrived: SimpleQueue[tuple[int, asyncio.Event]] = SimpleQueue()
        self._held: dict[int, asyncio.Event] = {}  # the jobs of steps that run here
        self._jobs: set[asyncio.Event] = set()  # all of them; touched in the loop only
        self._stopping = False
        self._ready: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = Thread(target=self._live, name="carrier", daemon=True)

    def start(self, wake: Callable[[], None]) -> None:
        logging.getLogger("procrastinate").setLevel(logging.WARNING)
        make_tables(address(self.attempts.store.engine), self._app.schema_manager.get_schema())
        self._wake = wake
        self._thread.start()
        self._loop = self._ready.result()

    def take(self, endings: Sequence[Ending]) -> list[Running]:
        self.attempts.store.turn(endings, self.attempts.taker, 0)
        if not self._thread.is_alive():
            raise RuntimeError("the carrier's thread has ended")
        self._let_go([step_id for step_id in self._held if not self.crew.holds(step_id)])
        self._offer()
        return [found for step_id, done in self._brought() for found in self._claim(step_id, done)]

    def stop(self) -> None:
        """Jobs end here while their steps may still run: no row of ours depends on them."""
        self._stopping = True
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end)
            self._thread.join(timeout=10)

    def _brought(self) -> list[tuple[int, asyncio.Event]]:
        return [self._arrived.get() for _ in range(self._arrived.qsize())]

    def _claim(self, step_id: int, done: asyncio.Event) -> list[Running]:
        """The rows decide: a second or late delivery finds nothing. What is still due is offered again."""
        try:
            # A probe may have taken the last place.
            able = [t for kind, t in self.crew.takers(self.attempts.taker) if self.crew.free(kind) > 0]
            found = next(filter(None, (self.attempts.store.claim(step_id, taker) for taker in able)), None)
        except Unavailable as error:
            logger.warning("step %s cannot be claimed now: %s", step_id, error)
            found = None
        if found is None:
            self._loop.call_soon_threadsafe(done.set)
            return []
        self._held[step_id] = done
        return self.crew.add([Running(found)])

    def _let_go(self, step_ids: Iterable[int]) -> None:
        for step_id in step_ids:
            self._loop.call_soon_threadsafe(self._held.pop(step_id).set)

    def _offer(self) -> None:
        """Due steps, each once; again when an offer has lapsed."""
        try:
            now, due = time.monotonic(), self.attempts.store.due(self.attempts.taker, LOOK)
            self._offered = {step_id: at for step_id, at in self._offered.items() if step_id in due}
            fresh = {step_id for step_id in due if now - self._offered.get(step_id, -LAPSE) >= LAPSE}
            if fresh:
                asyncio.run_coroutine_threadsafe(self._enqueue(self._queues(fresh)), self._loop).result(10)
                self._offered |= dict.fromkeys(fresh, now)
        except (Unavailable, ConnectorException, TimeoutError) as error:
            logger.warning("due steps cannot be offered now, trying again: %s", error)

    def _queues(self, fresh: set[int]) -> list[tuple[str, int]]:
        """Each step with the queue of its capability, which only processes that offer it listen to."""
        taker, found = self.attempts.taker, list[tuple[str, int]]()
        for offer, contract in taker.contracts.items():
            if len(found) < len(fresh):
                alike = self.attempts.store.due(replace(taker, contracts={offer: contract}), LOOK)
                found += [(queue(*offer), step_id) for step_id in alike if step_id in fresh]
        return found

    async def _enqueue(self, steps: list[tuple[str, int]]) -> None:
        for name, step_id in steps:
            with suppress(AlreadyEnqueued):
                offer = self._task.configure(queue=name, queueing_lock=f"step:{step_id}")
                await offer.defer_async(step_id=step_id)

    def _live(self) -> None:
        try:
            asyncio.run(self._carry())
        finally:
            if not self._ready.done():
                self._ready.set_exception(Unavailable("Procrastinate cannot open the database."))

    async def _carry(self) -> None:
        async with self._app.open_async():
            self._work, sweeping = asyncio.ensure_future(self._serve()), asyncio.ensure_future(self._sweep())
            self._ready.set_result(asyncio.get_running_loop())
            with suppress(asyncio.CancelledError):
                await self._work
            sweeping.cancel()

    async def _serve(self) -> None:
        queues = [queue(*offer) for offer in self.attempts.taker.contracts]
        while not self._stopping:
            try:
                await self._app.run_worker_async(
                    queues=queues, name=self.attempts.owner, concurrency=self.crew.total,
                    install_signal_handlers=False, delete_jobs="always", shutdown_graceful_timeout=1.0,
                )  # fmt: skip
            except ConnectorException as error:
                logger.warning("nothing can be brought now, trying again: %s", error)
                await asyncio.sleep(1)

    async def _sweep(self) -> None:
        """Jobs of processes that are gone. Their steps are found by their leases, as with any carrier."""
        while True:
            with suppress(ConnectorException):
                jobs = self._app.job_manager
                for job in await jobs.get_stalled_jobs(seconds_since_heartbeat=DEAD):
                    await jobs.finish_job_by_id_async(job.id or 0, Status.FAILED, delete_job=True)
            await asyncio.sleep(DEAD)

    async def _bring(self, step_id: int) -> None:
        """A job lasts as long as its step here, so that no more are fetched than there is room for."""
        done = asyncio.Event()
        if not self._stopping:
            self._jobs.add(done)
            self._arrived.put((step_id, done))
            self._wake()
            try:
                await done.wait()
            finally:
                self._jobs.discard(done)

    def _end(self) -> None:
        for done in self._jobs:
            done.set()
        self._work.cancel()


def queue(worker: str, action: str) -> str:
    return f"{worker}.{action}"


def address(engine: Engine) -> str:
    return engine.url.set(drivername="postgresql").render_as_string(hide_password=False)


def make_tables(url: str, schema: str) -> None:
    """Procrastinate's own, once; two processes may start together."""
    with psycopg.connect(url) as connection:
        connection.execute(f"SELECT pg_advisory_xact_lock({SCHEMA})")
        if connection.execute("SELECT to_regclass('procrastinate_jobs')").fetchone() == (None,):
            connection.execute(schema)
