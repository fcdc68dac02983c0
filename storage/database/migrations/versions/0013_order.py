"""What is due, in its order."""

from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.drop_index("ix_step_due_at", table_name="step")
    op.create_index("ix_step_due_at", "step", ["due_at", "id"], unique=False)
