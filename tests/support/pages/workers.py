"""docs/workers.md, made from the built-in workers. Written anew by

.venv/bin/python -m tests.support.pages.workers
"""

from tests.support.places import ROOT
from workers.kit.check import load
from workers.kit.grades import RULES, grade, verdicts
from workers.registry import BUILTIN, actions

PAGE = ROOT / "docs" / "workers.md"
HEAD = """# The workers that come with Signoff

This page is made from their code, and a test compares. `signoff worker check MODULE[:CLASS]` grades any
worker, yours too ([writing a worker](writing-a-worker.md)): **bronze** keeps the contract; **silver** can be
approved and recovered well; **gold** shows first what it would do, and has a way back.

| worker | what it does | actions | grade | lacks for the next |
|---|---|---|---|---|
"""


def row(name: str) -> str:
    worker = load(BUILTIN[name])
    found = [*verdicts(worker)]
    best = grade(found)
    lacks = [
        f"{one.words} ({', '.join(f'`{name}`' for name in one.lacking)})" for one in found if one.lacking
    ]
    marked = [
        f"`{action}`" + ("" if one.changes else " (drafts)" if one.drafts else " (reads)")
        for action, one in sorted(actions(worker).items())
    ]
    words = (worker.__doc__ or "").strip().partition("\n")[0]
    return f"| `{name}` | {words} | {', '.join(marked)} | {best or 'none'} | {'; '.join(lacks) or '–'} |"


def page() -> str:
    rules = "\n".join(f"| {rule.grade} | {rule.words} |" for rule in RULES)
    scale = f"\n## The scale\n\n| grade | rule |\n|---|---|\n| bronze | the contract holds |\n{rules}\n"
    return HEAD + "\n".join(row(name) for name in sorted(BUILTIN)) + "\n" + scale


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
