"""A planner with a model that a test scripts."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bot.planner.model.calls import connect
from bot.planner.model.claude import Claude
from bot.planner.model.usage import PRICES, ModelUnavailable, Usage
from bot.planner.model.wire import Asked, Declined
from bot.planner.runbooks.book import Planned
from storage.errors import SignoffError
from tests.support.fake_model import KEY, MODEL, WISH, FakeModel
from tests.support.fakes import NOW, demo_config, real_contracts


class Desk:
    """A planner, the model it asks, and what was booked."""

    def __init__(self, fake: FakeModel, **options: Any) -> None:
        self.fake, self.booked = fake, list[tuple[str, Usage]]()
        self.client = connect(options.pop("key", KEY), url=options.pop("url", fake.url))
        given: dict[str, Any] = {
            "model": MODEL, "effort": "medium", "prices": PRICES,
            "spend": lambda model, usage: self.booked.append((model, usage)),
        }  # fmt: skip
        self.claude = Claude(self.client, **given | options)

    def plan(self, wish: str = WISH) -> Planned | Asked | Declined:
        return self.claude.plan(wish, real_contracts(), demo_config(), NOW)

    def fails(self, kind: type[SignoffError] = ModelUnavailable) -> str:
        with pytest.raises(kind) as failed:
            self.plan()
        assert KEY not in f"{failed.value!r} {failed.value} {failed.value.__cause__!r}"
        assert "<" not in str(failed.value)
        return str(failed.value)


@pytest.fixture
def desk() -> Iterator[Callable[..., Desk]]:
    made: list[Desk] = []

    def make(*script: Any, **options: Any) -> Desk:
        counting = {"count": options.pop("count")} if "count" in options else {}
        made.append(Desk(FakeModel(*script, **counting).__enter__(), **options))
        return made[-1]

    yield make
    for one in made:
        one.fake.__exit__()
        one.client.close()
