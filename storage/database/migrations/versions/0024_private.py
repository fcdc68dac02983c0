"""Plans that only answer a question of one person: they stand in no list."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.add_column("plan", sa.Column("private", sa.Boolean(), server_default=sa.false(), nullable=False))
