"""Revisions that only move an approved one later, and approvals that name both digests."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.add_column("revision", sa.Column("postpones", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("approval", sa.Column("earlier", sa.String(), nullable=False, server_default=""))
