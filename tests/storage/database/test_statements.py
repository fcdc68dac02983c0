"""Whatever a statement and its values are, the short way through it does what SQLAlchemy's own way does."""

import json
import re
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Connection,
    Engine,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    and_,
    bindparam,
    cast,
    delete,
    exists,
    func,
    literal,
    literal_column,
    not_,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert  # SQLite knows its ON CONFLICT, too

from storage.database import statements
from storage.database.statements import FEW, Among, Compiled, Prepared, Together
from storage.database.tables import Moment

Run = Callable[[Connection], Any]
SCRATCH = MetaData()
ITEM = Table(
    "scratch_item",
    SCRATCH,
    Column("id", Integer, primary_key=True),
    Column("key", String, unique=True),
    Column("text", Text),
    Column("n", Integer),
    Column("flag", Boolean),
    Column("ratio", Float),
    Column("data", JSON),
    Column("order", String),  # a word of SQL, so that it is quoted
    Column("at", Moment),
)
KIN = Table(
    "scratch_kin",
    SCRATCH,
    Column("id", Integer, primary_key=True),
    Column("item", Integer),
    Column("note", Text),
)
SEEDS = 24  # rows that are there before
MINE = ITEM.c.id == bindparam("row")
CELLS = [column for column in ITEM.c if column.name not in {"id", "key"}]
# What has a meaning in SQL, in a driver's parameters or in how statements are put together.
NASTY = (
    *("", "$1", "$2 $11", "%", "%%", "%s", "%(p0)s", "%(cell_text)s", ":p0", "?", "'", "''", '"', "\\"),
    *("\\'", "a VALUES (b", " WHERE ", "x WHERE y VALUES z", ") SELECT 1 --", "/*", "E'\\n'", "{}", "null"),
    *("\n\t", "𝄞é"),
)

letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
texts = st.sampled_from(NASTY) | st.text(letters, max_size=8)
whole = st.sampled_from([0, 1, -1, 2**31 - 1, -(2**31)]) | st.integers(-1000, 1000)
zones = st.sampled_from([timezone(timedelta(hours=hours)) for hours in (-11, 0, 5.5, 13)])
moments = st.builds(
    lambda seconds, zone: datetime.fromtimestamp(seconds, UTC).astimezone(zone), st.floats(1e8, 7e9), zones
)
numbers = whole | st.floats(allow_nan=False, allow_infinity=False)
documents = st.recursive(
    st.none() | st.booleans() | numbers | texts | st.just("\0"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "text": st.none() | texts,
    "n": st.none() | whole,
    "flag": st.none() | st.booleans(),
    "ratio": st.none() | st.floats(),
    "data": documents,
    "order": st.none() | texts,
    "at": st.none() | moments,
}
rows = st.fixed_dictionaries(dict(VALUES))


@dataclass
class Binds:
    """The parameters of a statement, as it is built: some of them, and their values."""

    draw: Any
    given: dict[str, Any] = field(default_factory=dict)

    def value(self, column: Column[Any], drawn: Any) -> Any:
        """A value in the statement: written into it, or as a parameter."""
        if self.draw(st.booleans()):
            return literal(drawn, column.type)
        name = f"p{len(self.given)}"
        self.given[name] = drawn
        return bindparam(name, type_=column.type)


@dataclass(frozen=True)
class Asked:
    """A statement that is run once: as we write it, as plain SQLAlchemy has it, and its values."""

    ours: Any
    plain: Any
    given: dict[str, Any]


@dataclass(frozen=True)
class Write:
    """A statement, and the sets of values that it is run for."""

    statement: Any
    rows: list[dict[str, Any]]


def compared(draw: Any, binds: Binds) -> Any:
    column = draw(st.sampled_from([column for column in CELLS if column.name != "data"]))
    value = binds.value(column, draw(VALUES[column.name].filter(lambda one: one is not None)))
    return draw(st.sampled_from([column == value, column != value, func.coalesce(column, value) == value]))


def odd(draw: Any, binds: Binds) -> Any:
    """What SQLAlchemy writes in an odd way: percent signs, subqueries, text as it is."""
    other = KIN.c.note != binds.value(KIN.c.note, draw(texts))
    kin = exists().where(KIN.c.item == ITEM.c.id, other).correlate(ITEM)
    written = literal_column("'50% of %s for $1 WHERE x VALUES y %%'")
    return draw(
        st.sampled_from(
            [
                ITEM.c.text.contains(draw(texts), autoescape=True),
                ITEM.c.text.startswith(binds.value(ITEM.c.text, draw(texts))),
                ITEM.c.n % 7 == binds.value(ITEM.c.n, draw(st.integers(0, 6))),
                ITEM.c.text.concat(written) != binds.value(ITEM.c.text, draw(texts)),
                ITEM.c.at.is_(None),
                kin,
            ]
        )
    )


def condition(draw: Any, binds: Binds, depth: int = 2) -> Any:
    if depth and draw(st.booleans()):
        parts = [condition(draw, binds, depth - 1) for _ in range(draw(st.integers(1, 3)))]
        return draw(st.sampled_from([and_(*parts), or_(*parts), not_(parts[0])]))
    return draw(st.sampled_from([compared, odd]))(draw, binds)


@st.composite
def questions(draw: Any) -> Asked:
    binds, members = Binds(draw), draw(st.lists(whole | st.integers(1, SEEDS), max_size=5))
    shown = draw(st.lists(st.sampled_from([*ITEM.c]), min_size=1, unique=True))
    base = select(*shown).order_by(ITEM.c.id)
    if draw(st.booleans()):
        kin = base.outerjoin(KIN, KIN.c.item == ITEM.c.id).order_by(KIN.c.id)
        base = kin.add_columns(KIN.c.note.label("note"))
    elif draw(st.booleans()):
        base = base.with_for_update()
    if draw(st.booleans()):
        base = base.where(condition(draw, binds))
    if draw(st.booleans()):
        base = base.limit(binds.value(ITEM.c.n, draw(st.integers(0, 9))))
    if draw(st.booleans()):
        return Asked(base, base, binds.given)
    among = draw(st.sampled_from([ITEM.c.id, ITEM.c.n]))
    plain = base.where(among.in_(bindparam("members", expanding=True)))
    return Asked(base.where(Among(among, "members")), plain, binds.given | {"members": members})


@st.composite
def conflicts(draw: Any) -> Asked:
    """An insert that may meet a row that is there, and tells what it wrote."""
    cells = {"key": f"key-{draw(st.integers(1, SEEDS * 2))}", **draw(rows)}
    binds = Binds(draw)
    values = {name: binds.value(ITEM.c[name], cell) for name, cell in cells.items()}
    back = draw(st.lists(st.sampled_from([*ITEM.c]), min_size=1, unique=True))
    statement = insert(ITEM).values(**values).on_conflict_do_nothing().returning(*back)
    return Asked(statement, statement, binds.given)


def cells(draw: Any, columns: list[Column[Any]], *, fresh: bool) -> tuple[dict[str, Any], list[str]]:
    """What columns are set to, and the names of those that get a value of their own for each row."""
    made, own = dict[str, Any](), list[str]()
    for column in columns:
        how = draw(st.sampled_from(["fixed", "own", "own", "worked out"]))
        if how == "fixed":
            made[column.name] = draw(VALUES[column.name])
            continue
        own.append(column.name)
        made[column.name] = bindparam(f"cell_{column.name}", type_=column.type)
        if how == "worked out" and not fresh and column.name != "data":
            made[column.name] = func.coalesce(column, made[column.name])
        elif how == "worked out" and column.name == "text":
            made["text"] = made["text"].concat(literal_column("' 5% $1 WHERE '")).concat(draw(texts))
    return made, own


def sets(draw: Any, own: list[str], keys: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each of these rows its values."""
    return [key | {f"cell_{name}": draw(VALUES[name]) for name in own} for key in keys]


chosen = st.lists(st.sampled_from(CELLS), min_size=1, unique=True)


def updates(draw: Any, ids: list[int]) -> Write:
    made, own = cells(draw, draw(chosen), fresh=False)
    where = [MINE]
    if draw(st.booleans()):
        where.append(or_(ITEM.c.text.is_(None), ITEM.c.text != draw(texts)))
    statement = update(ITEM).where(*where).values(**made)
    return Write(statement, sets(draw, own, [{"row": one} for one in ids]))


def inserts(draw: Any, ids: list[int]) -> Write:
    made, own = cells(draw, draw(chosen), fresh=True)
    statement = insert(ITEM).values(key=bindparam("name"), **made).inline()
    return Write(statement, sets(draw, own, [{"name": f"new {one} of %s"} for one in ids]))


def deletes(draw: Any, ids: list[int]) -> Write:
    other = func.coalesce(ITEM.c.text, "") != draw(texts)
    return Write(delete(ITEM).where(MINE, other), [{"row": one} for one in ids])


KINDS: tuple[Callable[[Any, list[int]], Write], ...] = (updates, inserts, deletes)


def adds_once(kinds: list[Any]) -> bool:
    return kinds.count(inserts) <= 1


@st.composite
def writes(draw: Any, most: int = 3) -> dict[str, Write]:
    """Some writes under their names; no two touch the same row, and only one adds rows."""
    free, made = draw(st.permutations(range(1, SEEDS + 1))), dict[str, Write]()
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=most).filter(adds_once))
    for place, kind in enumerate(kinds):
        share = draw(st.sampled_from([0, 1, 2, 3, FEW, FEW + 1]))
        ids, free = free[:share], free[share:]
        made[f"part{place}"] = kind(draw, ids)
    return made


# What both ways find and leave


@pytest.fixture(scope="module")
def scratch() -> Iterator[Callable[[Engine], Engine]]:
    """Makes the tables in a database, and takes them away again at the end."""
    made = list[Engine]()

    def make(engine: Engine) -> Engine:
        if engine not in made:
            SCRATCH.create_all(engine.execution_options(writes=True))
            made.append(engine)
        return engine

    yield make
    for engine in made:
        SCRATCH.drop_all(engine.execution_options(writes=True))


@contextmanager
def seeded(engine: Engine, seeds: list[dict[str, Any]]) -> Iterator[Connection]:
    """A transaction that finds these rows, numbered from one, and leaves nothing behind."""
    with engine.execution_options(writes=True).connect() as c, c.begin() as transaction:
        if engine.dialect.name == "postgresql":
            c.exec_driver_sql("TRUNCATE scratch_item, scratch_kin RESTART IDENTITY")
        c.execute(insert(ITEM), [{"key": f"key-{place}", **cells} for place, cells in enumerate(seeds, 1)])
        c.execute(insert(KIN), [{"item": 1 + n % 5, "note": NASTY[n]} for n in range(len(NASTY))])
        yield c
        transaction.rollback()


def outcome(engine: Engine, seeds: list[dict[str, Any]], work: Run) -> str:
    """What comes back, and every row afterwards as the database keeps it; or the error's kind."""
    with seeded(engine, seeds) as c:
        try:
            found = [(row._fields, *row) for row in work(c) or ()]
        except Exception as error:  # noqa: BLE001 # whatever it is, it must be the same
            return type(getattr(error, "orig", None) or error).__name__
        # In one JSON text there may be blanks that are not in another; but NULL is not the same as null.
        kept = c.exec_driver_sql("SELECT item.*, data IS NULL FROM scratch_item item ORDER BY id")
        return repr((found, [tuple(row) for row in kept]))  # as text: NaN is not itself


def prepared(statement: Any) -> Prepared[Any]:
    """With rows that have the columns of the statement."""
    return Prepared(statement, namedtuple("Row", [column.key for column in statement.exported_columns]))


def same(engine: Engine, seeds: list[dict[str, Any]], ours: Run, plain: Run) -> None:
    wanted = outcome(engine, seeds, plain)

    assert wanted.startswith("("), wanted  # rows, and no error: statements that do nothing show nothing
    assert outcome(engine, seeds, ours) == wanted


@dataclass(frozen=True)
class Work:
    """Writes that are sent together, once or in two halves, with a question at their end or without."""

    writes: dict[str, Write]
    asked: Asked | None = None
    twice: bool = False

    def stages(self) -> list[dict[str, list[dict[str, Any]]]]:
        rows = {name: write.rows for name, write in self.writes.items()}
        if not self.twice:
            return [rows]
        return [
            {name: some[:1] for name, some in rows.items()},
            {name: some[1:] for name, some in rows.items()},
        ]

    def plainly(self, c: Connection) -> list[Any]:
        found = list[Any]()
        for stage in self.stages():
            found += c.execute(self.asked.plain, self.asked.given) if self.asked else []
            for name, rows in stage.items():
                if rows:
                    c.execute(self.writes[name].statement, rows)
        return found

    def together(self, c: Connection) -> list[Any]:
        parts = {name: Prepared(write.statement) for name, write in self.writes.items()}
        made = Together(last=prepared(self.asked.ours) if self.asked else None, **parts)
        asked = self.asked.given if self.asked else {}
        return [row for stage in self.stages() for row in made.run(c, asked, **stage)]

    def one_by_one(self, c: Connection) -> None:
        for write in self.writes.values():
            Prepared(write.statement).many(c, write.rows)


several = st.lists(rows, min_size=1, max_size=4).map(lambda few: [few[n % len(few)] for n in range(SEEDS)])
works = st.builds(Work, writes(), st.none() | questions(), st.booleans())
often = settings(max_examples=60, suppress_health_check=[*HealthCheck])


def test_a_statement_brings_and_leaves_what_sqlalchemy_does(engine, scratch):
    scratch(engine)

    @often
    @given(several, questions() | conflicts())
    def check(seeds: list[dict[str, Any]], asked: Asked) -> None:
        ours, plain = prepared(asked.ours), asked.plain
        same(
            engine, seeds, lambda c: ours.all(c, **asked.given), lambda c: c.execute(plain, asked.given).all()
        )

    check()


def test_many_writes_leave_what_sqlalchemy_does(engine, scratch):
    scratch(engine)

    @often
    @given(several, st.builds(Work, writes()))
    def check(seeds: list[dict[str, Any]], work: Work) -> None:
        same(engine, seeds, work.one_by_one, work.plainly)

    check()


def compare_together(engine: Engine, how: settings) -> None:
    @how
    @given(several, works)
    def check(seeds: list[dict[str, Any]], work: Work) -> None:
        same(engine, seeds, work.together, work.plainly)

    check()


def test_writes_together_leave_what_sqlalchemy_does(engine, scratch):
    compare_together(scratch(engine), often)


# The comparison can fail


def one_too_far(self: Compiled, template: str, after: int = 0) -> str:
    return NUMBERED(self, template, after + 1 if after else 0)


def cut_after_writing(self: Compiled, compiled: Any) -> None:
    """The values stand in the statement before it is cut in halves."""
    NUMBER(self, compiled)
    names = {name: f"%({name})s" for name in self.order}
    self.template = statements._filled(self.template, self.literals | names)


def without_null(self: Compiled, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: None if cell == "null" else cell for name, cell in NAMED(self, values).items()}


NUMBERED, NUMBER, NAMED, CELLS_OF = Compiled.numbered, Compiled._number, Compiled.named, statements._cells
MISTAKES = {
    "numbers go on one too far": (Compiled, "numbered", one_too_far),
    "percent signs stay double": (statements, "PLACE", re.compile(r"%\((\w+)\)s")),
    "values are there before it is cut": (Compiled, "_number", cut_after_writing),
    "rows are mixed up": (statements, "_cells", lambda *given: CELLS_OF(*given)[::-1]),
    "the null of JSON becomes NULL": (Compiled, "named", without_null),
}
once = settings(
    often,
    max_examples=1000,
    phases=[Phase.generate],
    report_multiple_bugs=False,
)


@pytest.mark.postgres
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_comparison_finds(postgres_engine, scratch, monkeypatch, mistake):
    monkeypatch.setattr(*MISTAKES[mistake])

    with pytest.raises(AssertionError):
        compare_together(scratch(postgres_engine), once)


# What the comparison has found, one by one


def wrote(engine: Engine, statement: Any, values: list[dict[str, Any]]) -> list[Any]:
    """The rows after these writes, sent together with another one."""
    both = Together(first=Prepared(delete(ITEM).where(MINE)), part=Prepared(statement))
    with seeded(engine, [BLANK] * SEEDS) as c:
        both.run(c, first=[{"row": SEEDS}], part=values)
        return [*c.execute(select(ITEM).where(ITEM.c.id <= len(values)).order_by(ITEM.c.id))]


BLANK = dict.fromkeys(VALUES)
shapes = pytest.mark.parametrize("count", [2, FEW + 1], ids=["few", "many"])


@shapes
@pytest.mark.parametrize("text", ["$1", "a WHERE b", "a VALUES b", "100 %", "%(row)s"])
def test_a_value_that_looks_like_sql_is_written_as_it_is(engine, scratch, text, count):
    statement = update(ITEM).where(MINE, ITEM.c.key != text).values(text=text)
    found = wrote(scratch(engine), statement, [{"row": place + 1} for place in range(count)])

    assert [row.text for row in found] == [text] * count


@pytest.mark.parametrize("count", [4, FEW + 1], ids=["few", "many"])
def test_json_is_kept_whatever_it_holds(engine, scratch, count):
    values = [[None, "\0", {"a": ["\0", 1.5, None]}, "half \ud800"][n % 4] for n in range(count)]
    statement = update(ITEM).where(MINE).values(data=bindparam("v"))
    found = wrote(scratch(engine), statement, [{"row": n + 1, "v": value} for n, value in enumerate(values)])

    assert [row.data for row in found] == values


@shapes
def test_a_number_without_end_is_kept(engine, scratch, count):
    statement = update(ITEM).where(MINE).values(ratio=bindparam("v"))
    found = wrote(scratch(engine), statement, [{"row": n + 1, "v": float("-inf")} for n in range(count)])

    assert [row.ratio for row in found] == [float("-inf")] * count


@pytest.mark.parametrize("value", [{"a": 1}, [], "text", None])
def test_json_can_stand_in_a_statement(engine, scratch, value):
    with seeded(scratch(engine), [BLANK] * SEEDS) as c:
        Prepared(update(ITEM).where(MINE).values(data=value)).run(c, row=1)
        kept = c.execute(select(cast(ITEM.c.data, Text)).where(ITEM.c.id == 1)).scalar_one()

    assert json.loads(kept) == value


def test_a_value_that_stands_in_the_statement_is_not_replaced(engine, scratch):
    with seeded(scratch(engine), [BLANK] * SEEDS) as c:
        Prepared(update(ITEM).where(MINE).values(text="fixed")).run(c, row=1, text="other")

        assert c.execute(select(ITEM.c.text).where(ITEM.c.id == 1)).scalar_one() == "fixed"


def test_a_value_that_is_not_given_is_missed(engine, scratch):
    with seeded(scratch(engine), [BLANK] * SEEDS) as c, pytest.raises(KeyError, match="v"):
        Prepared(update(ITEM).where(MINE).values(text=bindparam("v"))).run(c, row=1)


@pytest.mark.postgres
def test_text_that_looks_like_a_parameter_is_none(postgres_engine):  # on SQLite it is one for SQLAlchemy
    with postgres_engine.begin() as c:
        (found,) = prepared(select(literal_column("'5 %(row)s %%'").label("text"))).all(c)

    assert found.text == "5 %(row)s %%"


# What is refused


NEW = insert(ITEM).values(key=bindparam("name"))
REFUSED = {
    "an update of all rows": update(ITEM).values(n=bindparam("v")),
    "an update from another table": update(ITEM).where(MINE, KIN.c.item == ITEM.c.id).values(text=KIN.c.note),
    "a delete by another table": delete(ITEM).where(MINE, KIN.c.item == ITEM.c.id),
    "an insert that may meet a row": NEW.on_conflict_do_nothing(),
    "an insert that tells what it wrote": NEW.returning(ITEM.c.id),
    "an insert of several rows": insert(ITEM).values([{"n": 1}, {"n": 2}]).inline(),
    "an insert of what is found": insert(KIN).from_select(["item"], select(ITEM.c.id)).inline(),
    "a question": select(ITEM.c.id).where(MINE),
    "text that looks like the place to cut": update(ITEM)
    .where(MINE, literal_column("' WHERE '") != "x")
    .values(n=1),
    "a parameter without a type": update(ITEM).where(MINE, func.lower(bindparam("v")) == "x").values(n=1),
}


@pytest.mark.postgres
@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_sent_together_is_refused_at_its_first_use(postgres_engine, kind):
    made = Together(part=Prepared(REFUSED[kind]))
    with (
        postgres_engine.begin() as c,
        pytest.raises(TypeError, match=r"cannot be written together|need a type"),
    ):
        made.run(c, part=[{"row": 1, "name": "x", "v": 1}])


def test_a_list_is_passed_by_among(engine):
    with engine.begin() as c, pytest.raises(TypeError, match="A list is passed by Among"):
        Prepared(select(ITEM.c.id).where(ITEM.c.id.in_([1, 2]))).all(c)


def test_a_statement_begins_no_transaction(engine):
    with engine.connect() as c, pytest.raises(RuntimeError, match="Begin a transaction first"):
        statements.ONE.all(c)
