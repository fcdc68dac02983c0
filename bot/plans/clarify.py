"""Ask what is missing before there can be a plan: one form, behind a button on the card. Nothing is lost."""

from collections.abc import Iterable, Mapping
from datetime import timedelta

from bot.context import Bot
from bot.planner import planning
from bot.planner.runbooks.book import Planned, Runbook
from bot.planner.runbooks.questions import (
    BY_FORM,
    Field,
    Form,
    Given,
    Missing,
    NeedsAnswers,
    NoPlan,
    answered,
)
from bot.times import when
from bot.untrusted import clip, inert
from storage.contract.states import PlanState
from storage.errors import BadTime, Conflict, SignoffError
from storage.reading.plan_view import PlanView

ROUNDS = 3  # forms for one wish; then the words must be others
PICK = "runbook"
TIRED, LATELY = 3, timedelta(minutes=10)  # so many sentences in vain, in that time: then a form helps more


def given(view: PlanView) -> Given:
    return Given.model_validate_json(view.given) if view.given else Given()


def asked(view: PlanView) -> Form | None:
    return Form.model_validate_json(view.form) if view.form else None


def still_asked(view: PlanView) -> Form:
    """The form of a question that nobody has answered yet."""
    form = asked(view)
    if form is None or view.state != PlanState.planning:
        raise Conflict("This question was answered already.")
    return form


def words(view: PlanView) -> str:
    """The request with what the forms answered, as a model reads it."""
    return "\n".join([view.text, *given(view).said])


def clarify(bot: Bot, view: PlanView, form: Form) -> None:
    """Put the form before the requester, unless enough was asked."""
    if given(view).rounds >= ROUNDS:
        raise SignoffError(form.why)
    bot.store.clarify(view.id, form.model_dump_json(), questions=[field.label for field in form.fields])


def inform(bot: Bot, user: str, view: PlanView, values: Mapping[str, str]) -> dict[str, str]:
    """A filled form: errors at its fields, or it is planned on."""
    return fill_in(bot, bot.demand(user, "answer", view).user, view, values)


def fill_in(bot: Bot, user: str, view: PlanView, values: Mapping[str, str]) -> dict[str, str]:
    """The same by whoever may."""
    form = asked(view)
    if form is None:
        raise Conflict("This question was answered already.")
    values = {field.name: values.get(field.name, "").strip() for field in form.fields}
    if wrong := mistakes(bot, view, form, values):
        return wrong
    known = answered(given(view), _picked(bot, form, values), values)
    bot.store.inform(view.id, known.model_dump_json(), user=user, said=known.said)
    return {}


def mistakes(bot: Bot, view: PlanView, form: Form, values: Mapping[str, str]) -> dict[str, str]:
    """What cannot be used, by field."""
    book = _book(bot, form.runbook)
    wrong = {field.name: "Please fill this in." for field in form.fields if not values[field.name]}
    if wrong or book is None:
        return wrong or {f.name: "A number, please." for f in form.fields if not _fits(f, values[f.name])}
    try:
        planning.picked(book, view.text, bot.config, values, bot.store.contracts(), bot.store.clock())
        _check_time(bot, values)
    except BadTime as error:
        return {"when": str(error)}
    except Missing as error:
        return {field.name: _unknown(book, field, values) for field in error.fields if not field.value}
    except NoPlan as error:
        return {form.fields[-1].name: str(error)}
    return {}


def _check_time(bot: Bot, values: Mapping[str, str]) -> None:
    """A time that nobody can use is said at its field."""
    if said := values.get("when"):
        when.resolve(said, bot.store.clock(), zone=bot.config.zone, windows=bot.config.windows)


def _unknown(book: Runbook, field: Field, values: Mapping[str, str]) -> str:
    """What was typed is none of them; one that would be."""
    known = [example.slots[field.name] for example in book.examples if example.slots.get(field.name)]
    such = f" It looks like {known[0]}." if known else ""
    return f"I cannot use “{clip(inert(values.get(field.name, '')), 60)}” here.{such}"


def by_runbook(bot: Bot, view: PlanView) -> Planned:
    """The runbooks' plan; NeedsAnswers when facts are missing, or a person must pick one."""
    known = given(view)
    book = _book(bot, known.runbook)
    try:
        if book and PICK in known.values:
            why = f"{book.title}: please look whether I understood this."
            fields = planning.form(book, view.text, bot.config)
            raise NeedsAnswers(Form(why=why, fields=fields, runbook=book.id))
        contracts, now = bot.store.contracts(), bot.store.clock()
        if book:
            return planning.picked(book, view.text, bot.config, known.values, contracts, now)
        return planning.plan(view.text, bot.runbooks, bot.config, known.values, contracts=contracts, now=now)
    except Missing as error:
        raise NeedsAnswers(Form(why=str(error), fields=error.fields, runbook=error.runbook)) from None
    except NoPlan as error:
        if not error.offers:
            raise
        raise NeedsAnswers(_pick(str(error), [offer.title for offer in error.offers])) from None


def in_vain(bot: Bot, user: str) -> bool:
    """Whether this person has said things lately that nothing understands, and was told so each time."""
    said = bot.store.answered_alone(user, bot.store.clock() - LATELY)
    return sum(text.startswith(planning.NOTHING) for text in said) >= TIRED


def by_form(bot: Bot, plan_id: int) -> None:
    """Words did not help: ask which of all that can be done is meant, and then what that needs."""
    form = _pick(BY_FORM, [book.title for book in bot.usable()])
    bot.store.clarify(plan_id, form.model_dump_json(), questions=[form.fields[0].label])


def _pick(why: str, titles: Iterable[str]) -> Form:
    label = "Which of these do you mean?"
    return Form(why=why, fields=(Field(name=PICK, label=label, kind="choice", options=tuple(titles)),))


def _picked(bot: Bot, form: Form, values: Mapping[str, str]) -> Form:
    """A runbook that was picked by its title is the one that the rest is about."""
    found = next((book.id for book in bot.runbooks if book.title == values.get(PICK)), "")
    return form.model_copy(update={"runbook": found}) if found and not form.runbook else form


def _book(bot: Bot, key: str) -> Runbook | None:
    return next((book for book in bot.runbooks if book.id == key), None)


def _fits(field: Field, value: str) -> bool:
    return field.kind != "number" or value.isdigit()
