"""data-processing: what comes out is what plain Python says, nothing of a plan is run, nothing gets out."""

import json
import threading
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from bot.planner.prepare import prepare
from bot.planner.validate import Catalogue
from storage.config import SignoffConfig
from storage.contract.spec import PlanSpec, holds
from tests.support.fakes import approve, plan_spec, step, step_row, terms, work
from tests.support.loopback import Page, Site, serving
from tests.support.samples.without import forget
from tests.support.scratch import at
from tests.support.store import Store
from workers.base import Permanent, Report, Transient, check
from workers.builtin.data.columnar import engine
from workers.builtin.data.data_processing import DataProcessing, ProcessParams
from workers.builtin.data.data_retrieval import DataRetrieval
from workers.builtin.data.summary import Summary
from workers.engine.attempt import Attempts
from workers.registry import Registry

ERRORS = [
    {"service": "auth", "hour": 1, "errors": 7, "requests": 100},
    {"service": "mail", "hour": 1, "errors": 0, "requests": 50},
    {"service": "auth", "hour": 2, "errors": 5, "requests": 200},
    {"service": "mail", "hour": 2, "errors": None, "requests": 0},
]
ODD = 'x"; DROP TABLE t1; --'


def process(scratch: Path, rows: Any, *pipeline: dict[str, Any], other: Any = (), **options: Any) -> Any:
    ctx = options.pop("ctx", None) or at(scratch, **options)
    params = ProcessParams.model_validate({"rows": rows, "other": other, "pipeline": pipeline})
    report: Report[Any] = DataProcessing.process.run(DataProcessing({}), params, ctx)
    return report


def out(report: Any) -> Any:
    return json.loads(Path(report.data.file).read_text())


def test_rows_are_filtered_grouped_and_sorted(tmp_path: Path) -> None:
    report = process(
        tmp_path,
        ERRORS,
        {"op": "filter", "where": [{"column": "requests", "is": "gt", "value": 0}]},
        {"op": "aggregate", "by": ["service"], "values": {"total": {"function": "sum", "column": "errors"}}},
        {"op": "sort", "by": [{"column": "total", "descending": True}]},
    )

    assert out(report) == [{"service": "auth", "total": 12}, {"service": "mail", "total": 0}]
    assert report.summary == (
        "4 rows in, 2 out (filter, aggregate, sort): service = auth, total = 12; service = mail, total = 0"
    )
    assert report.data.first == {"service": "auth", "total": 12}
    assert report.artifacts == (report.data.file,)


def test_without_its_engine_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget(monkeypatch, "duckdb")

    with pytest.raises(Permanent, match=r"DuckDB is not installed\. Install signoff\[data\]\."):
        process(tmp_path, ERRORS, {"op": "limit", "rows": 1})


def test_one_number_is_said_in_the_summary_and_can_be_a_criterion(tmp_path: Path) -> None:
    measures = {"total": {"function": "sum", "column": "errors"}, "hours": {"function": "count"}}
    report = process(tmp_path, ERRORS, {"op": "aggregate", "values": measures})

    assert report.summary == "4 rows in, 1 out (aggregate): total = 12, hours = 4"
    assert holds(check("first.total", "lt", 13), report.data.model_dump())
    assert not holds(check("first.total", "lt", 12), report.data.model_dump())


def test_rows_that_are_alike_keep_their_order_and_empty_cells_come_last(tmp_path: Path) -> None:
    rows = [{"n": n, "key": None if n % 7 == 0 else n % 3} for n in range(6_000)]
    report = process(tmp_path, rows, {"op": "sort", "by": [{"column": "key", "descending": True}]})

    assert out(report) == sorted(rows, key=lambda row: (row["key"] is None, -(row["key"] or 0)))


def test_a_rate_is_calculated_and_nothing_is_divided_by_zero(tmp_path: Path) -> None:
    rate = {"op": "calculate", "column": "rate", "left": "errors", "operator": "divide", "right": "requests"}
    percent = {"op": "calculate", "column": "percent", "left": "rate", "operator": "multiply", "right": 100}
    report = process(tmp_path, ERRORS, rate, percent, {"op": "select", "columns": ["rate", "percent"]})

    assert out(report)[0] == {"rate": 0.07, "percent": pytest.approx(7)}
    assert out(report)[3] == {"rate": None, "percent": None}


def test_two_weeks_are_compared_with_the_biggest_change_first(tmp_path: Path) -> None:
    before = [
        {"service": "auth", "errors": 10},
        {"service": "mail", "errors": 4},
        {"service": "old", "errors": 1},
    ]
    after = [
        {"service": "mail", "errors": 4},
        {"service": "auth", "errors": 25},
        {"service": "new", "errors": 2},
    ]
    report = process(
        tmp_path, after, {"op": "compare", "on": ["service"], "columns": ["errors"]}, other=before
    )

    found = [
        (row["service"], row["state"], row["errors_change"], row["errors_percent"]) for row in out(report)
    ]
    assert found == [
        ("auth", "changed", 15, 150.0),
        ("new", "added", 2, None),
        ("old", "removed", -1, -100.0),
        ("mail", "same", 0, 0.0),
    ]
    assert out(report)[0]["errors_before"] == 10
    assert out(report)[0]["errors_after"] == 25


def test_a_comparison_by_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    compare = {"op": "compare", "on": ["service"], "columns": ["errors"]}

    with pytest.raises(Permanent, match=r"auth stands in more than one of the rows\. Aggregate first"):
        process(tmp_path, ERRORS, compare, other=[])


def test_nothing_before_means_that_everything_is_new(tmp_path: Path) -> None:
    compare = {"op": "compare", "on": ["service"], "columns": ["errors"]}
    report = process(tmp_path, [{"service": "auth", "errors": 3}], compare, other=[])

    assert out(report)[0]["state"] == "added"
    assert out(report)[0]["errors_change"] == 3


@pytest.mark.parametrize(
    ("how", "owners"),
    [("inner", ["ann", "ann"]), ("left", ["ann", None, "ann", None]), ("without", None)],
)
def test_rows_are_joined(how: str, owners: list[str | None] | None, tmp_path: Path) -> None:
    teams = [{"service": "auth", "owner": "ann", "hour": 9}]
    report = process(tmp_path, ERRORS, {"op": "join", "on": ["service"], "how": how}, other=teams)

    if owners is None:
        assert [row["service"] for row in out(report)] == ["mail", "mail"]
    else:
        assert [row["owner"] for row in out(report)] == owners
        assert [row["hour"] for row in out(report)][:1] == [1]
        assert [row["hour_other"] for row in out(report)][:1] == [9]


@pytest.mark.parametrize(
    ("where", "hours"),
    [
        ({"column": "service", "is": "eq", "value": "auth"}, [1, 2]),
        ({"column": "service", "is": "in", "value": ["mail", "none"]}, [1, 2]),
        ({"column": "service", "is": "contains", "value": "ut"}, [1, 2]),
        ({"column": "errors", "is": "ne", "value": 7}, [1, 2, 2]),
        ({"column": "errors", "is": "missing"}, [2]),
        ({"column": "errors", "is": "present"}, [1, 1, 2]),
        ({"column": "errors", "is": "le", "value": 5.5}, [1, 2]),
        ({"column": "service", "is": "in", "value": []}, []),
    ],
)
def test_each_condition_means_what_it_says(where: Any, hours: list[int], tmp_path: Path) -> None:
    assert [
        row["hour"] for row in out(process(tmp_path, ERRORS, {"op": "filter", "where": [where]}))
    ] == hours


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"op": "select", "columns": ["error"]}, "There is no column 'error'. Known: service, hour, errors"),
        (
            {"op": "filter", "where": [{"column": "errors", "is": "eq", "value": "7"}]},
            "The column 'errors' holds numbers; it cannot be compared with '7'",
        ),
        (
            {"op": "aggregate", "values": {"x": {"function": "sum", "column": "service"}}},
            "The column 'service' holds text, not numbers",
        ),
        ({"op": "select", "columns": ["hour", "hour"]}, "There would be two columns 'hour'"),
        ({"op": "join", "on": ["hour"]}, "'hour' holds numbers here and text in the other rows"),
    ],
)
def test_a_step_that_does_not_fit_the_rows_is_a_sentence(step: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(Permanent, match=said):
        process(tmp_path, ERRORS, step, other=[{"hour": "one"}])


@pytest.mark.parametrize(
    "step",
    [
        {"op": "sql", "text": "SELECT 1"},
        {"op": "filter", "where": [{"column": "a", "is": "eq"}]},
        {"op": "filter", "where": [{"column": "a", "is": "like", "value": "%"}]},
        {"op": "filter", "where": [{"column": "a", "is": "in", "value": "x"}]},
        {"op": "aggregate", "values": {"x": {"function": "system", "column": "a"}}},
        {"op": "aggregate", "values": {"x": {"function": "sum"}}},
        {"op": "limit", "rows": 0},
        {"op": "select", "columns": []},
        {"op": "select", "columns": ["a"], "where": "1=1"},
    ],
)
def test_what_is_no_pipeline_is_refused_before_it_runs(step: Any) -> None:
    with pytest.raises(ValidationError):
        ProcessParams.model_validate({"rows": [], "pipeline": [step]})


@pytest.mark.hostile
def test_text_that_looks_like_sql_is_only_text(tmp_path: Path) -> None:
    rows = [{ODD: ODD, "n": 1}, {ODD: "plain", "n": 2}]
    report = process(
        tmp_path,
        rows,
        {"op": "filter", "where": [{"column": ODD, "is": "eq", "value": ODD}]},
        {"op": "aggregate", "by": [ODD], "values": {"'); SELECT 1 --": {"function": "sum", "column": "n"}}},
    )

    assert out(report) == [{ODD: ODD, "'); SELECT 1 --": 1}]


@pytest.mark.hostile
@pytest.mark.parametrize(
    "name", ["/etc/passwd", "{home}/signoff.db", "{home}/plan-2/step-1/1/fetched.json", "link.json"]
)
def test_only_files_of_the_same_plan_are_read(name: str, tmp_path: Path) -> None:
    secret = tmp_path / "plan-2" / "step-1" / "1" / "fetched.json"
    secret.parent.mkdir(parents=True)
    secret.write_text('[{"password": "s3cr3t"}]')
    (tmp_path / "signoff.db").write_text("rows")
    link = at(tmp_path).scratch / "link.json"
    link.symlink_to(secret)
    source = str(link) if name == "link.json" else name.format(home=tmp_path)

    with pytest.raises(Permanent, match="Only files that earlier steps of this plan wrote can be read"):
        process(tmp_path, source, {"op": "limit", "rows": 1})


@pytest.mark.hostile
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM 'https://example.com/x.json'",
    ],
)
def test_even_a_statement_of_its_own_reaches_nothing_outside(statement: str) -> None:
    with engine(lambda: False) as found, pytest.raises(Permanent, match="cannot be processed this way"):
        found.make(statement, [])


@pytest.mark.hostile
def test_settings_stay_locked_and_nothing_is_written(tmp_path: Path) -> None:
    target = tmp_path / "stolen.csv"
    with engine(lambda: False) as found:
        for statement in ("SET memory_limit = '10GB'", f"COPY (SELECT 1) TO '{target}'", "INSTALL httpfs"):
            with pytest.raises(Permanent):
                found.first(statement)

    assert not target.exists()


def test_rows_that_explode_are_refused_with_a_sentence(tmp_path: Path) -> None:
    rows = [{"key": 1, "n": n} for n in range(1_500)]

    with pytest.raises(Permanent, match=r"makes more than 500,000 rows\. Filter or aggregate first"):
        process(tmp_path, rows, {"op": "join", "on": ["key"]}, other=rows)


def test_more_memory_than_allowed_is_refused_with_a_sentence() -> None:
    with engine(lambda: False) as found, pytest.raises(Permanent, match="needs more than 256MB of memory"):
        found.first("SELECT list(range) FROM range(100000000)")


def test_work_that_nobody_waits_for_is_interrupted(tmp_path: Path) -> None:
    over = threading.Event()
    with engine(over.is_set) as found:
        threading.Timer(0.2, over.set).start()
        with pytest.raises(Transient, match="stopped"):
            found.first("SELECT sum(a.range * b.range % 7) FROM range(10000000) a, range(10000000) b")


def test_no_rows_make_no_rows_and_a_count_of_zero(tmp_path: Path) -> None:
    kept = {"op": "filter", "where": [{"column": "errors", "is": "gt", "value": 3}]}
    count = {
        "op": "aggregate",
        "values": {"n": {"function": "count"}, "s": {"function": "sum", "column": "errors"}},
    }

    assert process(tmp_path, [], kept).data.rows_count == 0
    assert out(process(tmp_path, [], kept, count)) == [{"n": 0, "s": None}]


def test_a_column_of_anything_is_text_and_odd_values_survive(tmp_path: Path) -> None:
    rows = [
        {"a": 1, "b": None},
        {"a": "x\0y", "b": None},
        {"a": {"k": [1]}, "b": None},
        {"a": 10**30, "b": None},
    ]
    report = process(tmp_path, rows, {"op": "sort", "by": [{"column": "b"}]})

    assert [row["a"] for row in out(report)] == ["1", "xy", '{"k": [1]}', str(10**30)]


def test_numbers_of_a_csv_file_are_numbers_and_a_code_stays_a_text(tmp_path: Path) -> None:
    file = at(tmp_path, "step-1").scratch / "fetched.csv"
    file.write_text("code,errors,rate\n007,5,0.5\n012,,1\n")
    measures = {name: {"function": "sum", "column": name} for name in ("errors", "rate")}
    lowest = {"function": "min", "column": "code"}
    report = process(tmp_path, str(file), {"op": "aggregate", "values": {**measures, "code": lowest}})

    assert out(report) == [{"errors": 5, "rate": 1.5, "code": "007"}]


def test_a_file_that_is_gone_is_a_sentence(tmp_path: Path) -> None:
    gone = str(at(tmp_path, "step-1").scratch / "fetched.json")

    with pytest.raises(Permanent, match=r"fetched\.json of an earlier step is not on this machine"):
        process(tmp_path, gone, {"op": "limit", "rows": 1})


def week(site: Site, name: str, **errors: int) -> None:
    rows = [{"service": service, "errors": 1} for service, count in errors.items() for _ in range(count)]
    site.pages[f"/errors?week={name}"] = Page(json.dumps(rows))


def test_one_plan_fetches_two_weeks_compares_them_and_says_what_changed(lite: Store, tmp_path: Path) -> None:
    with serving() as site:
        week(site, "46", auth=25, mail=4)
        week(site, "45", auth=10, mail=4, old=1)
        inventory = {"sources": {"metrics": {"url": site.url}}}
        registry = Registry([kind(inventory) for kind in (DataRetrieval, DataProcessing, Summary)])
        spec = prepare(two_weeks(registry), Catalogue(registry.contracts()), SignoffConfig(), lite.clock())
        plan_id = run(spec, registry, lite, tmp_path)

    assert lite.view(plan_id).outcome == "succeeded"
    report = step_row(lite, plan_id, "say").report or {}
    assert (
        "Biggest changes of errors: auth 10 → 25 (+150 %); old 1 → none (-100 %)." in report["data"]["text"]
    )


def two_weeks(registry: Registry) -> PlanSpec:
    fetch, process = (
        registry.contract("data-retrieval", "fetch"),
        registry.contract("data-processing", "process"),
    )
    per_service = {"op": "aggregate", "by": ["service"], "values": {"errors": {"function": "count"}}}
    compare = {"op": "compare", "on": ["service"], "columns": ["errors"]}
    weeks = [
        step(
            f"get-{name}", fetch, parameters={"source": "metrics", "path": "/errors", "query": {"week": name}}
        )
        for name in ("46", "45")
    ]
    counts = [
        step(
            f"count-{name}", process, depends_on=(f"get-{name}",),
            parameters={"rows": {"from": f"get-{name}.file"}, "pipeline": [per_service]},
        )
        for name in ("46", "45")
    ]  # fmt: skip
    files = {"rows": {"from": "count-46.file"}, "other": {"from": "count-45.file"}}
    compared = step(
        "compare", process, depends_on=("count-46", "count-45"), parameters={**files, "pipeline": [compare]}
    )
    text = {"source": {"from": "compare.file"}, "method": "plain"}
    say = step("say", registry.contract("summary", "summarise"), depends_on=("compare",), parameters=text)
    return plan_spec(*weeks, *counts, compared, say)


def run(spec: PlanSpec, registry: Registry, store: Store, home: Path) -> int:
    store.publish(registry.contracts())
    attempts = Attempts(store, registry, "w1", home)
    plan_id = store.request("compare", team="T1", user="ANN", channel="C1")
    store.propose(plan_id, spec, terms(), author="planner")
    approve(store, plan_id)
    for _ in range(6):
        work(attempts)
    return plan_id


CELLS = st.one_of(st.none(), st.integers(-1000, 1000))
ROWS = st.lists(
    st.fixed_dictionaries({"key": st.sampled_from(["a", "b", "c", None]), "n": CELLS}), max_size=30
)


@settings(max_examples=25)
@given(rows=ROWS)
def test_groups_are_what_plain_python_says(tmp_path_factory: pytest.TempPathFactory, rows: Any) -> None:
    measures = {"sum": {"function": "sum", "column": "n"}, "count": {"function": "count", "column": "n"}}
    home = tmp_path_factory.mktemp("property")
    found = out(process(home, rows, {"op": "aggregate", "by": ["key"], "values": measures}))

    groups: dict[Any, list[int]] = defaultdict(list)
    for row in rows:
        groups[row["key"]] += [] if row["n"] is None else [row["n"]]
    assert {row["key"]: (row["sum"], row["count"]) for row in found} == {
        key: (sum(values) if values else None, len(values)) for key, values in groups.items()
    }
