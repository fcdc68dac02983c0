"""Who is measured: what to install, where it runs, and what it has on record of a step."""

from dataclasses import dataclass


@dataclass(frozen=True)
class System:
    """One of them. `hand` is the module in `hands`, `packages` what pip is asked for."""

    name: str
    hand: str
    records: str
    packages: tuple[str, ...] = ()
    places: tuple[str, ...] = ("sqlite", "postgres")

    @property
    def ours(self) -> bool:
        return not self.packages


DRIVER = "psycopg[binary,pool]>=3.3,<4"
SIGNOFF = System("Signoff", "signoff", "start, end, report, journal")
PEERS = (
    System("DBOS", "dbos", "its result", ("dbos>=3.3,<4",)),
    System(
        "LangGraph", "langgraph", "its writes, the state after it",
        (
            "langgraph>=1.2,<2", "langgraph-checkpoint-sqlite>=3,<4", "langgraph-checkpoint-postgres>=3,<4",
            DRIVER,
        ),
    ),
    System(
        "Procrastinate", "procrastinate", "start, end (PostgreSQL only)",
        ("procrastinate>=3.10,<4", DRIVER), ("postgres",),
    ),
    System(
        "APScheduler", "apscheduler", "nothing: its row goes when it is handed out",
        ("apscheduler>=3.11.3,<4", "sqlalchemy>=2.0.30,<3", DRIVER),
    ),
)  # fmt: skip
SYSTEMS = (SIGNOFF, *PEERS)
