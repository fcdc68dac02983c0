"""Indexes of the journal cost every step: none of its times, and of its verbs the rare ones only."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
RARE = sa.text("verb NOT IN ('claim', 'succeed', 'permit', 'preview')")


def upgrade() -> None:
    op.drop_index("ix_event_of_time", table_name="event")
    op.drop_index("ix_event_of_verb", table_name="event")
    op.create_index(
        "ix_event_of_verb", "event", ["verb", "id"], unique=False, sqlite_where=RARE, postgresql_where=RARE
    )
