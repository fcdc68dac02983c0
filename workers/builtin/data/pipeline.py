"""What a plan may say about rows: a pipeline of typed steps. No code, no SQL, no expressions."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from workers.builtin.shared.json_values import Cell

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Names = Annotated[tuple[Name, ...], Field(min_length=1, max_length=100)]
Function = Literal["count", "distinct", "sum", "mean", "min", "max", "median", "p95"]
Comparison = Literal["eq", "ne", "lt", "le", "gt", "ge", "contains", "in", "missing", "present"]


class Part(BaseModel):
    """Closed and frozen: what was approved is what runs."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Select(Part):
    """Keep these columns, in this order; `rename` gives some of them another name."""

    op: Literal["select"]
    columns: Names
    rename: dict[Name, Name] = Field(default_factory=dict, max_length=100)


class Where(Part):
    """One condition on one column. `in` takes a list, `missing` and `present` take no value."""

    column: Name
    is_: Comparison = Field(alias="is")
    value: Cell | list[Cell] = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.is_ in ("missing", "present"):
            fits = self.value is None
        elif self.is_ == "in":
            fits = isinstance(self.value, list) and None not in self.value and len(self.value) <= 1000
        else:
            fits = self.value is not None and not isinstance(self.value, list)
        if not fits:
            raise ValueError(f"'{self.is_}' does not take this value; use 'missing' to find empty cells")
        return self


class Filter(Part):
    """Keep rows for which all conditions hold (or, with `match = "any"`, one of them)."""

    op: Literal["filter"]
    where: tuple[Where, ...] = Field(min_length=1, max_length=20)
    match: Literal["all", "any"] = "all"


class Calculate(Part):
    """A new column from two: `left` and `right` are columns, or `right` is a number."""

    op: Literal["calculate"]
    column: Name
    left: Name
    operator: Literal["add", "subtract", "multiply", "divide"]
    right: Name | float


class Measure(Part):
    """One value per group; `count` without a column counts rows."""

    function: Function
    column: str = Field(default="", max_length=200)

    @model_validator(mode="after")
    def _of_something(self) -> Self:
        if not self.column and self.function != "count":
            raise ValueError(f"'{self.function}' needs a column")
        return self


class Aggregate(Part):
    """One row per group, ordered by group; without `by` one row for all."""

    op: Literal["aggregate"]
    by: tuple[Name, ...] = Field(default=(), max_length=20)
    values: dict[Name, Measure] = Field(min_length=1, max_length=50)


class Order(Part):
    column: Name
    descending: bool = False


class Sort(Part):
    """Empty cells come last; rows that are alike keep their order."""

    op: Literal["sort"]
    by: tuple[Order, ...] = Field(min_length=1, max_length=10)


class Limit(Part):
    """Keep the first rows."""

    op: Literal["limit"]
    rows: int = Field(ge=1, le=100_000)


class Join(Part):
    """Add the columns of `other` where `on` is equal; `without` keeps rows that `other` does not have."""

    op: Literal["join"]
    on: Names
    how: Literal["inner", "left", "without"] = "inner"


class Compare(Part):
    """`other` is before, the rows are after: one row per key, the biggest change first."""

    op: Literal["compare"]
    on: Names
    columns: Names


Step = Annotated[
    Select | Filter | Calculate | Aggregate | Sort | Limit | Join | Compare, Field(discriminator="op")
]
# Its parameters may be values that another step reported: nothing is changed by them, and nothing leaves.
Pipeline = Annotated[
    tuple[Step, ...], Field(min_length=1, max_length=20, json_schema_extra={"from_output": True})
]
