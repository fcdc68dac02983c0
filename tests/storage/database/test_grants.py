"""The workers' role: what runs needs no more than it has, and the database refuses it everything else."""

import subprocess
import sys
import uuid
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import ProgrammingError

from storage.database.engine import open_engine
from storage.database.grants import READS, UPDATES, auditor, grants
from storage.database.tables import Step
from tests.conftest import emptied
from tests.support.fakes import FakeClock, approved, propose, step
from tests.support.postgres import workers_role
from tests.support.store import Store
from tests.support.world import environment

pytestmark = [pytest.mark.postgres, pytest.mark.hostile]


@pytest.fixture(scope="module")
def role(postgres_engine: Engine):
    engine = open_engine(workers_role(postgres_engine.url.render_as_string(hide_password=False)))
    yield engine
    engine.dispose()


@pytest.fixture
def bot(postgres_engine: Engine, clock: FakeClock) -> Store:
    return Store(emptied(postgres_engine), clock)


def tries(role: Engine, statement: str) -> None:
    with role.begin() as connection:
        connection.execute(text(statement))


APPROVAL = (
    'INSERT INTO approval (plan_id, revision, digest, team, "user", policy, at) '
    "SELECT plan_id, number, digest, 'T1', 'MALLORY', policy, now() FROM revision"
)
FORBIDDEN = {
    "approve": APPROVAL,
    "change an approval": "UPDATE approval SET digest = 'x'",
    "add a revision": "INSERT INTO revision SELECT * FROM revision",
    "change a revision": "UPDATE revision SET needed = 0",
    "override": "UPDATE override SET confirmed_at = now()",
    "read a second factor": "SELECT sealed FROM factor",
    "enrol": "INSERT INTO factor VALUES ('MALLORY', 'x', 0, 0, now())",
    "permit": "UPDATE step SET permit_until = now() + interval '1 day'",
    "change what a step does": "UPDATE step SET action = 'x'",
    "change what it touches": "UPDATE step SET target = 'x'",
    "add a step": "INSERT INTO step SELECT * FROM step",
    "delete the journal": "DELETE FROM event",
    "change the journal": "UPDATE event SET actor = 'x'",
    "put an approval on record": "INSERT INTO event (plan_id, seq, at, verb, actor, data, prev, hash) "
    "VALUES (1, 99, now(), 'approve', 'U0BOB', '{}', '', '')",
    "point a plan at another revision": "UPDATE plan SET revision = 0",
    "approve by state": "UPDATE plan SET state = 'approved' WHERE state = 'proposed'",
    "propose by state": "UPDATE plan SET state = 'proposed' WHERE state = 'approved'",
    "cancel what nobody cancelled": "UPDATE plan SET state = 'cancelled' WHERE state = 'approved'",
    "resume": "DELETE FROM stop",
    "request": "INSERT INTO plan (state, text, team, requester, channel, created_at) "
    "VALUES ('planning', 'x', 'T1', 'U', 'C', now())",
    "read what people said": "SELECT body FROM delivery",
    "read what people shall see": "SELECT text FROM message",
    "deliver": "INSERT INTO delivery VALUES ('k', 1, 'click', '{}', now(), NULL)",
    "stand in for a person": "INSERT INTO standing SELECT * FROM standing",
    "lift its own guard": "ALTER TABLE plan DISABLE TRIGGER ALL",
    "give itself rights": "GRANT SELECT ON factor TO PUBLIC",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_the_database_refuses_a_workers_role_what_is_not_execution(bot, role, what):
    approved(bot, step("s1"))
    propose(bot)

    with pytest.raises(ProgrammingError, match=r"permission denied|must be owner|workers (add|move|put)"):
        tries(role, FORBIDDEN[what])


@pytest.mark.parametrize("inherits", ["INHERIT", "NOINHERIT"])
def test_whoever_has_the_rights_of_a_workers_role_is_held_as_it_is(bot, role, postgres_engine, inherits):
    approved(bot, step("s1"))
    propose(bot)
    name = f"member_{role.url.username}_{inherits.lower()}"
    tries(postgres_engine, f"CREATE ROLE {name} LOGIN {inherits} PASSWORD 'w' IN ROLE {role.url.username}")
    member = open_engine(role.url.set(username=name).render_as_string(hide_password=False))
    becomes = "" if inherits == "INHERIT" else f"SET ROLE {role.url.username}; "

    with pytest.raises(ProgrammingError, match="workers move no plan"):
        tries(member, becomes + FORBIDDEN["approve by state"])
    member.dispose()


def test_a_second_role_is_held_beside_the_first(bot, role, postgres_engine):
    approved(bot, step("s1"))
    propose(bot)
    second = open_engine(workers_role(postgres_engine.url.render_as_string(hide_password=False)))

    for one in (role, second):
        with pytest.raises(ProgrammingError, match="workers move no plan"):
            tries(one, FORBIDDEN["approve by state"])
    second.dispose()


def test_the_owner_is_not_held_by_what_holds_the_workers(bot, postgres_engine, role):
    approved(bot, step("s1"))

    tries(postgres_engine, "UPDATE plan SET state = 'proposed'")


def test_every_table_and_column_that_is_granted_exists_and_a_permit_is_not_among_them(postgres_engine):
    with postgres_engine.begin() as connection:
        known = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
        columns = {(row[0], row[1]) for row in connection.execute(text(known))}

    assert {(table, name) for table, names in UPDATES.items() for name in names} <= columns
    assert {*READS} <= {table for table, _ in columns}
    assert {*Step.model_fields} - {*UPDATES["step"]} >= {"permit_until", "digest", "parameters"} & {
        *Step.model_fields
    }


def test_a_roles_name_is_quoted_wherever_it_stands():
    said = grants("""odd"name'x""")

    assert '"odd""name\'x"' in said
    assert "'odd\"name''x'" in said


@pytest.fixture
def auditor_url(postgres_engine: Engine):
    owner = postgres_engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    name = f"a_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'a'")
        connection.execute(auditor(name))
    parts = urlsplit(owner)
    return parts._replace(netloc=f"{name}:a@{parts.hostname}:{parts.port}").geturl()


def typed(url: str, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = environment(home, SIGNOFF_DATABASE_URL=url)
    command = [sys.executable, "-m", "bot", *words]
    return subprocess.run(command, env=env, cwd=home, capture_output=True, text=True, timeout=60, check=False)


def test_an_auditor_looks_at_everything_with_a_role_that_only_reads(bot, auditor_url, tmp_path):
    (tmp_path / "signoff.toml").write_text('[people]\napprovers = ["U0BOB"]\n')
    plan = approved(bot, step("s1"))
    before = len(bot.events(0))

    looks = ("plans", "show N", "stats", "policy explain N", "audit export", "audit verify N")
    ran = {words: typed(auditor_url, tmp_path, *words.replace("N", str(plan)).split()) for words in looks}

    assert {word: done.returncode for word, done in ran.items()} == dict.fromkeys(ran, 0), ran
    assert f"Plan {plan}: " in ran["show N"].stdout
    assert '"verb":"approve"' in ran["audit export"].stdout
    assert (
        ran["audit export"].stderr == "You may only look, so the journal does not say that you exported it.\n"
    )
    assert len(bot.events(0)) == before


@pytest.mark.parametrize(
    "what",
    ["SELECT sealed FROM factor", "SELECT body FROM delivery", "DELETE FROM event",
     "UPDATE plan SET state = 'x'", "INSERT INTO stop VALUES ('everything', 'r', 'u', now())"],
)  # fmt: skip
def test_an_auditor_writes_nothing_and_sees_no_secret(bot, auditor_url, what):
    engine = open_engine(auditor_url)

    with pytest.raises(ProgrammingError, match="permission denied"):
        tries(engine, what)
    engine.dispose()
