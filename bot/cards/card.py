"""The card: a plan's one message in the channel. A pure function of the view.

Only blocks that every Slack knows and that none folds: what people approve stands in the open, or in a file
that Slack has taken; else there is no Approve.
"""

import re
from dataclasses import replace
from datetime import datetime

from bot.cards.blocks import Block, actions, button, context, escape, linked, pack, permalink, section, split
from bot.cards.clarify_form import questions
from bot.cards.face.buttons import buttons
from bot.cards.face.difference import changed
from bot.cards.face.ended import come_true, ended
from bot.cards.face.lines import checked, failing, ran, spans, step_lines, subject, within
from bot.cards.face.long_plan import instead
from bot.cards.face.running import SIGNS, under_way
from bot.cards.phrases import alarm_line, lasting, overrode, standing, wisher
from bot.planner.edits.difference import UNCHANGING
from bot.planner.review.gate import allows
from bot.planner.runbooks.questions import Form
from bot.policy.authorize import who
from bot.untrusted import clip
from storage.contract.demands import Quorum
from storage.contract.spec import PlanSpec
from storage.contract.states import PlanState, StepState
from storage.reading.plan_view import PlanView

TEXT = 3000  # characters of a card that is read aloud, or shown on a locked phone
CHECKED = 400  # characters of verdicts; all of them stand in Details
BLOCKS, PLAINER, WORDS = range(3)  # how plainly a workspace is spoken to: as drawn, sections, words
OURS = (":no_entry:", ":lock:", ":raised_hand:", ":snowflake:")
MARKS = ("*", "~", "`", *SIGNS.values(), *OURS)
RESTING = {PlanState.proposed, PlanState.approved}  # on what was true when it was made
DRAWN = {PlanState.approved, PlanState.stalled}


def card(
    view: PlanView, now: datetime, *, workers: bool = True, site: str = "", on_call: str = "",
    planner: bool = False, plainness: int = BLOCKS, board: str = "", thinking: str = "",
) -> tuple[str, list[Block]]:  # fmt: skip
    """The words alone, for notifications and screen readers, and the blocks.

    `site` is the workspace's address, `on_call` the group that a question calls, `planner` whether a model
    may add to a plan, `plainness` what this workspace's Slack takes, `board` the plan's own page, `thinking`
    what its planner does just now.
    """
    if not fits(view, now, on_call=on_call, planner=planner):
        view = replace(view, lengthy=True)
    told = body(view, now, workers=workers, site=site, on_call=on_call, planner=planner)
    told += [f"*{escape(thinking)}*"] if thinking and view.state in {PlanState.proposed, *DRAWN} else []
    small = _small(view)
    text = clip(spoken([*told, *small]), TEXT)
    if plainness >= WORDS:
        how = "To decide, open my home tab." if view.state == PlanState.proposed else ""
        return clip("\n".join(filter(None, [*told, *small, how])), TEXT), []
    small[-1] = f"<{board}|{small[-1]}>" if board else small[-1]  # its number leads to its page
    below = section(" · ".join(small)) if plainness >= PLAINER else context(" · ".join(small))
    drawn = [section(part) for part in split(told)]
    blocks = [*drawn, *_buttons(view), below]
    return text, [_simpler(block) for block in blocks] if plainness >= PLAINER else blocks


def fits(view: PlanView, now: datetime, *, on_call: str = "", planner: bool = False) -> bool:
    """Whether everything that people must read has room where nothing folds it."""
    if view.lengthy or view.state != PlanState.proposed:
        return True  # in its file, or no longer to be decided
    told = _proposal(view, now, on_call, planner)
    return len(spoken([*told, *_small(view)])) <= TEXT


def body(
    view: PlanView, now: datetime, *, workers: bool = True, site: str = "", on_call: str = "",
    planner: bool = False,
) -> list[str]:  # fmt: skip
    """What the card says, a text for each section."""
    if view.spec is None:
        return _wish(view, now)
    if view.state == PlanState.proposed:
        return _proposal(view, now, on_call, planner)
    if view.state in DRAWN:
        more = [*_resting(view), *_held(view, site), *_alone(view, workers=workers)]
        return [*under_way(view, now), *more]
    return ended(view, now)


def _wish(view: PlanView, now: datetime) -> list[str]:
    """Before there is a plan: what was asked, or why nothing came of it."""
    head = f"*{escape(clip(view.text, 300))}*\n{escape(standing(view, now))}"
    return [head, *([escape(clip(view.reason, 500))] if view.reason else [])]


def unready(view: PlanView) -> PlanView:
    """The same as if it were still being checked: nothing to press, and nobody named."""
    return replace(view, steps=tuple(replace(step, previewing=True) for step in view.steps))


def _checking(view: PlanView) -> bool:
    return view.state == PlanState.proposed and any(step.previewing for step in view.steps)


def _proposal(view: PlanView, now: datetime, on_call: str, planner: bool) -> list[str]:
    on_call = "" if _checking(view) else on_call  # new messages call whom they name
    head = f"*{escape(clip(subject(view), 200))}?*\n{_risk(view)}"
    shown = instead(view, now) if view.lengthy else "\n".join(step_lines(view, now))
    also = [*_checked(view), *([] if view.lengthy else failing(view, on_call)), *_more(view, planner)]
    return [head, shown, "\n".join(also), *changed(view), *_resting(view), *map(_note, view.notes)]


def _note(text: str) -> str:
    """How the wish was read; it quotes people, and stays on its line."""
    return escape(" ".join(text.split()))


def _risk(view: PlanView) -> str:
    """How much is at stake, why, and who can approve it. What it changes, the steps say."""
    reasons = [escape(clip(reason, 100)) for reason in view.reasons[: 1 if len(view.reasons) > 2 else 2]]
    return " · ".join([f"*{view.risk.capitalize()} risk*", *reasons, *filter(None, [_approvers(view)])])


def _approvers(view: PlanView) -> str:
    if view.demands.denied:
        why = escape(clip("; ".join(view.demands.denied), 600))
        return f"*not allowed by policy:* {why}"
    if view.needed == 0:
        return "no approval needed"
    if not approvable(view):
        return ""  # names come with the button: nobody is called before there is something to press
    given = ", ".join(f"<@{user}>" for user in view.approved_by)
    so_far = f"{len(view.approved_by)} of {view.needed}: {given} approved, " if given else ""
    wanted = [(quorum.short(view.held), who(view, _left(view, quorum))) for quorum in view.quorums]
    missing = [(short, people) for short, people in wanted if short]
    code = ", with a code" if view.demands.second_factor else ""
    code += ", after opening Details" if view.demands.read else ""
    if not given and len(missing) == 1 and missing[0][0] == 1:
        return f"{missing[0][1]} can approve{code}"
    parts = " and ".join(f"{short}{' more' if given else ''} of {people}" for short, people in missing)
    return f"{so_far}{parts} {'needed' if given else 'must approve'}{code}"


def _left(view: PlanView, quorum: Quorum) -> Quorum:
    """Without those who have approved: nobody counts twice."""
    return quorum.model_copy(update={"of": tuple(id_ for id_ in quorum.of if id_ not in view.approved_by)})


def _checked(view: PlanView) -> list[str]:
    """What the dry runs found; bad news first, and in bold."""
    if _checking(view):
        return ["*Checking* what it would do… _Approve_ appears here with the result."]
    found = [line for step in view.steps for line in step.found]
    bad = [f"*{escape(line[1:])}*" for line in dict.fromkeys(found) if line.startswith("!")]
    good = [escape(line) for line in dict.fromkeys(found) if not line.startswith("!")]
    blind = spans(
        n
        for n, step in enumerate(view.steps, 1)
        if view.changes_something(step.spec) and not step.preview and not ran(view, step.spec.id)
    )
    told = [*within([*bad, *good], CHECKED), *([f"not checked: {blind}"] if blind else [])]
    return [f"*Checked:* {' · '.join(told)}"] if bad or good else []


def _more(view: PlanView, planner: bool) -> list[str]:
    """What else is approved with it."""
    spec = view.spec
    if spec is None:
        return []
    done = " and ".join(escape(checked(check)) for check in spec.done_when)
    extra = spec.mandate.extra or spec.mandate.alternatives
    may = (
        allows(spec.mandate)
        if extra
        else f"The planner may add up to {spec.mandate.max_added_steps} look-ups."
    )
    goes_on = ["*Then* the planner looks at the results, and asks again before it changes anything."]
    return [
        *([f"*Done only if* {done}"] if done else []),
        *(
            [escape(may)]
            if extra or (planner and spec.mandate.reads and spec.mandate.max_added_steps)
            else []
        ),
        *([f"*Rules:* {escape(clip('; '.join(view.demands.said), 300))}"] if view.demands.said else []),
        *(goes_on if spec.continues else []),
    ]


def _resting(view: PlanView) -> list[str]:
    """What its changes do without, what has changed since it was made, and what would hold it."""
    told = [f":warning: *{line[:1].upper()}{line[1:]}*" for line in map(escape, view.lost)]
    if view.spec and view.spec.goal.endswith(UNCHANGING) and not _changing(view, view.spec):
        told.append("*Every change was left out*: it changes nothing.")
    if view.outdated and view.state in RESTING:
        why = escape(clip("; ".join(view.outdated), 600))
        then = "Nobody can approve it" if view.state == PlanState.proposed else "It does not go on"
        told.append(f":warning: *Out of date:* {why}. {then} as it is.")
    said = " ".join(view.outdated)
    coming = [line for line in view.ahead if line.rpartition(": ")[0] not in said]
    told += [f":snowflake: {escape(clip(line, 600))}" for line in coming]
    return ["\n".join(told)] if told else []


def _changing(view: PlanView, spec: PlanSpec) -> bool:
    return any(map(view.changes_something, spec.steps))


def _held(view: PlanView, site: str) -> list[str]:
    """The plans that hold what waiting steps touch, with the way to them."""
    held = {s.held_by: s.held_at for s in view.steps if s.held_by and s.state == StepState.pending}
    links = [linked(permalink(site, *at), f"plan {number}") for number, at in held.items()]
    return [f":lock: Waits for {', '.join(links)}, which holds what it touches"] if links else []


def _alone(view: PlanView, *, workers: bool) -> list[str]:
    lost = not workers and view.state == PlanState.approved
    return [":warning: No workers process is connected; nothing runs until one is."] if lost else []


def _small(view: PlanView) -> list[str]:
    """Whose wish it is, in their own words, who approved it, and its number."""
    approved = ", ".join(f"<@{user}>" for user in view.approved_by)
    words = f": “{escape(clip(' '.join(view.text.split()), 150))}”" if view.spec else ""
    words = "" if come_true(view) else words  # the heading says so
    revised = view.revision > 1 and view.state != PlanState.done  # then nobody decides by it any more
    number = f"plan {view.id}" + (f", revision {view.revision}" if revised else "")
    given = f"{approved or 'nobody'} approved{overrode(view)}" if approved or view.overrides else ""
    given = given if view.state != PlanState.proposed else ""
    given = given or ("no approval needed" if view.spec and not view.needed else "")
    lasts = f"about {lasting(view.seconds)}" if view.state == PlanState.proposed and view.seconds else ""
    asked = words.removeprefix(": ") if _checking(view) else f"{wisher(view)} asked{words}"
    said = [asked, given, lasts, alarm_line(view), number]
    return [*filter(None, said)]


def spoken(told: list[str]) -> str:
    """The same as plain sentences: no marks, a line after the other."""
    lines = [_unmarked(line) for text in told for line in text.split("\n")]
    return " ".join(line if line[-1] in ".?!:…" else f"{line}." for line in lines if line)


def _unmarked(line: str) -> str:
    """Our own marks go; nobody else's words have any (`escape`)."""
    for sign in MARKS:
        line = line.replace(sign, "")
    return re.sub(r"^(\S*)  (?=\S)", r"\1 ", line.strip()).replace("_Approve_", "Approve")


def approvable(view: PlanView) -> bool:
    """Whether somebody may say yes: all of it is shown, and policy allows it."""
    open_ = view.state == PlanState.proposed and not view.demands.denied
    return open_ and view.shown and not view.outdated


def editing(view: PlanView) -> list[Block]:
    """The Edit button alone, while there is something to change."""
    value = pack(view.id, view.revision, view.digest)
    made = [actions(f"edit_{view.id}_r{view.revision}", button("Edit", "edit", value))]
    return made if view.state == PlanState.proposed else []


def _buttons(view: PlanView) -> list[Block]:
    if view.form and view.state == PlanState.planning:
        return questions(view, Form.model_validate_json(view.form))
    return buttons(view, approvable=approvable(view))


def _simpler(block: Block) -> Block:
    """Without what only newer Slacks know."""
    return {key: value for key, value in block.items() if key != "expand"}
