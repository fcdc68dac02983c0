"""Previews: what an action would do, found out for the people who are about to approve it."""

from storage.steps.previews import Brief, Wanted, basis_hash
from workers.base import Context, Params, Permanent, Preview, Transient
from workers.engine.attempt import Attempts

LONGEST = 6000  # characters of one preview
VERDICTS, VERDICT = 3, 41  # how many short ones, and the characters of each, its mark included


def make(attempts: Attempts, wanted: Wanted) -> None:
    """Find out what one step would do, and put it where people look. A failure is an answer, too."""
    try:
        found = _found(attempts, wanted)
        text, basis, failed = found.text[:LONGEST], basis_hash(found.basis), False
        brief = Brief(tuple(line[:VERDICT] for line in found.found[:VERDICTS]), found.was[:VERDICT])
    except (Transient, Permanent, ValueError, OSError) as error:
        text, basis, failed = f"It could not be found out: {error}"[:LONGEST], "", True
        brief = Brief((f"!not checked: {error}"[:VERDICT],))
    attempts.store.show(wanted, text, basis, actor=attempts.owner, failed=failed, brief=brief)


def _found(attempts: Attempts, wanted: Wanted) -> Preview:
    worker, action, params_type = attempts.registry.action(wanted.worker, wanted.action)
    params: Params = params_type.model_validate(wanted.parameters)
    place = attempts.scratch / f"plan-{wanted.plan_id}" / wanted.key / "preview"
    key = f"preview-{wanted.plan_id}-{wanted.revision}-{wanted.key}"
    context = Context(
        plan=wanted.plan_id, step=wanted.key, attempt=0, key=key, place=place, now=attempts.store.clock
    )
    found: Preview = action.hooks["preview"](worker, params, context)
    return found
