"""An envelope in which something is said twice is not read, whichever of the two was meant."""

import json
from types import SimpleNamespace

import pytest

from bot.slack.socket_mode import refuse_said_twice

GOOD = json.dumps({"type": "interactive", "envelope_id": "1", "payload": {"user": {"id": "UANN"}}})


@pytest.fixture
def client() -> SimpleNamespace:
    taken: list[str] = []
    made = SimpleNamespace(enqueue_message=taken.append, taken=taken)
    refuse_said_twice(made)
    return made


@pytest.mark.parametrize("raw", [GOOD, "Ping from applink", "{", ""], ids=len)
def test_what_says_everything_once_is_taken(client, raw):
    client.enqueue_message(raw)

    assert client.taken == [raw]


@pytest.mark.parametrize(
    "raw",
    [
        GOOD.replace('"envelope_id": "1"', '"envelope_id": "1", "envelope_id": "2"'),
        GOOD.replace('"id": "UANN"', '"id": "UANN", "id": "UBOB"'),
    ],
    ids=["envelope", "payload"],
)
def test_an_envelope_with_a_name_given_twice_is_not_taken(client, raw, caplog):
    client.enqueue_message(raw)

    assert client.taken == []
    assert "given twice" in caplog.text
