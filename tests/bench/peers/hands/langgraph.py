"""LangGraph: one graph a plan, a node a step; a checkpoint is written before the next one begins."""

import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import count, pairwise
from typing import Any, TypedDict

from langgraph.graph import START, StateGraph

from tests.bench.peers.hands.answering import AT_ONCE, serve


class State(TypedDict):
    n: int


def saver(url: str) -> Any:
    if url.startswith("sqlite"):
        from langgraph.checkpoint.sqlite import SqliteSaver

        return SqliteSaver(sqlite3.connect(url.removeprefix("sqlite:///"), check_same_thread=False))
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg.rows import dict_row
    from psycopg_pool import ConnectionPool

    how = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}  # as its own page says
    made = PostgresSaver(ConnectionPool(url, min_size=AT_ONCE, max_size=AT_ONCE, kwargs=how, open=True))
    made.setup()
    return made


def main(url: str) -> None:
    kept, threads = saver(url), count()

    @cache
    def graph(steps: int) -> Any:
        made = StateGraph(State)
        names = [START, *(f"s{n}" for n in range(steps))]
        for name in names[1:]:
            made.add_node(name, lambda state: {"n": state["n"] + 1})
        for before, after in pairwise(names):
            made.add_edge(before, after)
        return made.compile(checkpointer=kept)

    def chain(steps: int) -> None:
        which = {"configurable": {"thread_id": str(next(threads))}, "recursion_limit": steps + 5}
        graph(steps).invoke({"n": 0}, which, durability="sync")

    def plans(many: int, steps: int) -> None:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(chain, [steps] * many))

    for steps in (100, 10):
        graph(steps)  # compiled ahead, as a program would
    serve(chain, plans)


if __name__ == "__main__":
    main(sys.argv[1])
