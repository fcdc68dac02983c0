"""The board: who is there, what they opened, ended plans in figures; and indexes for what it looks for."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"

NOW = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_index("ix_event_of_verb", "event", ["verb", "id"], unique=False)
    op.create_index("ix_event_of_time", "event", ["at", "id"], unique=False)
    op.create_index("ix_step_of_action", "step", ["worker", "action", "id"], unique=False)
    op.create_index(op.f("ix_attempt_outcome"), "attempt", ["outcome"], unique=False)
    _visits()
    op.create_table(
        "opened",
        sa.Column("plan_id", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("first_at", NOW, nullable=False),
        sa.ForeignKeyConstraint(["plan_id"], ["plan.id"]),
        sa.PrimaryKeyConstraint("plan_id", "revision", "user"),
    )
    _stories()


def _visits() -> None:
    texts = ("id", "team", "user", "way")
    op.create_table(
        "visit",
        *(sa.Column(name, sa.String(), nullable=False) for name in texts),
        sa.Column("name", sa.String(), server_default=sa.text("''"), nullable=False),
        sa.Column("plan_id", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("until", NOW, nullable=False),
        sa.Column("session", sa.String(), server_default=sa.text("''"), nullable=False),
        *(sa.Column(name, NOW, nullable=True) for name in ("used_at", "seen_at", "ended_at")),
        sa.Column("why", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("refused", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("noted", sa.String(), server_default=sa.text("''"), nullable=False),
        sa.Column("made_at", NOW, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_visit_session"), "visit", ["session"], unique=False)


def _stories() -> None:
    op.create_table(
        "story",
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("plan_id", "event_id")),
        sa.Column("ended_at", NOW, nullable=False),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("channel", "outcome", "rung")),
        *(
            sa.Column(name, sa.Boolean(), nullable=False)
            for name in ("wanted", "approved", "edited", "abandoned")
        ),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("approvals", "unopened")),
        *(sa.Column(name, sa.Float(), nullable=True) for name in ("waited", "lost")),
        *(sa.Column(name, sa.Float(), nullable=False) for name in ("seconds", "usd")),
        sa.ForeignKeyConstraint(["plan_id"], ["plan.id"]),
        sa.PrimaryKeyConstraint("plan_id"),
    )
    op.create_index(op.f("ix_story_event_id"), "story", ["event_id"], unique=False)
    op.create_index(op.f("ix_story_ended_at"), "story", ["ended_at"], unique=False)
