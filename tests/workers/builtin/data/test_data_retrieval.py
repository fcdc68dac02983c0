"""data-retrieval against a real server on the loopback: all rows in a file, a bounded report, no secret."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from storage.contract.capability import fingerprint
from tests.support.loopback import SECRET, Page, Site, nowhere, serving
from tests.support.scratch import context
from workers.base import Permanent, Report, Transient
from workers.builtin.data.data_retrieval import DataRetrieval, FetchParams
from workers.builtin.data.paging import next_link


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as found:
        yield found


@pytest.fixture
def other() -> Iterator[Site]:
    with serving() as found:
        yield found


def fetch(
    scratch: Path, site: Site, entry: dict[str, Any] | None = None, *, cancelled: bool = False, **options: Any
) -> Report[Any]:
    worker = DataRetrieval({"sources": {"metrics": {"url": site.url, **(entry or {})}}})
    params = FetchParams(source="metrics", **{"path": "/errors", **options})
    ctx = context(scratch, cancelled=lambda: cancelled)
    report: Report[Any] = DataRetrieval.fetch.run(worker, params, ctx)
    return report


def rows(first: int, last: int) -> list[dict[str, Any]]:
    return [{"hour": n, "service": "auth", "errors": n % 7, "rate": n / 8} for n in range(first, last)]


def in_file(report: Report[Any]) -> Any:
    return json.loads(Path(report.data.file).read_text())


def test_all_rows_are_in_the_file_and_the_first_fifty_in_the_report(site: Site, tmp_path: Path) -> None:
    site.pages["/errors"] = Page(json.dumps(rows(0, 168)))

    report = fetch(tmp_path, site)

    assert report.status == "succeeded"
    assert report.summary == "metrics /errors: 168 rows, 4 columns, 10.3 kB, 1 page"
    assert report.data.columns == ["hour", "service", "errors", "rate"]
    assert report.data.sample == rows(0, 50)
    assert in_file(report) == rows(0, 168)
    assert report.artifacts == (report.data.file,)
    assert not report.data.truncated


def test_the_query_is_sent_as_it_is_meant(site: Site, tmp_path: Path) -> None:
    site.pages["/errors?team=1&q=a%26b%3D%2F..&since=7+days"] = Page("[]")

    report = fetch(tmp_path, site, path="/errors?team=1", query={"q": "a&b=/..", "since": "7 days"})

    assert report.summary == "metrics /errors?team=1: 0 rows, 0 columns, 2 bytes, 1 page"


def test_a_list_inside_the_document_is_found_by_its_path(site: Site, tmp_path: Path) -> None:
    site.pages["/errors"] = Page(json.dumps({"data": {"items": [{"a": 1}, "plain", None]}}))

    report = fetch(tmp_path, site, rows="data.items")

    assert report.data.sample == [{"a": 1}, {"value": "plain"}, {"value": None}]


def test_one_object_is_one_row(site: Site, tmp_path: Path) -> None:
    site.pages["/errors"] = Page('{"errors": 3}')

    assert fetch(tmp_path, site).data.sample == [{"errors": 3}]


@pytest.mark.parametrize(
    ("body", "path"), [('{"data": {}}', "data.items"), ('{"data": {}}', "data"), ("3", "")]
)
def test_a_path_without_a_list_is_a_sentence(body: str, path: str, site: Site, tmp_path: Path) -> None:
    site.pages["/errors"] = Page(body)

    with pytest.raises(Permanent, match="metrics /errors: there is no list at"):
        fetch(tmp_path, site, rows=path)


@pytest.mark.parametrize(
    "body",
    ["<html>busy</html>", "", "[1,", "[NaN]", "[1e999]", "[" * 200_000, b"\xff\xfe[", f"[{'9' * 5000}]"],
)
def test_what_is_not_json_is_a_sentence(body: str, site: Site, tmp_path: Path) -> None:
    site.pages["/errors"] = Page(body)

    with pytest.raises(Permanent, match=r"^metrics /errors did not answer with JSON\.$"):
        fetch(tmp_path, site)


def test_pages_are_followed_by_the_link_header(site: Site, tmp_path: Path) -> None:
    for page, last in ((1, False), (2, False), (3, True)):
        link = {} if last else {"Link": f'</errors?page={page + 1}>; rel="next", </errors>; rel="first"'}
        site.pages[f"/errors?page={page}"] = Page(json.dumps(rows(page * 10, page * 10 + 10)), headers=link)

    report = fetch(tmp_path, site, query={"page": "1"})

    assert (report.data.pages, report.data.rows_count, report.data.truncated) == (3, 30, False)
    assert report.summary.endswith("3 pages")
    assert in_file(report) == rows(10, 40)


def test_pages_are_followed_by_a_field_of_the_document(site: Site, tmp_path: Path) -> None:
    second = {"items": rows(5, 8), "links": {"next": None}}
    site.pages["/errors"] = Page(json.dumps({"items": rows(0, 5), "links": {"next": f"{site.url}/errors/2"}}))
    site.pages["/errors/2"] = Page(json.dumps(second))

    report = fetch(tmp_path, site, {"next_field": "links.next"}, rows="items")

    assert in_file(report) == rows(0, 8)


def test_more_pages_than_allowed_are_cut_and_that_is_said(site: Site, tmp_path: Path) -> None:
    for page in range(5):
        link = {"Link": f"</errors/{page + 1}>; rel=next"}
        site.pages[f"/errors/{page}"] = Page('[{"a": 1}]', headers=link)

    report = fetch(tmp_path, site, {"pages": 2}, path="/errors/0")

    assert (report.data.pages, report.data.rows_count, report.data.truncated) == (2, 2, True)
    assert report.summary.endswith("2 pages; the source has more (truncated)")
    assert len(site.asked) == 2


def test_pages_beyond_the_size_limit_are_left_out_whole(site: Site, tmp_path: Path) -> None:
    site.pages["/errors"] = Page(json.dumps(rows(0, 50)), headers={"Link": '</errors/2>; rel="next"'})
    site.pages["/errors/2"] = Page(json.dumps(rows(50, 100)))

    report = fetch(tmp_path, site, {"max_bytes": 5000})

    assert report.data.truncated
    assert in_file(report) == rows(0, 50)


def test_an_answer_beyond_the_size_limit_is_refused(site: Site, tmp_path: Path) -> None:
    site.pages["/errors"] = Page(json.dumps(rows(0, 500)))

    with pytest.raises(Permanent, match=r"more than 5\.0 kB, the limit in signoff\.toml"):
        fetch(tmp_path, site, {"max_bytes": 5000})


def test_a_next_page_off_the_origin_is_refused(
    site: Site, other: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METRICS_TOKEN", SECRET)
    site.pages["/errors"] = Page("[]", headers={"Link": f'<{other.url}/steal>; rel="next"'})

    with pytest.raises(Permanent, match="outside its origin"):
        fetch(tmp_path, site, {"headers_env": {"Authorization": "METRICS_TOKEN"}})

    assert other.asked == []


def test_a_redirect_off_the_origin_is_refused(site: Site, other: Site, tmp_path: Path) -> None:
    site.pages["/errors"] = Page("", 307, {"Location": f"{other.url}/errors"})

    with pytest.raises(Permanent, match="outside its origin"):
        fetch(tmp_path, site)

    assert other.asked == []


def test_pages_in_a_circle_are_refused(site: Site, tmp_path: Path) -> None:
    site.pages["/errors"] = Page("[1]", headers={"Link": '</errors>; rel="next"'})

    with pytest.raises(Permanent, match="leads back to an earlier one"):
        fetch(tmp_path, site)


def test_pages_are_followed_by_a_cursor(site: Site, tmp_path: Path) -> None:
    site.pages["/errors?team=a"] = Page(json.dumps({"items": rows(0, 2), "meta": {"next": "c&2"}}))
    site.pages["/errors?team=a&after=c%262"] = Page(json.dumps({"items": rows(2, 4), "meta": {"next": 3}}))
    site.pages["/errors?team=a&after=3"] = Page(json.dumps({"items": rows(4, 5), "meta": {"next": ""}}))
    entry = {"cursor_field": "meta.next", "cursor_param": "after"}

    report = fetch(tmp_path, site, entry, rows="items", query={"team": "a"})

    assert in_file(report) == rows(0, 5)
    assert report.data.pages == 3


def test_a_cursor_that_stays_the_same_is_refused(site: Site, tmp_path: Path) -> None:
    body = Page(json.dumps({"items": [1], "next": "c"}))
    site.pages |= {"/errors": body, "/errors?after=c": body}

    with pytest.raises(Permanent, match="leads back to an earlier one"):
        fetch(tmp_path, site, {"cursor_field": "next", "cursor_param": "after"}, rows="items")


def test_pages_are_counted_until_one_is_empty(site: Site, tmp_path: Path) -> None:
    for page in range(3):
        site.pages[f"/errors?size=2&page={page}"] = Page(json.dumps(rows(2 * page, 2 * page + 2)))
    site.pages["/errors?size=2&page=3"] = Page("[]")

    report = fetch(tmp_path, site, {"page_param": "page", "first_page": 0}, query={"size": "2"})

    assert in_file(report) == rows(0, 6)
    assert not report.data.truncated


def test_a_source_that_knows_no_page_numbers_is_not_read_twice(site: Site, tmp_path: Path) -> None:
    site.pages |= {f"/errors?page={page}": Page(json.dumps(rows(0, 2))) for page in (1, 2, 3)}

    with pytest.raises(Permanent, match="answers every page alike"):
        fetch(tmp_path, site, {"page_param": "page"})


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"cursor_field": "next"}, "cursor_field and cursor_param need each other"),
        ({"next_field": "next", "page_param": "page"}, "only one of next_field, cursor_field and page_param"),
    ],
)
def test_two_ways_to_page_are_refused(entry: Any, said: str, site: Site, tmp_path: Path) -> None:
    with pytest.raises(Permanent, match=said):
        fetch(tmp_path, site, entry)


def test_a_search_is_posted_where_the_operator_says_that_it_reads(site: Site, tmp_path: Path) -> None:
    site.pages["/search"] = [
        Page(json.dumps({"hits": rows(0, 2), "next": "c2"})),
        Page(json.dumps({"hits": rows(2, 3), "next": None})),
    ]
    entry = {"post_reads": ["/search"], "cursor_field": "next", "cursor_param": "after"}

    report = fetch(tmp_path, site, entry, path="/search", rows="hits", body={"service": "auth"})

    assert in_file(report) == rows(0, 3)
    assert [json.loads(body) for body in site.bodies] == [
        {"service": "auth"},
        {"service": "auth", "after": "c2"},
    ]
    assert site.asked[0][1]["Content-Type"] == "application/json"


@pytest.mark.hostile
def test_a_post_anywhere_else_is_refused_before_it_is_sent(site: Site, tmp_path: Path) -> None:
    with pytest.raises(Permanent, match=r"/errors is not among post_reads .* Nothing was sent"):
        fetch(tmp_path, site, {"post_reads": ["/search"]}, body={})

    assert site.asked == []


@pytest.mark.hostile
def test_a_post_is_not_redirected(site: Site, other: Site, tmp_path: Path) -> None:
    site.pages["/search"] = Page("", 307, {"Location": f"{other.url}/search"})

    with pytest.raises(Permanent, match="answered 307"):
        fetch(tmp_path, site, {"post_reads": ["/search"]}, path="/search", body={"secret": 1})

    assert other.asked == []


@pytest.mark.parametrize(
    ("header", "target"),
    [
        ('<https://h/a,b;c?x=1>; rel="next"', "https://h/a,b;c?x=1"),
        ('</1>; rel="prev", </3>; title="3"; rel="last next"', "/3"),
        ("</2>;REL=next", "/2"),
        ('</2>; rel="nextish"', ""),
        ('</2>; title="next"', ""),
        ("", ""),
    ],
)
def test_the_next_link_is_read_as_the_standard_says(header: str, target: str) -> None:
    assert next_link(header) == target


def test_csv_becomes_rows_and_keeps_odd_cells(site: Site, tmp_path: Path) -> None:
    text = '\ufeffhour,note\r\n1,"a, ""b"""\r\n2,"two\nlines"\r\n3\r\n'
    site.pages["/errors"] = Page(text)

    report = fetch(tmp_path, site, format="csv")

    assert report.summary == "metrics /errors: 3 rows, 2 columns, 46 bytes, 1 page"
    with Path(report.data.file).open(newline="") as file:
        assert list(csv.reader(file)) == [["hour", "note"], ["1", 'a, "b"'], ["2", "two\nlines"], ["3", ""]]
    assert report.data.sample[2] == {"hour": "3", "note": None}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("a,a\n1,2\n", "has a name twice"),
        ("a,b\n1,2,3\n", "more cells than the first"),
        ('a,b\n"1,2\n', "unexpected end of data"),
        (b"a,b\n\xe4,2\n", "did not answer with UTF-8"),
    ],
)
def test_csv_that_would_be_misread_is_refused(body: str, said: str, site: Site, tmp_path: Path) -> None:
    site.pages["/errors"] = Page(body)

    with pytest.raises(Permanent, match=said):
        fetch(tmp_path, site, format="csv")


def test_text_becomes_lines(site: Site, tmp_path: Path) -> None:
    site.pages["/errors"] = Page("one\n\x1b[31mtwo\x1b[0m\n")

    report = fetch(tmp_path, site, format="text")

    assert report.summary == "metrics /errors: 2 lines, 17 bytes, 1 page"
    assert report.data.sample == [{"line": "one"}, {"line": "two"}]


def test_a_report_stays_small_whatever_the_source_sends(site: Site, tmp_path: Path) -> None:
    wide = {f"column {n}": "x" * 2000 for n in range(300)}
    site.pages["/errors"] = Page(json.dumps([{"a": "y" * 2000, "b": [1, {"c": 2}]}, wide, wide, wide]))

    report = fetch(tmp_path, site)

    assert report.data.sample[0] == {"a": "y" * 500 + "…", "b": '[1, {"c": 2}]'}
    assert len(report.data.columns) == 100
    assert "302 columns" in report.summary
    assert len(report.model_dump_json()) < 100_000


def test_values_that_no_database_takes_are_made_harmless(site: Site, tmp_path: Path) -> None:
    odd = '[{"big": 12345678901234567890, "nul\\u0000": "a\\u0000b", "lone": "\\ud800", "turn": "\\u202ea"}]'
    site.pages["/errors"] = Page(odd)

    report = fetch(tmp_path, site)

    assert report.data.sample == [{"big": "12345678901234567890", "nul": "ab", "lone": "?", "turn": "a"}]
    assert fingerprint(report.model_dump(mode="json"))
    assert in_file(report) == json.loads(odd)


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (404, Permanent, "metrics /errors answered 404: gone"),
        (403, Permanent, r"answered 403: gone \(check headers_env under \[inventory.sources.metrics\]\)"),
        (500, Transient, "metrics /errors answered 500: gone"),
        (429, Transient, "answered 429"),
        (204, Permanent, "answered 204"),
    ],
)
def test_any_other_status_is_a_sentence(
    status: int, kind: type[Exception], said: str, site: Site, tmp_path: Path
) -> None:
    site.pages["/errors"] = Page("" if status == 204 else "gone", status)

    with pytest.raises(kind, match=said):
        fetch(tmp_path, site)


def test_a_source_that_asks_for_patience_gets_it(site: Site, tmp_path: Path) -> None:
    site.pages["/errors"] = Page("slow down", 429, {"Retry-After": "30"})

    with pytest.raises(Transient) as failed:
        fetch(tmp_path, site)

    assert failed.value.after == 30


def test_a_source_that_hangs_is_not_waited_for(site: Site, tmp_path: Path) -> None:
    site.pages["/errors"] = Page(hang=True)

    with pytest.raises(Transient, match="metrics did not answer: no answer in time"):
        fetch(tmp_path, site, {"timeout": 0.2})


def test_a_cancelled_fetch_asks_nobody(site: Site, tmp_path: Path) -> None:
    with pytest.raises(Transient, match="stopped after 0 pages"):
        fetch(tmp_path, site, cancelled=True)

    assert site.asked == []


@pytest.mark.parametrize("format", ["json", "csv", "text"])
def test_a_secret_header_is_sent_on_every_page_and_stands_nowhere(
    format: Any, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METRICS_TOKEN", SECRET)
    token = SECRET.removeprefix("Bearer ")
    escaped = json.dumps([{token: SECRET, "b": [token], "c": "s\0" + token[1:]}]).replace("/", "\\u002f")
    quoted = SECRET.replace('"', '""')
    bodies = {"json": escaped, "csv": f'a,"{quoted}"\n1,"{quoted}"\n', "text": f"{SECRET}\n{token}\n"}
    for page in ("1", "2"):
        link = {"Link": '</errors/2>; rel="next"'} if page == "1" else {}
        site.pages[f"/errors/{page}"] = Page(bodies[format], headers=link)

    report = fetch(
        tmp_path,
        site,
        {"headers_env": {"Authorization": "METRICS_TOKEN"}},
        path="/errors/1",
        format=format,
    )

    assert [headers["Authorization"] for _, headers in site.asked] == [SECRET, SECRET]
    assert "[hidden]" in Path(report.data.file).read_text()
    assert nowhere(report, tmp_path)


def test_a_secret_that_an_error_page_repeats_stands_nowhere(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METRICS_TOKEN", SECRET)
    site.pages["/errors"] = Page(f"no access with {SECRET}", 401)

    with pytest.raises(Permanent, match=r"no access with \[hidden\]") as refused:
        fetch(tmp_path, site, {"headers_env": {"Authorization": "METRICS_TOKEN"}})

    assert nowhere(refused.value, tmp_path)
