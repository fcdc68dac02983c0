"""What monitors count of drafts and of recoveries is found without reading every step and every story."""

from alembic import op
from sqlalchemy import text

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    op.create_index(
        "ix_step_drafts", "step", ["id"], unique=False,
        sqlite_where=text("drafts IS 1"), postgresql_where=text("drafts IS true"),
    )  # fmt: skip
    some = text("rung != ''")
    op.create_index(
        "ix_story_rung", "story", ["rung"], unique=False, sqlite_where=some, postgresql_where=some
    )
