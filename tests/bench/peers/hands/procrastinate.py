"""Procrastinate: a job a step, which defers the next one; one worker, 16 jobs at once. PostgreSQL only."""

import asyncio
import logging
import sys
import time

import procrastinate

from tests.bench.peers.hands.answering import AT_ONCE, serve


class Queue:
    """An app, and how many of its jobs are still to come."""

    def __init__(self, url: str) -> None:
        made = procrastinate.PsycopgConnector(conninfo=url, min_size=4, max_size=20)
        self.app = procrastinate.App(connector=made)
        self.task = self.app.task(name="nothing")(self.nothing)
        self.left, self.done = 0, asyncio.Event()

    async def nothing(self, left: int) -> None:
        if left > 1:
            await self.task.defer_async(left=left - 1)
        self.left -= 1
        if not self.left:
            self.done.set()

    async def run(self, many: int, steps: int, at_once: int) -> float:
        """From the start of the worker: what is there at first was deferred before."""
        async with self.app.open_async():
            await self.task.batch_defer_async(*[{"left": steps}] * many)
            self.left, self.done = many * steps, asyncio.Event()
            began = time.perf_counter()
            work = self.app.run_worker_async(concurrency=at_once, install_signal_handlers=False)
            worker = asyncio.create_task(work)
            await self.done.wait()
            took = time.perf_counter() - began
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)
            return took

    async def prepare(self) -> None:
        async with self.app.open_async():
            await self.app.schema_manager.apply_schema_async()


def main(url: str) -> None:
    logging.disable(logging.CRITICAL)
    asyncio.run(Queue(url).prepare())
    serve(
        lambda count: asyncio.run(Queue(url).run(1, count, 1)),
        lambda many, steps: asyncio.run(Queue(url).run(many, steps, AT_ONCE)),
    )


if __name__ == "__main__":
    main(sys.argv[1])
