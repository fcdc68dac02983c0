"""Machines that ask: their tokens, what they asked for by which key, and who is behind a plan."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def _listed(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), server_default=sa.text("'[]'"), nullable=False)


def upgrade() -> None:
    nobody = sa.Column("machine", sa.String(), server_default=sa.text("''"), nullable=False)
    op.add_column("plan", nobody)
    op.add_column("plan", _listed("behind"))
    op.create_table(
        "token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("team", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        *map(_listed, ("scopes", "channels", "runbooks", "environments")),
        sa.Column("made_by", sa.String(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("hash"),
    )
    op.create_index(op.f("ix_token_name"), "token", ["name"], unique=False)
    op.create_table(
        "ask",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("team", sa.String(), nullable=False),
        sa.Column("machine", sa.String(), nullable=False),
        sa.Column("print", sa.String(), nullable=False),
        sa.Column("plan_id", sa.Integer(), nullable=False),
        sa.Column("answer", sa.Text(), server_default=sa.text("''"), nullable=False),
        *map(_listed, ("runbooks", "environments")),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_index(op.f("ix_ask_plan_id"), "ask", ["plan_id"], unique=False)
