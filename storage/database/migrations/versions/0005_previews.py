"""What an action would do, as shown before an approval; how far a running step is; plans being cancelled."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "preview",
        sa.Column("plan_id", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("worker", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("basis", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["plan_id"], ["plan.id"]),
        sa.PrimaryKeyConstraint("plan_id", "revision", "key"),
    )
    op.create_index(op.f("ix_preview_state"), "preview", ["state"], unique=False)
    for table, column in (
        ("step", "basis"),
        ("step", "progress"),
        ("approval", "shown"),
        ("plan", "cancelled_by"),
    ):
        op.add_column(table, sa.Column(column, sa.String(), nullable=False, server_default=sa.text("''")))
