"""What words in a plan's thread are: acts said whole first, then questions, then changes; else talk."""

from bot.planner.conversation.acts import TALK, Act
from bot.planner.conversation.changing import change
from bot.planner.conversation.speech import LONGEST, normal, unpraised, whole
from bot.planner.conversation.topics import question
from bot.planner.edits.pointing import EditContext


def hear(text: str, about: EditContext | None) -> Act:
    """The act; without a plan that could be changed, `about` is None."""
    if len(text) > LONGEST or not normal(text):
        return TALK
    if act := whole(text) or question(text):
        return act
    if about is None:
        return whole(unpraised(text)) or TALK
    return change(text, about) or TALK
