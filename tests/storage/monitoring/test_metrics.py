"""What a monitor's question costs, however many plans there have been."""

import re
from pathlib import Path
from typing import Any

from sqlalchemy import event

from storage.clock import wall
from storage.database.engine import migrate, open_engine
from storage.monitoring.metrics import figures
from tests.support.store import Store

GROWING = "plan|step|attempt|story|event|message|delivery"
# Of these each row is one that is counted: what is stale, drafts, or had trouble on the way.
FEW = "ix_message_stale|ix_step_drafts|ix_story_rung"
WHOLE = re.compile(rf"SCAN ({GROWING})(?! USING (COVERING )?INDEX ({FEW})\b)\b")


def test_a_scrape_reads_no_table_from_one_end_to_the_other(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'signoff.db'}")
    migrate(engine)
    asked = list[tuple[str, Any]]()
    event.listen(engine, "before_cursor_execute", lambda *given: asked.append(given[2:4]))
    figures(Store(engine, wall))
    with engine.connect() as c:
        ways = [
            way
            for query, values in [*asked]
            if query.startswith("SELECT")
            for *_, way in c.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}", values)
        ]
    engine.dispose()

    assert any("ix_step_drafts" in way for way in ways)
    assert [way for way in ways if WHOLE.match(way)] == []
