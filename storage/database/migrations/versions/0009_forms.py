"""What a requester is asked before there can be a plan, and what they answered."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    for column in ("form", "given"):
        op.add_column("plan", sa.Column(column, sa.Text(), nullable=False, server_default=sa.text("''")))
