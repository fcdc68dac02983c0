"""The kill switch, why a permit is withheld, and the chain of events that belong to no plan."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "stop",
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("scope"),
    )
    system = op.create_table(
        "system",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("head", sa.String(), nullable=False),
        sa.Column("events", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.bulk_insert(system, [{"id": 1, "head": "", "events": 0}])
    op.add_column("step", sa.Column("withheld", sa.Text(), nullable=False, server_default=sa.text("''")))
    op.add_column("step", sa.Column("environment", sa.String(), nullable=False, server_default=sa.text("''")))
