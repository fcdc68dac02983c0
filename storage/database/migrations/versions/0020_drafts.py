"""Steps that draft, and the most that one attempt of them may cost."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.add_column("step", sa.Column("drafts", sa.Boolean(), nullable=False, server_default=sa.text("false")))
    op.add_column("step", sa.Column("most_usd", sa.Float(), nullable=False, server_default=sa.text("0")))
