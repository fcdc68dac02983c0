"""Those whose decision is wanted hear of it when there is something to press, and once more at half time."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from bot.cards.blocks import escape, linked, moment, permalink
from bot.cards.face.lines import subject
from bot.cards.phrases import wisher
from bot.context import Bot
from bot.people import Unidentified
from bot.policy.authorize import mention
from bot.untrusted import clip
from storage.config import SignoffConfig, is_group
from storage.intention import Intention
from storage.reading.plan_view import PlanView

HALF, LATE = 0.5, 0.1  # what is left of a proposal's life when people are reminded, and when others hear
FEW = 5  # members of a group who are told one by one; a larger one is called in the thread

Word = tuple[str, str, str]  # (key, person, what to tell them)


class Groups(Protocol):
    """Who is in a group."""

    def members(self, group: str) -> frozenset[str]: ...


def call(store: Intention, groups: Groups, view: PlanView, site: str) -> None:
    """There is something to press: everybody who can hears of it, once; an edited plan calls nobody anew."""
    people, crowds = reach(groups, view)
    began = view.revision if any(step.attempt for step in view.steps) else 0
    tell_all(
        store, ((f"waits:{view.id}:{began}:{user}", user, asked(view, user, people, site)) for user in people)
    )
    if crowds and view.channel[:1] != "D":
        store.call(f"call:{view.id}:{began}", plan_id=view.id, channel=view.channel, text=" ".join(crowds))


def remind(bot: Bot, site: str = "") -> None:
    """Each of these is said once; the outbox's keys remember it."""
    now = bot.store.clock()
    for plan_id in bot.store.waiting(now + HALF * timedelta(hours=longest(bot.config))):
        view = bot.store.as_recorded(bot.store.view(plan_id))
        people, crowds = reach(bot.people, view)
        tell_all(bot.store, due(view, people, bot.config, now, site))
        if crowds and view.channel[:1] != "D" and _left(view, now) <= HALF:
            key = f"half:{view.id}:{view.revision}"
            bot.store.call(key, plan_id=view.id, channel=view.channel, text=" ".join(crowds))


def tell_all(store: Intention, words: Iterable[Word]) -> None:
    wanted = {(key, user): text for key, user, text in words}
    told = store.told(key for key, _ in wanted)
    for (key, user), text in wanted.items():
        if key not in told:
            store.tell(key, user=user, text=text)


def reach(groups: Groups, view: PlanView) -> tuple[list[str], list[str]]:
    """Whom to write to directly, and which groups to call in the thread instead, where many are in them."""
    people = [id_ for id_ in able(view) if not is_group(id_)]
    crowds = []
    for group in filter(is_group, able(view)):
        inside = _members(groups, group)
        people += inside if len(inside) <= FEW else []
        crowds += [] if 0 < len(inside) <= FEW else [group]
    return [user for user in dict.fromkeys(people) if user not in _out(view)], crowds


def _members(groups: Groups, group: str) -> list[str]:
    try:
        return sorted(groups.members(group))
    except Unidentified:
        return []


def able(view: PlanView) -> list[str]:
    """Those whose approval is still wanted: people and groups."""
    return [id_ for id_ in view.approvers if id_ not in _out(view)]


def _out(view: PlanView) -> tuple[str, ...]:
    """Those who have approved, and those who may not since it is theirs."""
    return view.approved_by if view.demands.authors else (*view.authors, *view.approved_by)


def longest(config: SignoffConfig) -> float:
    """The most hours that any proposal waits."""
    rules = (rule.require.within_hours for rule in config.policy.rules if rule.require)
    return max([config.policy.expires_hours, *(hours for hours in rules if hours)])


def asked(view: PlanView, user: str, people: Sequence[str], site: str) -> str:
    """Who asks for what, the way there, who else can, and until when."""
    risk = f" ({view.risk} risk)" if view.risk else ""
    others = [mention(id_) for id_ in people if id_ != user]
    more = [f"{' or '.join(others[:FEW])} can too"] if others else []
    more += [f"open until {moment(view.expires_at)}"] if view.expires_at else []
    said = f"{wisher(view)} asks you to approve *{_what(view)}*{risk}{_where(view)}."
    return f"{said}\n{' · '.join([_way(view, site), *more])}"


def due(
    view: PlanView, people: Sequence[str], config: SignoffConfig, now: datetime, site: str = ""
) -> Iterator[Word]:
    """What should have been said by now: to those who can decide at half time, to others near the end."""
    if view.demands.denied or view.outdated or not view.shown:
        return
    left, number = _left(view, now), f"{view.id}:{view.revision}"
    for user in people if left <= HALF else ():
        text = f"*{_what(view)}* still waits for your decision{_where(view)}.\n{_way(view, site)}"
        yield f"half:{number}:{user}", user, text
    for user in dict.fromkeys((view.requester, *config.people.admins)) if left <= LATE else ():
        who = " or ".join(map(mention, able(view))) or "nobody"
        text = f"*{_what(view)}* closes soon, and nobody has decided. Those who can: {who}."
        yield f"late:{number}:{user}", user, text


def _left(view: PlanView, now: datetime) -> float:
    """The part of a proposal's life that is left."""
    if view.expires_at is None or view.made_at is None:
        return 1.0
    return (view.expires_at - now) / (view.expires_at - view.made_at)


def _what(view: PlanView) -> str:
    return escape(clip(subject(view), 300))


def _where(view: PlanView) -> str:
    return f" in <#{view.channel}>" if view.channel[:1] != "D" else ""


def _way(view: PlanView, site: str) -> str:
    """How to get to where it is decided; what stands in another's direct messages, in the home tab."""
    if view.channel.startswith("D"):
        return "Please decide in my home tab"
    return linked(permalink(site, view.channel, view.card), "Open the plan")
