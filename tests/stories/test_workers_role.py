"""The product, with workers that have only the rights of execution in PostgreSQL: there, and back."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.support.postgres import fresh_database, workers_role
from tests.support.world import WITNESS, World, witnessed

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def world(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    home, url = tmp_path_factory.mktemp("role"), fresh_database(postgres)
    made = World(home, database_url=url, config=witnessed)
    made.use({"PYTHONPATH": str(WITNESS), "WITNESS_PLACE": str(home)})
    made.use({"SIGNOFF_DATABASE_URL": workers_role(url)}, only="workers")
    with made as found:
        yield found


def lines(world: World) -> list[str]:
    return (world.home / "lines").read_text().splitlines()


def test_what_was_approved_runs_and_is_undone_by_workers_with_no_other_rights(world: World) -> None:
    world.asks("/plan take it back")
    plan = world.until(lambda view: view.state == "proposed", "the proposal")
    world.bob.clicks("approve", message=plan.card)

    assert world.ends().outcome == "rolled_back"
    effects = [line.removeprefix("effect ") for line in lines(world) if line.startswith("effect ")]
    assert effects == ["one", "two", "undo-one"]


def test_the_database_refuses_them_an_approval(world: World) -> None:
    world.asks("/plan write notes")
    world.until(lambda view: view.state == "proposed", "the proposal")
    url = next(c.env for c in world.demo.supervisor.children if c.name == "workers")["SIGNOFF_DATABASE_URL"]
    forged = (
        'INSERT INTO approval (plan_id, revision, digest, team, "user", policy, at) '
        "SELECT plan_id, number, digest, 'T', 'U0BOB', policy, now() FROM revision"
    )

    with psycopg.connect(url) as taken_over, pytest.raises(psycopg.errors.InsufficientPrivilege):
        taken_over.execute(forged)
