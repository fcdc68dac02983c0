"""No index of outcomes: attempts are counted once, by their numbers, and each step wrote a page for it."""

from alembic import op

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    op.drop_index("ix_attempt_outcome", table_name="attempt")
