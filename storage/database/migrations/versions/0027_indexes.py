"""Of the journal no index of times, and of its verbs the rare ones; what a plan has cost by its number."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
RARE = sa.text("verb NOT IN ('claim', 'succeed', 'permit', 'preview')")


def upgrade() -> None:
    op.create_index("ix_spending_plan_id", "spending", ["plan_id"], unique=False)
    op.drop_index("ix_event_of_time", table_name="event")
    op.drop_index("ix_event_of_verb", table_name="event")
    op.create_index(
        "ix_event_of_verb", "event", ["verb", "id"], unique=False, sqlite_where=RARE, postgresql_where=RARE
    )
