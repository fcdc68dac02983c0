"""A web server in bounds: whoever is slow, large or many takes little, and others are answered."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from aiohttp import web

from storage.errors import BadConfig
from storage.http_server import Bounds, Threads, serving
from tests.support.doors.monitor import get

TIGHT = Bounds(connections=200, patience=1.0, size=1000, life=2.0, parting=2.0)
HEAD = b"POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n"
SLOW_HEAD, SLOW_BODY = b"POST /echo HTTP/1.1\r\nHost:", HEAD % 10 + b"x"


async def echo(request: web.Request) -> web.Response:
    return web.Response(body=await request.read())


@contextmanager
def open_server(*more: web.RouteDef, bounds: Bounds = TIGHT) -> Iterator[int]:
    with serving(
        "PORT", "127.0.0.1", 0, [web.post("/echo", echo), web.get("/", echo), *more], bounds
    ) as port:
        yield port


@pytest.fixture
def port() -> Iterator[int]:
    with open_server() as port:
        yield port


def dial(port: int, said: bytes = b"") -> socket.socket:
    line = socket.create_connection(("127.0.0.1", port), timeout=10)
    line.sendall(said)
    return line


def answer(line: socket.socket) -> bytes:
    """Everything until the other side closes; nothing if it hangs up."""
    heard = b""
    try:
        while more := line.recv(4096):
            heard += more
    except ConnectionResetError:
        pass
    finally:
        line.close()
    return heard


def status(heard: bytes) -> int:
    return int(heard.split()[1]) if heard else 0


def test_a_request_is_answered_and_its_connection_closed(port: int) -> None:
    heard = answer(dial(port, HEAD % 2 + b"hi"))

    assert heard.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Connection: close" in heard
    assert heard.endswith(b"\r\n\r\nhi")


@pytest.mark.parametrize(("said", "told"), [(SLOW_BODY, 408), (SLOW_HEAD, 0), (b"", 0)])
def test_150_who_never_finish_hold_no_thread_and_are_gone_in_time(port: int, said: bytes, told: int) -> None:
    before, start = threading.active_count(), time.monotonic()
    with ExitStack() as held:
        lines = [held.enter_context(dial(port, said)) for _ in range(150)]
        assert get(f"http://127.0.0.1:{port}/") == (200, "")  # others do not wait for them
        threads = threading.active_count() - before
        ends = {status(answer(line)) for line in lines}

    assert threads == 0
    assert ends == {told}
    assert time.monotonic() - start < 10


def test_a_drop_now_and_then_buys_no_time(port: int) -> None:
    line, start = dial(port, HEAD % 1000), time.monotonic()
    line.settimeout(0.05)
    heard = b""
    while not heard and time.monotonic() - start < 10:
        line.send(b"x")
        try:
            heard = line.recv(4096)
        except TimeoutError:
            continue
    line.close()

    assert status(heard) == 408
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    "said",
    [
        HEAD % 1001,
        HEAD.replace(b"Content-Length: %d", b"Transfer-Encoding: chunked")
        + b"3e9\r\n"
        + b"x" * 1001
        + b"\r\n0\r\n\r\n",
    ],
)
def test_what_is_too_large_is_refused_said_before_or_not(port: int, said: bytes) -> None:
    assert status(answer(dial(port, said))) == 413


def test_a_small_body_does_not_become_a_large_one(port: int) -> None:
    zipped = HEAD.replace(b"Host", b"Content-Encoding: gzip\r\nHost") % 5 + b"hello"

    assert answer(dial(port, zipped)).endswith(b"hello")


def test_one_connection_too_many_is_closed_unheard_and_there_is_room_again_later() -> None:
    with open_server(bounds=Bounds(connections=2, patience=1.0)) as port:
        held = [dial(port, SLOW_BODY), dial(port, SLOW_BODY)]
        turned_away = answer(dial(port, HEAD % 2 + b"hi"))
        ends = [status(answer(line)) for line in held]
        later = status(answer(dial(port, HEAD % 2 + b"hi")))

    assert (turned_away, ends, later) == (b"", [408, 408], 200)


def test_who_never_reads_an_answer_is_let_go(port: int) -> None:
    async def flood(request: web.Request) -> web.Response:
        return web.Response(body=b"x" * 50_000_000)

    with open_server(web.get("/flood", flood), bounds=Bounds(connections=1, life=0.5, patience=0.5)) as own:
        line = dial(own, b"GET /flood HTTP/1.1\r\nHost: here\r\n\r\n")
        end = time.monotonic() + 10
        while not (heard := answer(dial(own, HEAD % 2 + b"hi"))) and time.monotonic() < end:
            pass
        line.close()

    assert status(heard) == 200


def test_who_finds_all_threads_busy_is_told_to_come_again() -> None:
    busy, go_on = threading.Barrier(3), threading.Event()
    threads = Threads(2, "test")

    def work() -> web.Response:
        busy.wait(10)
        go_on.wait(10)
        return web.Response(text="done")

    async def slow(request: web.Request) -> web.Response:
        return await threads.run(work)

    with open_server(web.get("/slow", slow)) as port:
        ask = b"GET /slow HTTP/1.1\r\nHost: here\r\n\r\n"
        first = [dial(port, ask), dial(port, ask)]
        busy.wait(10)
        third = answer(dial(port, ask))
        go_on.set()
        done = [answer(line) for line in first]

    assert status(third) == 503
    assert b"Retry-After: 1" in third
    assert all(heard.endswith(b"done") for heard in done)


def test_stopping_lets_what_is_under_way_end_and_waits_for_no_stranger() -> None:
    begun, stopping = threading.Event(), threading.Event()
    threads = Threads(1, "test")

    def work() -> web.Response:
        begun.set()
        stopping.wait(10)
        return web.Response(text="done")

    async def slow(request: web.Request) -> web.Response:
        return await threads.run(work)

    start = time.monotonic()
    with open_server(web.get("/slow", slow), bounds=Bounds(parting=2.0)) as port:
        line, stranger = dial(port, b"GET /slow HTTP/1.1\r\nHost: here\r\n\r\n"), dial(port, SLOW_HEAD)
        begun.wait(10)
        threading.Timer(0.2, stopping.set).start()

    assert answer(line).endswith(b"done")
    assert answer(stranger) == b""
    assert time.monotonic() - start < 8
    with pytest.raises(ConnectionRefusedError):
        dial(port)


def test_what_is_no_http_is_refused_without_a_line_in_the_log(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [
        b"GET / HTTP/9\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/1.1\r\nA\r\n\r\n",
        b"GET /" + b"x" * 9000,
    ]

    assert {status(answer(dial(port, line))) for line in lines} <= {0, 400}
    assert status(answer(dial(port, b"GET /none HTTP/1.1\r\nHost: here\r\n\r\n"))) == 404
    assert caplog.records == []


def test_a_fault_of_ours_is_logged_and_told_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(request: web.Request) -> web.Response:
        raise RuntimeError("hush")

    with open_server(web.get("/broken", broken)) as port:
        heard = answer(dial(port, b"GET /broken HTTP/1.1\r\nHost: here\r\n\r\n"))

    assert status(heard) == 500
    assert b"hush" not in heard
    assert [record.message for record in caplog.records] == ["/broken could not be answered"]


def test_a_port_that_is_taken_is_refused_by_the_name_of_its_setting(port: int) -> None:
    with (
        pytest.raises(BadConfig, match=f"PORT={port} cannot be used"),
        serving("PORT", "127.0.0.1", port, []),
    ):
        pass
