"""What stands on a card: verdicts of previews, what has no room, countdowns; what a Slack refuses."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    moment = sa.DateTime(timezone=True)
    op.add_column("preview", sa.Column("found", sa.JSON(), nullable=True))
    op.add_column("preview", sa.Column("was", sa.String(), nullable=False, server_default=sa.text("''")))
    op.add_column(
        "revision", sa.Column("lengthy", sa.Boolean(), nullable=False, server_default=sa.text("false"))
    )
    op.add_column("message", sa.Column("again_at", moment, nullable=True))
    op.create_index(op.f("ix_message_again_at"), "message", ["again_at"], unique=False)
    op.create_table(
        "shown",
        sa.Column("plan_id", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        *(sa.Column(n, sa.String(), nullable=False) for n in ("digest", "content", "file")),
        sa.Column("at", moment, nullable=False),
        sa.ForeignKeyConstraint(["plan_id"], ["plan.id"]),
        sa.PrimaryKeyConstraint("plan_id", "revision"),
    )
    op.create_table(
        "workspace",
        sa.Column("team", sa.String(), nullable=False),
        sa.Column("plainness", sa.Integer(), nullable=False),
        sa.Column("since", moment, nullable=False),
        sa.PrimaryKeyConstraint("team"),
    )
