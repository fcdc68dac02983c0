"""What is wrong with a plan, said to people: at a step, in words, and without a path of ours."""

import re

from bot.untrusted import clip
from storage.contract.grouping import Find
from storage.contract.saying import short
from storage.contract.spec import PlanSpec
from storage.errors import Issue


def problem(issue: Issue, spec: PlanSpec, find: Find) -> str:
    """What is wrong, where people look for it: at a step, not at a path."""
    found = re.match(r"steps\[(\d+)\]\.(?:parameters\.)?(\w+)", issue.path)
    number = int(found[1]) if found else len(spec.steps)
    if found is None or number >= len(spec.steps):
        return f"{issue.message}."
    step = spec.steps[number]
    return f"Step {number + 1} ({clip(short(find(step), step), 60)}), {found[2]}: {issue.message}."
