"""DBOS: one workflow a plan, its steps plain functions; as it comes, in its own pool of threads."""

import sys

from dbos import DBOS

from tests.bench.peers.hands.answering import serve


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
    DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR", "executor_id": "bench"})
    DBOS.launch()
    serve(plan, plans)


if __name__ == "__main__":
    main(sys.argv[1])
