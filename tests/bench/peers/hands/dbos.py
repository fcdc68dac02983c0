"""DBOS: one workflow a plan, its steps plain functions; 16 threads, where it would take as many as come."""

import sys

from dbos import DBOS

from tests.bench.peers.hands.answering import AT_ONCE, serve


@DBOS.step()
def nothing(number: int) -> int:
    return number


@DBOS.workflow()
def plan(count: int) -> None:
    for number in range(count):
        nothing(number)


def plans(many: int, steps: int) -> None:
    for handle in [DBOS.start_workflow(plan, steps) for _ in range(many)]:
        handle.get_result()


def main(url: str) -> None:
    most = {"max_executor_threads": AT_ONCE}
    DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR", **most})
    DBOS.launch()
    serve(plan, plans)


if __name__ == "__main__":
    main(sys.argv[1])
