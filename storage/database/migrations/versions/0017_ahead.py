"""Runs of recurring plans that are planned ahead of their time, and who was asked for a standing approval."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("plan", sa.Column("starts_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("plan", sa.Column("starts_zone", sa.String(), nullable=False, server_default=""))
    op.add_column("recurring", sa.Column("offered", sa.Integer(), nullable=False, server_default="0"))
