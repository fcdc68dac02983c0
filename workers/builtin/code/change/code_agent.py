"""code-agent: a subtask drafted by an agent in a folder of its own, accepted by its tests."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from pydantic import BaseModel, Field

from workers.base import Context, Params, Permanent, Report, Transient, Worker, action, check
from workers.builtin.code.change.loop import Loop
from workers.builtin.code.change.port import Agent, Ended, Spent, Stalled, Task
from workers.builtin.code.change.sdk import Sdk
from workers.builtin.code.ground import gate, subtasks
from workers.builtin.code.ground.acceptance import Draft, Verdict, baseline, drafted, judge
from workers.builtin.code.ground.git import Change, Git
from workers.builtin.code.ground.places import place_of
from workers.builtin.code.ground.powers import own_modules
from workers.builtin.code.ground.refs import draft_ref
from workers.builtin.code.ground.repository import Entry, Repository, entry_of
from workers.builtin.code.ground.rungs import Rungs
from workers.builtin.code.ground.subtasks import MOST, Subtask, Work
from workers.commands import box
from workers.commands.leftovers import marks

FIXES = 2  # rounds in the same conversation, after the tests were red
DRIVERS: dict[str, Callable[[Task], Agent]] = {"loop": Loop, "claude-agent-sdk": Sdk}


class ChangeParams(Params):
    """Which subtask of which work; the work is a file that a decompose step of this plan wrote."""

    repository: Repository
    work: str = Field(max_length=500, json_schema_extra={"from_output": True})
    item: int = Field(ge=0, lt=MOST, json_schema_extra={"minimum": 0, "maximum": MOST - 1})


class ChangeData(BaseModel):
    """What was drafted, by whom and for how much. `flags` are why a person must see this one by name."""

    title: str
    commit: str = ""
    green: bool = False
    files: list[str] = []
    added: int = 0
    removed: int = 0
    flags: list[str] = []
    incident: str = ""  # the class of what went wrong on the way, if anything
    rounds: int = 0
    notes: str = ""
    model: str = ""
    usd: float = 0.0
    tokens: int = 0


class CodeAgent(Worker):
    """Drafts one subtask of an epic; its tests decide, and nothing is published by it."""

    name = "code-agent"

    @action(
        changes=False,
        drafts=True,
        repeat="safe",
        timeout=3600,
        typical=120,
        criteria={"green": (check("green", "eq", True),)},
        says="*Draft* {repository} subtask {item}",
        leaves="subtask {item} of {repository} is drafted",
    )
    def change(self, params: ChangeParams, ctx: Context) -> Report[ChangeData]:
        """Has an agent draft one subtask in a box, until its tests pass."""
        entry = entry_of(params.repository, self.entry("repositories", params.repository))
        work = subtasks.read(params.work, ctx.place.parents[1], params.repository)
        box.demand()
        job = Job(entry, work, work.item(params.item), ctx)
        if made := job.made_before():
            return made
        with place_of(entry, ctx) as home:
            return job.done(home)

    def packages(self) -> Iterator[str]:
        wanted = {entry.get("driver") for entry in self.inventory.get("repositories", {}).values()}
        yield from ("claude_agent_sdk" for driver in wanted if driver == "claude-agent-sdk")

    def needs(self) -> Iterator[tuple[str, Callable[[], object]]]:
        yield "the box of coding agents", box.demand


class Job:
    """One subtask, one attempt."""

    def __init__(self, entry: Entry, work: Work, subtask: Subtask, ctx: Context) -> None:
        self.entry, self.work, self.subtask, self.ctx = entry, work, subtask, ctx
        self.git, self.ref = Git(entry, ctx), draft_ref(ctx.plan, ctx.step)
        self.rungs, self.judges = Rungs(entry.pool, ctx.plan, ctx.step, len(entry.models)), work.judges()
        self.before = ""  # where the branch stood when this attempt began: a later one's is not overwritten
        self.model = self.rungs.model(entry.models)
        self.spent, self.rounds, self.incident = Spent(), 0, ""

    def made_before(self) -> Report[ChangeData] | None:
        """What an attempt committed that did not come to report it."""
        tip = self.before = self.git.tip(self.ref) if (self.git.dir / "HEAD").exists() else ""
        if not tip or self.git.trailer(tip, "Signoff-Key") != self.ctx.key:
            return None
        return self._report(tip, "it was committed before", self.git.trailer(tip, "Signoff-Model"))

    def done(self, home: Path) -> Report[ChangeData]:
        base, place = self.work.base, home / "agent"
        self._baseline(home)
        self.git.put(base, place)
        agent = self._agent(home, place)
        self.spent = agent.spent
        try:
            with closing(agent):
                ended, draft, verdict = self._rounds(agent, home, place)
        except Stalled as error:
            return self._failed(str(error), "stalled", kind="transient")
        except Transient as error:
            return self._failed(str(error), "api", kind="transient")
        except Permanent as error:  # ours; what was spent until then is known
            return self._failed(str(error), "ours", kind="permanent")
        if not verdict.green:
            return self._red(ended, verdict)
        commit = self._commit(draft)
        return self._report(commit, ended.said, self.model.name)

    def _baseline(self, home: Path) -> None:
        if baseline(self.git, self.work.base, self.subtask.tests, home):
            self.incident = ""  # they must stay green

    def _agent(self, home: Path, place: Path) -> Agent:
        task = Task(
            self.subtask,
            self.entry,
            self.model,
            place,
            self.rungs.said(),
            lambda: self._judged(home, place)[1],
            self.ctx.progress,
            self.ctx.cancelled,
            time.monotonic,
            self.judges,
            marks(self.ctx.key),
        )
        return DRIVERS[self.entry.driver](task)

    def _rounds(self, agent: Agent, home: Path, place: Path) -> tuple[Ended, Draft, Verdict]:
        """The work is judged whyever the agent stopped; red output goes back to it, twice at most."""
        ended = agent.say(_brief(self.subtask, self.rungs.said()))
        draft, verdict = self._judged(home, place)
        self._noticed(ended, verdict)
        while not verdict.green and self.rounds < FIXES and ended.why == "finished":
            self.rounds += 1
            ended = agent.say(f"Not done yet.\n{verdict.said}")
            draft, verdict = self._judged(home, place)
        return ended, draft, verdict

    def _noticed(self, ended: Ended, verdict: Verdict) -> None:
        """An incident is an attempt that was not green after its first round."""
        if not verdict.green and not self.incident:
            self.incident = "red" if ended.why == "finished" else ended.why

    def _judged(self, home: Path, place: Path) -> tuple[Draft, Verdict]:
        draft = drafted(self.git, self.work.base, place, self.subtask.paths, self.judges)
        if draft.strays:
            return draft, Verdict(False, f"These are not yours to change: {', '.join(draft.strays[:10])}")
        if not draft.changes:
            green = judge(self.git, self.work.base, self.subtask.tests, home).green
            return draft, Verdict(
                False, "Nothing was changed." + (" The tests pass without it." if green else "")
            )
        return draft, judge(self.git, draft.tree, self.subtask.tests, home)

    def _commit(self, draft: Draft) -> str:
        commit = self.git.commit(draft.tree, [self.work.base], self._message())
        self.git.move(self.ref, commit, self.before)
        return commit

    def _message(self) -> str:
        trailers = {
            "Plan": self.ctx.plan,
            "Step": self.ctx.step,
            "Attempt": self.ctx.attempt,
            "Model": self.model.name,
            "Key": self.ctx.key,
        }
        return "\n\n".join(
            [self.subtask.title, "\n".join(f"Signoff-{name}: {value}" for name, value in trailers.items())]
        )

    def _red(self, ended: Ended, verdict: Verdict) -> Report[ChangeData]:
        """The next rung: a fresh conversation, then another model, then a person."""
        told = verdict.said.strip().splitlines()[-1:] or ["the tests are red"]
        how = "its tests stay red" if ended.why == "finished" else f"it stopped ({ended.why})"
        why = f"{how}: {told[0][:200]}"
        self.rungs.note(why)
        left = self.rungs.left(skip=ended.why == "refusal")
        return self._failed(
            f"“{self.subtask.title}”: {why}", self.incident, kind="transient" if left else "permanent"
        )

    def _failed(self, why: str, incident: str, *, kind: str) -> Report[ChangeData]:
        data = self._data(incident=incident or self.incident)
        if kind == "transient":
            return Report[ChangeData].failed(why, data, kind="transient")
        return Report[ChangeData].failed(why, data)

    def _report(self, commit: str, notes: str, model: str) -> Report[ChangeData]:
        found = self.git.differences(self.work.base, commit)
        told = self.git.run(
            "diff", "--no-ext-diff", "--no-textconv", "--unified=0", "--no-color", self.work.base, commit
        ).splitlines()
        added = [line[1:] for line in told if line.startswith("+") and not line.startswith("+++")]
        removed = sum(line.startswith("-") and not line.startswith("---") for line in told)
        added += ["\0binary"] if any(line.startswith("Binary files") for line in told) else []
        flags = self._flags(commit, found, added)
        data = self._data(
            commit=commit,
            green=True,
            files=[one.path for one in found][:20],
            added=len(added),
            removed=removed,
            flags=flags,
            notes=notes[:1000],
            model=model,
            incident=self.incident,
        )
        held = f"; a person must see it: {', '.join(flags[:3])}" if flags else ""
        self.rungs.forget()
        return Report[ChangeData].ok(
            f"“{self.subtask.title}”: +{len(added)} −{removed} by {model}, its tests pass{held}", data
        )

    def _flags(self, commit: str, found: Sequence[Change], added: Sequence[str]) -> list[str]:
        base, paths = self.work.base, self.subtask.paths
        texts = [
            gate.Text(one.path, self.git.text(base, one.path), self.git.text(commit, one.path))
            for one in found
            if one.path.endswith(gate.PYTHON)
        ]
        own = own_modules(self.git.files(base))
        return gate.flags(self.entry, found, added, paths, texts=texts, own=own, judges=self.judges)

    def _data(self, **more: object) -> ChangeData:
        given = {
            "title": self.subtask.title,
            "model": self.model.name,
            "usd": round(self.spent.usd, 6),
            "rounds": self.rounds,
            "tokens": self.spent.input + self.spent.output,
        }
        return ChangeData.model_validate(given | more)


def _brief(subtask: Subtask, tried: str) -> str:
    said = {
        "title": subtask.title,
        "brief": subtask.brief,
        "yours": [*subtask.paths],
        "tests": [*subtask.tests],
    }
    return json.dumps(said, indent=1) + (f"\nTried before:\n{tried}" if tried else "")
