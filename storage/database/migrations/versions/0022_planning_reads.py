"""What a planner looked at before it planned; and a way to where the journal tells of failures."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
TROUBLED = sa.text("verb IN ('fail', 'retry', 'lose')")


def upgrade() -> None:
    op.create_index(
        "ix_event_trouble", "event", ["plan_id"], sqlite_where=TROUBLED, postgresql_where=TROUBLED
    )
    op.create_table(
        "planningread",
        sa.Column("plan_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("summary", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("data", sa.JSON(), nullable=True),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["plan_id"], ["plan.id"]),
        sa.PrimaryKeyConstraint("plan_id", "number"),
    )
    op.create_index(op.f("ix_planningread_state"), "planningread", ["state"], unique=False)
