"""Plans that ended are put away, by the bots and one after the other: here only the mark, and who has none.

And three indexes no longer hold what nobody looks for in them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"

PARTIAL = {
    "ix_step_due_at": ("step", ["due_at", "id"], "due_at IS NOT NULL"),
    "ix_delivery_handled_at": ("delivery", ["handled_at"], "handled_at IS NULL"),
    "ix_message_again_at": ("message", ["again_at"], "again_at IS NOT NULL"),
}


def upgrade() -> None:
    op.add_column("plan", sa.Column("away", sa.Integer(), server_default=sa.text("0"), nullable=False))
    _index("ix_plan_loose", "plan", ["id"], "away = 0")
    for name, (table, columns, some) in PARTIAL.items():
        op.drop_index(name, table_name=table)
        _index(name, table, columns, some)


def _index(name: str, table: str, columns: list[str], some: str) -> None:
    where = sa.text(some)
    op.create_index(name, table, columns, unique=False, sqlite_where=where, postgresql_where=where)
