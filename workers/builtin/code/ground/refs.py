"""Names of our own in the clone: a branch for each draft, and one for what a plan has integrated."""


def draft_ref(plan: int, step: str) -> str:
    return f"refs/heads/signoff/{plan}/{step}"


def integrated(plan: int) -> str:
    return f"refs/heads/signoff/{plan}/integrated"
