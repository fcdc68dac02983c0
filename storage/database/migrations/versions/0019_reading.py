"""How a wish was read, beside the revision that it became; and runs that come several times a day."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.add_column("revision", sa.Column("notes", sa.Text(), server_default=sa.text("'[]'"), nullable=False))
    op.create_table(
        "occurrences",
        sa.Column("recurring_id", sa.Integer(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("hour", sa.Integer(), nullable=False),
        sa.Column("plan_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["recurring_id"], ["recurring.id"]),
        sa.PrimaryKeyConstraint("recurring_id", "day", "hour"),
    )
    op.execute("INSERT INTO occurrences SELECT recurring_id, day, 0, plan_id FROM occurrence")
    op.drop_table("occurrence")
    op.rename_table("occurrences", "occurrence")
    op.create_index(op.f("ix_occurrence_plan_id"), "occurrence", ["plan_id"], unique=False)
