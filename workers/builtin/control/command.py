"""Runs commands that the operator named: argv, never a shell; every value is checked before it gets there."""

import re
import shlex
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from workers.base import Check, Context, Named, Params, Permanent, Preview, Report, Worker, action, check
from workers.builtin.control import dry_run
from workers.builtin.control.so_far import SoFar
from workers.builtin.shared.entries import Setting, read_entry, secrets
from workers.commands import process
from workers.commands.process import Finished, Limits

LIMIT = 3600.0
GRACES = (10.0, 5.0)
SHOWN = 4000
LONGEST = 1000
PLACE = re.compile(r"\{(\w+)\}")
WHOLE = re.compile(r"(?:[^{}]*=)?\{(\w+)\}")
RESULT = dry_run.RESULT.strip("{}")
LOOKED = ".dry-run"  # marks an attempt whose dry run was compared with what people saw
SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"}
DASHED = re.compile(r"\^?(?:\((?:\?:)?)?\\?-")  # a pattern that itself begins with a dash
SUCCESS: dict[str, tuple[Check, ...]] = {"exit_zero": (check("exit_code", "eq", 0),)}


class CommandParams(Params):
    command: Annotated[str, Named("commands")]
    arguments: dict[str, str] = Field(default_factory=dict)


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"it is no regular expression: {error}") from None
    return text


Pattern = Annotated[str, AfterValidator(_pattern)]


class Parameter(BaseModel):
    """What one placeholder may hold: one of `choices`, or what the whole `pattern` matches."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pattern: str = ""
    choices: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if not self.pattern and not self.choices:
            raise ValueError("needs 'pattern' or 'choices'")
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise ValueError(f"the pattern is no regular expression: {error}") from None
        return self

    def fault(self, value: str) -> str:
        """Why this value is refused; "" when it may be used."""
        if len(value) > LONGEST or not value.isprintable():
            return f"may hold no control character, nothing invisible, and at most {LONGEST} characters"
        if value in self.choices:
            return ""
        if _dashed(value) and not DASHED.match(self.pattern):
            return "may not begin with '-'; the program could take it for an option"
        if self.pattern and re.fullmatch(self.pattern, value):
            return ""
        return f"must {self.said()}"

    def said(self) -> str:
        """The rule in words that follow "must"."""
        choices = [f"be one of: {', '.join(self.choices)}"] if self.choices else []
        return " or ".join(choices + ([f"match {self.pattern}"] if self.pattern else []))


class CommandEntry(Setting):
    """`[inventory.commands.*]`: what the name of a command stands for."""

    argv: tuple[str, ...] = Field(min_length=1)
    parameters: dict[str, Parameter] = Field(default_factory=dict)
    directory: Path | None = None
    timeout: float = Field(default=600.0, gt=0, le=LIMIT - 2 * sum(GRACES))
    silence: float | None = Field(default=None, gt=0)
    limits: Limits = Limits()
    environment: str = ""
    reads: bool = False
    preview: tuple[str, ...] = ()
    preview_codes: tuple[int, ...] = (0,)
    preview_timeout: float = Field(default=120.0, gt=0, le=600)
    preview_ignores: Pattern = ""
    preview_verdict: Pattern = ""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        for word in (*self.argv, *self.preview):
            if PLACE.search(word) and not WHOLE.fullmatch(word):
                raise ValueError(f"a placeholder must be a whole word or follow '=': {word}")
        used = {name for word in (*self.argv, *self.preview) for name in PLACE.findall(word)}
        made = {RESULT} if any(RESULT in PLACE.findall(word) for word in self.preview) else set()
        if odd := (used - made) ^ set(self.parameters):
            raise ValueError(f"argv and parameters must name the same placeholders: {', '.join(sorted(odd))}")
        if "from" in used:
            raise ValueError("a placeholder cannot be called 'from': in plans that word marks a reference")
        programs = [words for words in (self.argv, self.preview) if words]
        if any(PLACE.search(words[0]) or _shell_line(words) for words in programs):
            raise ValueError(
                "argv must begin with a program and hold no shell line; name a script file instead"
            )
        return self


class CommandData(BaseModel):
    """`output` is the end of what the command printed; `log` is the file with all of it."""

    exit_code: int
    seconds: float
    output: str
    log: str


class Command(Worker):
    """Runs commands that the operator named in signoff.toml, with checked arguments."""

    name = "command"

    @action(
        changes=True,
        timeout=LIMIT,
        typical=30,
        target="command:{command}",
        criteria=SUCCESS,
        says="*Run* {command}[ with {arguments}]",
        leaves="{command} was run",
    )
    def run_command(self, params: CommandParams, ctx: Context) -> Report[CommandData]:
        """Runs a command of the operator that changes something."""
        return self._run(params, ctx, reads=False)

    @action(
        changes=False,
        repeat="safe",
        timeout=LIMIT,
        typical=30,
        criteria=SUCCESS,
        says="*Run* {command}[ with {arguments}]",
    )
    def read_command(self, params: CommandParams, ctx: Context) -> Report[CommandData]:
        """Runs a command of the operator that only reads (`reads = true`)."""
        return self._run(params, ctx, reads=True)

    @run_command.preview
    @read_command.preview
    def preview_command(self, params: CommandParams, ctx: Context) -> Preview:
        entry = self._entry(params.command)
        where = f" in {entry.directory}" if entry.directory else ""
        place = f" on {entry.environment}" if entry.environment else ""
        line = shlex.join(argv(entry, params, Path(dry_run.RESULT)))
        words = f"Runs `{line}`{where}{place}; at most {entry.timeout:.0f} s."
        if not entry.preview:
            return Preview(words, found=(f"at most {entry.timeout:.0f} s",))
        return self._dry_run(entry, params, ctx, words)

    def _dry_run(self, entry: CommandEntry, params: CommandParams, ctx: Context, words: str) -> Preview:
        """The operator's own dry run. A file that it leaves is what the command is then given."""
        asked = entry.model_copy(update={"timeout": entry.preview_timeout, "argv": entry.preview})
        try:
            done = self._execute(asked, params, ctx)
        except (Permanent, OSError) as error:
            return dry_run.refused(words, "could not be run", str(error))
        (ctx.scratch / LOOKED).touch()
        if why := dry_run.trouble(done, entry.preview_codes):
            return dry_run.refused(words, why, dry_run.last_words(done))
        text = dry_run.said(done, ctx.scratch / RESULT)
        return dry_run.shown(words, text, ignores=entry.preview_ignores, verdict=entry.preview_verdict)

    def _demand_dry_run(self, entry: CommandEntry, params: CommandParams, ctx: Context) -> None:
        """Where nobody could be shown one, as for a rollback: it must at least work now."""
        if entry.preview and not (ctx.place / LOOKED).exists():
            found = self._dry_run(entry, params, ctx, "")
            if dry_run.failed(found):
                raise Permanent(f"'{params.command}' was not run.{found.text}")

    def hint(self, table: str, name: str) -> str:
        """Which action runs this command and which arguments it takes; "" when its entry cannot be used."""
        try:
            entry = read_entry(CommandEntry, table, name, self.entry(table, name))
        except Permanent:
            return ""
        taken = [f"{word} must {rule.said()}" for word, rule in entry.parameters.items()]
        action = "read_command" if entry.reads else "run_command"
        return f"only {action}; arguments: {', '.join(taken) or 'none'}"

    def needs(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Each command's programs, folder and secrets."""
        for name in self.inventory.get("commands", {}):
            yield f"command {name}", partial(self._reach, name)

    def _reach(self, name: str) -> None:
        entry = self._entry(name)
        secrets(entry.secrets_env, f"commands.{name}")
        for words in filter(None, (entry.argv, entry.preview)):
            process.find(words[0], entry.directory or Path("/"), entry.env)

    def _entry(self, name: str) -> CommandEntry:
        return read_entry(CommandEntry, "commands", name, self.entry("commands", name))

    def _run(self, params: CommandParams, ctx: Context, *, reads: bool) -> Report[CommandData]:
        entry = self._entry(params.command)
        if entry.reads != reads:
            kind, right = ("reads", "read_command") if entry.reads else ("may change things", "run_command")
            raise Permanent(f"'{params.command}' {kind}, so only {right} may run it; nothing was run.")
        self._demand_dry_run(entry, params, ctx)
        done = self._execute(entry, params, ctx)
        return judge(done, params.command, entry).model_copy(update={"artifacts": (str(done.log),)})

    def _execute(self, entry: CommandEntry, params: CommandParams, ctx: Context) -> Finished:
        words = argv(entry, params, ctx.place / RESULT)
        secret = secrets(entry.secrets_env, f"commands.{params.command}")
        so_far = SoFar(ctx)
        return process.run(
            words,
            cwd=entry.directory or ctx.scratch,
            env={**entry.env, **secret},
            timeout=entry.timeout,
            scratch=ctx.scratch,
            key=ctx.key,
            cancelled=so_far.look,
            on_line=so_far.hear,
            graces=GRACES,
            silence=entry.silence,
            limits=entry.limits,
            secrets=[*secret.values()],
        )


def argv(entry: CommandEntry, params: CommandParams, file: Path) -> list[str]:
    """The words to run; each value is one word, or the end of one, whatever stands in it."""
    _allow(entry, params)
    values = {**params.arguments, RESULT: str(file)}
    return [PLACE.sub(lambda found: values[found[1]], word) for word in entry.argv]


def judge(done: Finished, name: str, entry: CommandEntry) -> Report[CommandData]:
    """Exit code 0 is success, unless the command had to be ended."""
    text = done.text().strip()
    data = CommandData(
        exit_code=done.returncode, seconds=round(done.seconds, 2), output=text[-SHOWN:], log=str(done.log)
    )
    where = f" on {entry.environment}" if entry.environment else ""
    last = " / ".join([line.strip() for line in text.splitlines() if line.strip()][-3:])[-300:]
    broken, code = done.broken_off(), f"exit code {done.returncode}" if done.returncode else ""
    if ending := f"it {broken}; ended" if broken else code:
        left = "" if entry.reads else " What it did until then was not undone."
        cause = last or "it printed nothing"
        return Report.failed(
            f"{name} failed{where}: {cause} ({ending} after {done.seconds:.1f} s).{left}", data
        )
    said = f": {last}" if last else ""
    return Report.ok(f"{name} ran{where} in {done.seconds:.1f} s, exit code 0{said}", data)


def _allow(entry: CommandEntry, params: CommandParams) -> None:
    given, known = set(params.arguments), set(entry.parameters)
    faults = [f"'{name}' is unknown" for name in sorted(given - known)]
    faults += [f"'{name}' is missing" for name in sorted(known - given)]
    for name in sorted(given & known):
        if fault := entry.parameters[name].fault(params.arguments[name]):
            faults.append(f"'{name}' {fault}")
    if faults:
        raise Permanent(
            f"The arguments of '{params.command}' are refused: {'; '.join(faults)}. Nothing was run."
        )


def _dashed(value: str) -> bool:
    """Whether it begins with a dash, also with one that only looks like it: programs may normalise it."""
    return value[:1] == "\N{MINUS SIGN}" or unicodedata.category(value[:1] or "x") == "Pd"


def _shell_line(words: tuple[str, ...]) -> bool:
    """Whether a shell is given a line to read: `sh -c …`, also behind `env` or `sudo`."""
    shells = [place for place, word in enumerate(words) if Path(word).name in SHELLS]
    return any(re.fullmatch(r"-\w*c\w*", word) for place in shells for word in words[place + 1 :])
