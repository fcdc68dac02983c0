"""What the review has yet to look at; and whose approval covers a revision made under a mandate."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    for table, column in (("plan", "look"), ("revision", "parent")):
        op.add_column(table, sa.Column(column, sa.Integer(), nullable=False, server_default=sa.text("0")))
