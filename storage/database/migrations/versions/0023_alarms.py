"""What hooks call about, and what they said."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.create_table(
        "alarm",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("team", sa.String(), nullable=False),
        sa.Column("hook", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("plan_id", sa.Integer(), nullable=False),
        sa.Column("open", sa.Boolean(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("words", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("first_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("planned_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("team", "hook", "key"),
    )
    op.create_index(op.f("ix_alarm_plan_id"), "alarm", ["plan_id"], unique=False)
    op.create_table(
        "call",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("team", sa.String(), nullable=False),
        sa.Column("hook", sa.String(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("answer", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("plan_id", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_index(op.f("ix_call_hook"), "call", ["hook"], unique=False)
    op.create_index(op.f("ix_call_at"), "call", ["at"], unique=False)
