"""What has changed since a revision was made, what lies ahead of it, and what it does without."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
COLUMNS = (("plan", "outdated"), ("plan", "ahead"), ("revision", "lost"))


def upgrade() -> None:
    for table, name in COLUMNS:
        op.add_column(table, sa.Column(name, sa.Text(), server_default=sa.text("'[]'"), nullable=False))
