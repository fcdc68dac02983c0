"""http-check against a real server on the loopback: what it says, and what it never says."""

import gzip
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from storage.contract.spec import holds
from tests.support.loopback import SECRET, Page, Site, nowhere, serving
from tests.support.ports import ports
from tests.support.scratch import context
from workers.base import Permanent, Transient
from workers.builtin.http.http_check import CheckParams, HttpCheck, WaitParams
from workers.builtin.shared.http_origin import Origin, OriginEntry


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that nobody signed, with its key."""
    if not shutil.which("openssl"):
        reason = "openssl is not installed. On Debian: apt-get install openssl"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    place = tmp_path_factory.mktemp("tls")
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=127.0.0.1"
    words += f" -addext subjectAltName=IP:127.0.0.1 -keyout {place}/key.pem -out {place}/cert.pem"
    subprocess.run(["openssl", *words.split()], check=True, capture_output=True)
    both = place / "both.pem"
    both.write_text((place / "key.pem").read_text() + (place / "cert.pem").read_text())
    return both


def ask(
    scratch: Path, url: str, *, wait: int = 0, entry: dict[str, Any] | None = None, **options: Any
) -> Any:
    cancelled = options.pop("cancelled", lambda: False)
    worker = HttpCheck({"endpoints": {"auth-prod": {"url": url, "every_seconds": 0.02, **(entry or {})}}})
    ctx = context(scratch, cancelled=cancelled)
    if wait:
        params = WaitParams(endpoint="auth-prod", deadline_seconds=wait, **options)
        return HttpCheck.wait_for_http.run(worker, params, ctx)
    return HttpCheck.check_http.run(worker, CheckParams(endpoint="auth-prod", **options), ctx)


def test_an_endpoint_that_answers_as_expected_is_well(site: Site, tmp_path: Path) -> None:
    site.pages["/base/health?deep=1"] = Page('{"status": "ready"}')

    report = ask(tmp_path, f"{site.url}/base/", path="/health?deep=1", contains='"ready"')

    (criterion,) = HttpCheck.check_http.criteria["as_expected"]
    assert report.status == "succeeded"
    assert report.summary.startswith("auth-prod /health?deep=1 answered 200 in 0.")
    assert (report.data.status, report.data.bytes) == (200, 19)
    assert holds(criterion, report.data.model_dump())


@pytest.mark.parametrize("status", [404, 500])
def test_another_status_is_a_failure_that_quotes_the_answer(status: int, site: Site, tmp_path: Path) -> None:
    site.pages["/"] = Page("\x1b[31mno   database\n\x07", status)

    report = ask(tmp_path, site.url)

    assert report.status == "failed"
    assert report.summary == f"auth-prod / answered {status}, not 200: no database."
    assert report.data.holds is False


def test_a_status_that_is_expected_is_no_failure(site: Site, tmp_path: Path) -> None:
    site.pages["/old"] = Page("", 301, {"Location": "https://elsewhere.example/"})

    assert ask(tmp_path, site.url, path="/gone", expect_status=404).status == "succeeded"
    assert ask(tmp_path, site.url, path="/old", expect_status=301).status == "succeeded"


def test_an_answer_without_the_text_is_a_failure(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = Page("starting")

    report = ask(tmp_path, site.url, contains="ready")

    assert report.summary == "auth-prod / answered 200, but 'ready' is not there: starting."


def test_only_the_first_mebibyte_is_read(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = Page(b"x" * 1024 * 1024 + b"ready", drip=True)

    report = ask(tmp_path, site.url, contains="ready")

    assert "not there in its first 1 MiB: xxx" in report.summary
    assert report.data.bytes == 1024 * 1024
    assert len(report.summary) < 400


def test_an_answer_that_was_packed_to_burst_is_cut_like_any_other(site: Site, tmp_path: Path) -> None:
    packed = gzip.compress(b"x" * 100 * 1024 * 1024)
    site.pages["/"] = Page(packed, headers={"Content-Encoding": "gzip"})

    assert ask(tmp_path, site.url).data.bytes == 1024 * 1024


def test_a_redirect_inside_the_origin_is_followed(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = Page("", 302, {"Location": "/login"})
    site.pages["/login"] = Page("welcome")

    assert ask(tmp_path, site.url, contains="welcome").status == "succeeded"


@pytest.mark.parametrize(
    "link",
    [
        "{}/",
        "//{host}/",
        "http://localhost:{own}/",
        "https://127.0.0.1:{own}/",
        "http://a:b@127.0.0.1:{own}/",
    ],
)
def test_a_redirect_off_the_origin_is_refused(link: str, site: Site, other: Site, tmp_path: Path) -> None:
    where = link.format(other.url, host=f"127.0.0.1:{other.server_port}", own=site.server_port)
    site.pages["/"] = Page("", 302, {"Location": where})

    with pytest.raises(Permanent, match="outside its origin; that was not followed"):
        ask(tmp_path, site.url)

    assert other.asked == []
    assert len(site.asked) == 1


def test_redirects_in_a_circle_end(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = Page("", 302, {"Location": "/"})

    with pytest.raises(Permanent, match="more than 5 times"):
        ask(tmp_path, site.url)


@pytest.mark.parametrize(
    "path",
    [
        "health",
        "http://evil.example/",
        "//evil.example/",
        "/../admin",
        "/a/%2e%2E/admin",
        "/a/..%5Cadmin",
        "/a\r\nHost: evil",
        "/a\n",
        "/a b",
        "/a#b",
        "/ä",
        "",
    ],
)
def test_a_path_that_could_lead_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(ValidationError):
        CheckParams(endpoint="auth-prod", path=path)


def test_a_closed_port_is_worth_another_try(tmp_path: Path) -> None:
    with pytest.raises(Transient, match="auth-prod did not answer: connection refused"):
        ask(tmp_path, f"http://127.0.0.1:{ports()}")


def test_a_name_that_nobody_knows_is_worth_another_try(tmp_path: Path) -> None:
    with pytest.raises(Transient, match="auth-prod did not answer: its name cannot be resolved"):
        ask(tmp_path, "http://no-such-host.invalid")


def test_a_server_that_does_not_answer_is_not_waited_for(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = Page(hang=True)

    with pytest.raises(Transient, match="auth-prod did not answer: no answer in time"):
        ask(tmp_path, site.url, entry={"timeout": 0.2})


def test_an_answer_that_never_ends_is_not_waited_for(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = Page(drip=True)
    began = time.monotonic()

    with pytest.raises(Transient, match=r"still answering when the time was up|no answer in time"):
        ask(tmp_path, site.url, entry={"timeout": 0.3})

    assert time.monotonic() - began < 20


def test_an_answer_that_breaks_off_is_worth_another_try(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = Page("half", length=100)

    with pytest.raises(Transient, match="the connection broke"):
        ask(tmp_path, site.url)


def test_a_certificate_that_nobody_vouches_for_is_refused(certificate: Path, tmp_path: Path) -> None:
    with (
        serving(certificate) as site,
        pytest.raises(Transient, match=r"certificate is not accepted \(self-signed"),
    ):
        ask(tmp_path, site.url.replace("http:", "https:"))

    assert site.asked == []


def test_a_certificate_that_the_machine_trusts_is_accepted(
    certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with serving(certificate) as site:
        site.pages["/"] = Page()

        assert ask(tmp_path, site.url.replace("http:", "https:")).status == "succeeded"


def test_a_secret_header_is_sent_and_stands_nowhere(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTH_PROD_TOKEN", f"{SECRET}\n")
    echo = f"you sent {SECRET} and s\0".encode() + SECRET[8:].encode("utf-16-le")
    site.pages["/"] = Page(echo, 401)

    report = ask(tmp_path, site.url, entry={"headers_env": {"Authorization": "AUTH_PROD_TOKEN"}})

    assert site.asked[0][1]["Authorization"] == SECRET
    assert "answered 401, not 200: you sent [hidden] and" in report.summary
    assert nowhere(report, tmp_path)


@pytest.mark.parametrize(
    ("value", "said"), [("", "is not set"), (f"{SECRET}\r\nX: y", "must be one line of ASCII")]
)
def test_a_header_that_cannot_be_sent_is_told_without_its_value(
    value: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTH_PROD_TOKEN", value)

    with pytest.raises(Permanent, match=f"AUTH_PROD_TOKEN.*{said}") as refused:
        ask(tmp_path, "http://127.0.0.1:9", entry={"headers_env": {"Authorization": "AUTH_PROD_TOKEN"}})

    assert nowhere(refused.value, tmp_path)


def test_a_secret_stands_in_no_error_either(
    site: Site, other: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTH_PROD_TOKEN", SECRET)
    site.pages["/slow"] = Page(hang=True)
    site.pages["/away"] = Page("", 302, {"Location": f"{other.url}/?t=s3cr3t%2Ft0ken"})
    site.pages["/broken"] = Page("half", length=100)
    entry = {"headers_env": {"Authorization": "AUTH_PROD_TOKEN"}, "timeout": 0.2}

    for path in ("/slow", "/away", "/broken"):
        with pytest.raises((Transient, Permanent)) as failed:
            ask(tmp_path, site.url, path=path, entry=entry)

        assert nowhere(failed.value, tmp_path)
    assert other.asked == []


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"url": "ftp://host/"}, "must be an address such as"),
        ({"url": "host:80"}, "must be an address such as"),
        ({"url": 'https://me:s3cr3t/t0ken"quoted"@host/'}, "url"),
        ({"url": "https://me:s3cr3t%2Ft0ken@host/"}, "must not hold a user or password"),
        ({"url": "https://host/?key=1"}, "must end with its path"),
        ({"url": "https://host", "headers_env": {"A: b\r\n": "X"}}, "headers_env"),
        ({"url": "https://host", "header": {}}, "header: Extra inputs"),
    ],
)
def test_an_entry_that_cannot_be_used_is_told_with_its_place(
    entry: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(Permanent) as refused:
        ask(tmp_path, "", entry=entry)

    assert str(refused.value).startswith("[inventory.endpoints.auth-prod] in signoff.toml cannot be used: ")
    assert said in str(refused.value)
    assert nowhere(refused.value, tmp_path)


def test_waiting_ends_when_the_answer_is_as_expected(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = [Page("starting", 503), Page("starting"), Page("ready")]

    report = ask(tmp_path, site.url, wait=20, contains="ready")

    assert report.status == "succeeded"
    assert report.data.tries == 3
    assert report.summary.startswith("auth-prod / answered 200 after ")
    assert report.summary.endswith("s (3 tries)")


def test_waiting_goes_on_while_nobody_answers(tmp_path: Path) -> None:
    with serving() as site:
        site.pages["/"] = [Page(hang=True), Page("half", length=100), Page()]

        report = ask(tmp_path, site.url, wait=20, entry={"timeout": 0.2})

    assert report.status == "succeeded"
    assert report.data.tries == 3


def test_a_deadline_that_passes_is_a_failure_with_the_last_cause(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = Page("no database", 503)
    began = time.monotonic()

    report = ask(tmp_path, site.url, wait=1, entry={"every_seconds": 0.3})

    assert report.status == "failed"
    assert report.error.kind == "permanent"
    assert report.summary.startswith("auth-prod / answered 503, not 200: no database; the deadline was 1 s, ")
    assert report.data.tries >= 2
    assert time.monotonic() - began < 2


def test_a_server_that_hangs_cannot_stretch_the_deadline(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = Page(hang=True)
    began = time.monotonic()

    report = ask(tmp_path, site.url, wait=1)

    assert "did not answer: no answer in time; the deadline was 1 s" in report.summary
    assert report.data.status is None
    assert time.monotonic() - began < 3


def test_waiting_stops_when_the_attempt_is_cancelled(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = Page("no", 503)

    report = ask(
        tmp_path, site.url, wait=600, entry={"every_seconds": 300}, cancelled=lambda: len(site.asked) > 0
    )

    assert report.status == "failed"
    assert "; the wait was stopped, asked for " in report.summary
    assert len(site.asked) == 1


@pytest.mark.parametrize("seconds", [0, 3501])
def test_a_deadline_is_bounded(seconds: int) -> None:
    with pytest.raises(ValidationError):
        WaitParams(endpoint="auth-prod", deadline_seconds=seconds)


def test_a_short_header_value_is_not_hidden_from_every_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_VERSION", "2")
    entry = OriginEntry(url="https://host", headers_env={"Api-Version": "API_VERSION"})

    assert Origin("auth-prod", entry, lambda: False).hide("2 of 22") == "2 of 22"
