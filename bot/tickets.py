"""Links and tokens for the board: a visit's id, and a seal that only who holds the key can make."""

import hashlib
import hmac
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from storage.database.tables import Visit
from storage.private_files import private_opener

SEAL = 32  # characters: 128 bits


@dataclass(frozen=True)
class Tickets:
    """Where the board is, and the key that both it and the bot hold."""

    address: str = ""  # without an address, there is no board
    key: str = ""

    def page(self, plan_id: int) -> str:
        """The plan's own page; "" without a board."""
        return f"{self.address}/plans/{plan_id}" if self.address else ""

    def said(self, visit: Visit) -> str:
        """What the person is told alone: a link that lets them in once, or a program's token."""
        if visit.way == "token":
            return (
                f"The token “{visit.name}” reads what you may read, for 30 days. It is shown this once:\n"
                f"`{self.ticket(visit)}`\nUse it as `Authorization: Bearer …`; "
                f"`/plan board end {visit.name}` ends it."
            )
        return f"<{self.link(visit)}|Open the board> · for you alone, once, within two minutes."

    def link(self, visit: Visit) -> str:
        return f"{self.address}/enter?t={self.ticket(visit)}"

    def ticket(self, visit: Visit) -> str:
        return f"{visit.id}.{self._seal(visit)}"

    def good(self, ticket: str, visit: Visit | None) -> bool:
        """Whether this ticket is that of this visit. Without a key none is."""
        known = self.ticket(visit) if visit and self.key else ""
        return bool(known) and hmac.compare_digest(known.encode(), ticket.encode())

    def _seal(self, visit: Visit) -> str:
        said = "|".join((visit.id, visit.team, visit.user, visit.way, f"{visit.until.timestamp():.6f}"))
        return hmac.new(self.key.encode(), said.encode(), hashlib.sha256).hexdigest()[:SEAL]


def split_ticket(ticket: str) -> str:
    """The visit's id in it."""
    return ticket.partition(".")[0][:64]


def kept_key(state: Path) -> str:
    """The key of this installation, made at its first use, for who may read the state's directory."""
    path = state / "board.key"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = path.with_suffix(f".{secrets.token_hex(4)}")
        with open(made, "x", encoding="ascii", opener=private_opener) as file:
            file.write(secrets.token_hex(32))
        with suppress(FileExistsError):  # whoever is second takes the first one's
            path.hardlink_to(made)
        made.unlink()
    return path.read_text(encoding="ascii").strip()
