"""Rows of a table as models, by statements that are compiled once: a tenth of what a session takes."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Connection, Update, select
from sqlalchemy.orm.attributes import manager_of_class
from sqlmodel import SQLModel

from storage.database.statements import Prepared, table

M = TypeVar("M", bound=SQLModel)


class Models(Generic[M]):
    """What is asked for again and again. Nothing holds what it finds, as with `Transaction.rows`."""

    def __init__(self, model: type[M], *where: ColumnElement[bool], order: Any = None) -> None:
        self._found = _prepared(model, select(table(model)).where(*where).order_by(order))

    @classmethod
    def moved(cls, model: type[M], change: Update) -> "Models[M]":
        """The rows that a change has met, as they are after it."""
        made = cls(model)
        made._found = _prepared(model, change.returning(*table(model).c))
        return made

    def all(self, c: Connection, **values: Any) -> list[M]:
        return self._found.all(c, **values)

    def first(self, c: Connection, **values: Any) -> M | None:
        return next(iter(self.all(c, **values)), None)


def _prepared(model: type[SQLModel], statement: Any) -> Prepared[Any]:
    return Prepared(statement, _maker(model))


def _maker(model: type[M]) -> Any:
    """As a row type is made, by position, but into the model."""
    names, manager = tuple(column.name for column in table(model).c), manager_of_class(model)

    class Made:
        _fields = names

        @staticmethod
        def _make(cells: Sequence[Any]) -> M:
            made: Any = model.model_construct(**dict(zip(names, cells, strict=True)))
            manager.setup_instance(made)
            return made  # type: ignore[no-any-return] # it is the model

    return Made
