"""What a workspace's Slack takes: one that refuses a block is spoken to more plainly, for a day."""

from datetime import timedelta

from sqlalchemy import delete, insert
from sqlmodel import col

from storage.database.tables import Workspace
from storage.memory import Memory

REMEMBERED = timedelta(days=1)  # then the blocks are tried again


def plainness(memory: Memory, team: str) -> int:
    """How plainly this workspace is spoken to; 0 is as drawn."""
    lately = col(Workspace.since) > memory.clock() - REMEMBERED
    with memory.read() as t:
        found = t.rows(Workspace, col(Workspace.team) == team, lately)
    return max((row.plainness for row in found), default=0)


def speak_plainer(memory: Memory, team: str, plainness: int) -> None:
    """Slack has refused what is less plain than this."""
    with memory.write() as t:
        t.execute(delete(Workspace).where(col(Workspace.team) == team))
        t.execute(insert(Workspace).values(team=team, plainness=plainness, since=t.clock()))
