"""The API's own description (OpenAPI 3.1), made from the same table that answers it."""

from typing import Any

from pydantic.json_schema import models_json_schema

from bot.board.api.documents import ROUTES, Route
from bot.board.api.models import Out, Problem
from storage.config import RELEASE

REF = "#/components/schemas/{model}"
REFUSALS = {
    "400": "It cannot be read.",
    "401": "Nobody is let in with that.",
    "403": "No longer.",
    "404": "There is none.",
    "429": "Too often.",
}


def document() -> dict[str, Any]:
    models: list[type[Out]] = [*dict.fromkeys(route.answer for route in ROUTES), Problem]
    _, schemas = models_json_schema([(model, "serialization") for model in models], ref_template=REF)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Signoff's board",
            "version": RELEASE,
            "description": "Reads what you may read; nothing is decided here.",
        },
        "paths": {route.path: {"get": _operation(route)} for route in ROUTES},
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "`/plan board token NAME` makes one.",
                }
            },
        },
        "security": [{"token": []}],
    }


def _operation(route: Route) -> dict[str, Any]:
    schema = route.query.model_json_schema(ref_template=REF)
    asks = [
        {
            "name": name,
            "in": "query",
            "required": False,
            "schema": {key: value for key, value in field.items() if key != "title"},
        }
        for name, field in schema.get("properties", {}).items()
    ]
    number = (
        [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 1}}]
        if "{id}" in route.path
        else []
    )
    problem = {"application/problem+json": {"schema": {"$ref": REF.format(model="Problem")}}}
    answers = {
        "200": {
            "description": route.summary,
            "content": {"application/json": {"schema": {"$ref": REF.format(model=route.answer.__name__)}}},
        }
    }
    refusals = {status: {"description": said, "content": problem} for status, said in REFUSALS.items()}
    name = "_".join(part for part in route.path.split("/") if part and "{" not in part)
    return {
        "operationId": f"get_{name}{'_one' if number and not route.path.endswith('events') else ''}",
        "summary": route.summary,
        "parameters": number + asks,
        "responses": answers | refusals,
    }
