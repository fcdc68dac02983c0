"""What Slack delivers, committed before it is acked. Letters that come at the same time share a commit."""

from collections import deque
from dataclasses import dataclass
from threading import Lock
from typing import Any

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import col

from storage.database.statements import table
from storage.database.tables import Delivery
from storage.transaction import Ledger


@dataclass
class Letter:
    """One delivery on its way into the rows; `new` is None until it is there."""

    row: dict[str, Any]
    new: bool | None = None


class Letters(Ledger):
    """deliver."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._pile, self._counter = deque[Letter](), Lock()

    def deliver(self, key: str, kind: str, body: dict[str, Any]) -> bool:
        """Remember what Slack delivered; False when it was delivered before."""
        body = body | {"text": self.redact.text(str(body["text"]))} if "text" in body else body
        letter = Letter({"key": key, "kind": kind, "body": body})
        self._pile.append(letter)
        with self._counter:  # whoever is first here writes for all who have come meanwhile
            if letter.new is None:
                self._keep(letter)
        return bool(letter.new)

    def _keep(self, mine: Letter) -> None:
        taken: list[Letter] = []
        try:
            with self._write(urgent=True) as c:
                taken += [self._pile.popleft() for _ in range(len(self._pile))]
                found = [self._add(c, letter.row) for letter in taken]
        except BaseException:
            # Nothing was committed: the others try again, and ours is not acked, so it must never be kept.
            taken = taken or [self._pile.popleft() for _ in range(len(self._pile))]
            self._pile.extendleft(letter for letter in reversed(taken) if letter is not mine)
            raise
        for letter, new in zip(taken, found, strict=True):
            letter.new = new

    def _add(self, c: Connection, row: dict[str, Any]) -> bool:
        """Whether it is new. Two bots may be told the same at the same moment."""
        number = c.execute(select(func.coalesce(func.max(col(Delivery.id)), 0) + 1)).scalar_one()
        dialect = sqlite if c.dialect.name == "sqlite" else postgresql
        query = dialect.insert(table(Delivery)).on_conflict_do_nothing(index_elements=["key"])
        made = query.values(**row, id=number, received_at=self.clock()).returning(col(Delivery.key))
        return c.execute(made).first() is not None
