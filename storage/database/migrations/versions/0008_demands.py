"""What the rules of policy ask for a revision, and as what somebody approved it."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    for table, column in (("revision", "demands"), ("approval", "held")):
        op.add_column(table, sa.Column(column, sa.Text(), nullable=False, server_default=sa.text("''")))
