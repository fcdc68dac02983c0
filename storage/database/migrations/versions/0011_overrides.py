"""Break-glass: what somebody has overridden, why, and who looked at it afterwards."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "override",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("plan_id", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("digest", "user", "parts")),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("confirmed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("reviewed_by", sa.String(), nullable=False),
        sa.Column("review", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["plan_id"], ["plan.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_override_plan_id"), "override", ["plan_id"], unique=False)
