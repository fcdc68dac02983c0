"""Second factors, and what was shown with an approval."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_table(
        "factor",
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("sealed", sa.Text(), nullable=False),
        sa.Column("counter", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("enrolled_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("user"),
    )
    op.add_column("approval", sa.Column("factor", sa.String(), nullable=False, server_default=sa.text("''")))
