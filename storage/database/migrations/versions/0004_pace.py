"""When a step is due stands in its row; messages name their journal event by its place in the chain."""

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    for name in ("start_by", "due_at"):
        op.add_column("step", sa.Column(name, sa.DateTime(timezone=True), nullable=True))
    op.create_index(op.f("ix_step_due_at"), "step", ["due_at"], unique=False)
    _time_the_waiting()
    op.add_column("message", sa.Column("seq", sa.Integer(), nullable=False, server_default="0"))
    link = "SELECT seq FROM event WHERE event.id = message.event_id"
    op.execute(f"UPDATE message SET seq = COALESCE(({link}), 0)")  # noqa: S608 # a constant
    op.execute("UPDATE message SET key = kind || ':' || plan_id || ':' || seq WHERE seq > 0")
    op.drop_column("message", "event_id")
    stale = sa.text("wanted > shown")
    op.create_index("ix_message_stale", "message", ["id"], sqlite_where=stale, postgresql_where=stale)


def _time_the_waiting() -> None:
    """Every waiting step is due when its time comes; the claim finds out which ones others keep back."""
    when = sa.DateTime(timezone=True)
    columns = [sa.column(name, when) for name in ("not_before", "not_after", "start_by", "due_at")]
    step = sa.table("step", sa.column("id"), sa.column("state"), sa.column("timeout"), *columns)
    for row in op.get_bind().execute(sa.select(step).where(step.c.state == "pending")).all():
        last = row.not_after - timedelta(seconds=row.timeout) if row.not_after else None
        values = {"due_at": row.not_before or datetime.now(UTC), "start_by": last}
        op.get_bind().execute(step.update().where(step.c.id == row.id).values(**values))
