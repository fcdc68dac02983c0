"""What a code proves. It is looked at here, and neither stored, logged nor journalled; a wrong one counts."""

from bot.context import Bot
from bot.policy.totp import counter_of
from storage.database.tables import Factor
from storage.errors import NotAllowed
from storage.reading.plan_view import PlanView
from storage.safeguards.second_factors import LIMIT, Proof

USED = "That code was used already. Please wait for the next one, and try again."


def check_code(bot: Bot, user: str, view: PlanView, code: str, verb: str) -> Proof:
    """The proof in a code; NotAllowed with what to do, and the failure on record."""
    safe, factor = bot.safe, demand_factor(bot, user)
    if not code.strip() or safe is None:
        raise NotAllowed("Please type the six digits that your authenticator app shows now.")
    counter = counter_of(safe.opened(user, factor.sealed), code, bot.store.clock())
    if counter > factor.counter:
        return Proof("code", counter, factor.failures)
    if counter:
        bot.store.refuse(view.id, verb, user=user, reason="the code was used already")
        raise NotAllowed(USED)
    left = LIMIT - bot.store.mistake(view.id, verb, user=user)
    raise NotAllowed(
        f"That code is not right. Tries left: {left}. Does your phone's clock go right?"
        if left > 0
        else locked(user)
    )


def demand_factor(bot: Bot, user: str) -> Factor:
    """Their second factor, if they have one that can be shown now; NotAllowed with what to do otherwise."""
    if bot.safe is None:
        raise NotAllowed(
            "This plan needs a second factor, and I have no key to check one with. An operator must set "
            "SIGNOFF_FACTOR_KEY; until then it can be approved with `signoff approve` and an SSH signature."
        )
    factor = bot.store.factor(user)
    if factor is None:
        raise NotAllowed(
            "This plan needs a second factor, and you have none yet. An operator enrols you on the server's "
            f"terminal: `signoff factor enrol {user}`."
        )
    if factor.failures >= LIMIT:
        raise NotAllowed(locked(user))
    return factor


def locked(user: str) -> str:
    return (
        f"Your second factor is locked after {LIMIT} wrong codes in a row. If they were not yours, tell an "
        f"administrator. An operator unlocks it on the server's terminal: `signoff factor unlock {user}`."
    )
