"""Which machine it is: by its token, which names the person behind it, and what it may ask for where."""

from dataclasses import dataclass

from bot.context import Bot
from storage.database.tables import Token
from storage.errors import NotAllowed, SignoffError


class Unknown(SignoffError):
    """Nobody whom we know."""


class OutOfScope(NotAllowed):
    """Known, and not allowed this."""


@dataclass(frozen=True)
class Machine:
    """Who asks, for whom, and how far that goes. None named means any, but for channels: there none."""

    name: str
    team: str
    owner: str
    channels: tuple[str, ...]
    scopes: tuple[str, ...]
    runbooks: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()

    def demand(self, scope: str) -> None:
        if scope not in self.scopes:
            raise OutOfScope(f"This token may not {scope}; it may {' and '.join(self.scopes) or 'nothing'}.")

    def place(self, channel: str) -> str:
        """The channel that is meant, if it may be asked in."""
        found = channel or (self.channels[0] if len(self.channels) == 1 else "")
        if not found:
            raise SignoffError(f"Please say where: channel is one of {', '.join(self.channels)}.")
        if found not in self.channels:
            raise OutOfScope(f"This token may ask only in {', '.join(self.channels)}.")
        return found


def of_token(token: Token) -> Machine:
    """The machine that a token stands for."""
    scope = (tuple(token.channels), tuple(token.scopes), tuple(token.runbooks), tuple(token.environments))
    return Machine(f"token:{token.name}", token.team, token.owner, *scope)


def identified(bot: Bot, secret: str) -> Machine:
    """The machine that shows this token, while the token holds and its owner might ask themselves."""
    found = bot.store.token_of(secret) if secret.isascii() and len(secret) < 300 else None
    if found is None or found.team != bot.people.home.team:
        raise Unknown("This token opens nothing (any more).")
    machine = of_token(found)
    if why := bot.machine(machine.name, machine.owner).barred:
        raise Unknown(f"The person behind this token may not ask: {why}")
    return machine
