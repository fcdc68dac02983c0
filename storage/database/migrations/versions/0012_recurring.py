"""Recurring plans with their runs and standing approvals; steps that outlast their window."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "recurring",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        *(sa.Column(n, sa.String(), nullable=False) for n in ("said", "cron", "zone", "team", "user")),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("next_at", moment, nullable=True),
        sa.Column("made_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_recurring_next_at"), "recurring", ["next_at"], unique=False)
    op.create_table(
        "occurrence",
        sa.Column("recurring_id", sa.Integer(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("plan_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["recurring_id"], ["recurring.id"]),
        sa.PrimaryKeyConstraint("recurring_id", "day"),
    )
    op.create_index(op.f("ix_occurrence_plan_id"), "occurrence", ["plan_id"], unique=False)
    op.create_table(
        "standing",
        sa.Column("recurring_id", sa.Integer(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        *(sa.Column(n, sa.String(), nullable=False) for n in ("team", "digest", "cron", "zone")),
        sa.Column("runs_left", sa.Integer(), nullable=False),
        sa.Column("until", moment, nullable=False),
        sa.Column("policy", sa.String(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.ForeignKeyConstraint(["recurring_id"], ["recurring.id"]),
        sa.PrimaryKeyConstraint("recurring_id", "user"),
    )
    op.add_column("step", sa.Column("overran", sa.Boolean(), nullable=False, server_default=sa.text("false")))
