"""The API describes itself as it is: every address, every answer, and nothing that is not there."""

import json

import jsonschema
import pytest

from bot.board.api.documents import ROUTES, find
from bot.board.api.models import plan_out
from bot.board.api.openapi import document
from tests.support.fakes import NOW
from tests.support.samples.cards import plan_view

pytestmark = pytest.mark.board


def test_every_address_is_described_and_every_reference_leads_somewhere():
    made = document()
    refs = {part.partition('"')[0] for part in json.dumps(made).split('"$ref": "#/components/schemas/')[1:]}

    assert made["openapi"] == "3.1.0"
    assert {*made["paths"]} == {route.path for route in ROUTES}
    assert refs <= {*made["components"]["schemas"]}
    assert len({one["get"]["operationId"] for one in made["paths"].values()}) == len(ROUTES)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.path)
def test_an_address_is_found(route):
    assert find(route.path.replace("{id}", "7")) == (route, 7 if "{id}" in route.path else 0)


def test_a_plan_is_what_its_schema_says():
    made = document()
    schema = {"$ref": "#/components/schemas/PlanPage", "components": made["components"]}

    jsonschema.validate(plan_out(plan_view(), [], NOW).model_dump(mode="json"), schema)


def test_nothing_of_how_it_is_kept_is_promised():
    promised = json.dumps(document()["components"]["schemas"])

    assert not [
        name for name in ("held", "given", "look", "demands", "binding", "lease") if f'"{name}"' in promised
    ]
