"""OpenAPI for bodies that are not read by FastAPI.

Routes read bodies themselves (`body`), which is faster and gives better errors; this says to the outside what they
take, from the same models. Guarantees: every schema that a route refers to is among the components.
"""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

_REF = "#/components/schemas/"
_PROBLEM: dict[str, Any] = {
    "title": "Problem",
    "description": "An error as RFC 9457 describes it.",
    "type": "object",
    "required": ["type", "title", "status", "detail", "instance"],
    "properties": {
        "type": {"type": "string", "examples": ["urn:dovetail:problem:not-found"]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "what is wrong, and what to do"},
        "instance": {"type": "string"},
        "request_id": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "source": {"type": "string"},
                    "line": {"type": ["integer", "null"]},
                    "field": {"type": "string"},
                    "message": {"type": "string"},
                    "accepted": {"type": "array", "items": {"type": "string"}},
                    "detail": {"type": "string", "description": "lines to show under it, where there are any"},
                },
            },
        },
    },
}

#: For `include_router(responses=…)`: what every route answers when it does not do what was asked.
PROBLEMS: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "What was wrong and what to do",
        "content": {"application/problem+json": {"schema": {"$ref": f"{_REF}Problem"}}},
    }
}

_described: dict[str, type[BaseModel]] = {}


def takes(model: type[BaseModel], *, many: bool = False, required: bool = True) -> dict[str, Any]:
    """For `openapi_extra`: the body is the model (`many`: or a list of them, also under `workloads`)."""
    _described[model.__name__] = model
    schema: dict[str, Any] = {"$ref": f"{_REF}{model.__name__}"}
    if many:
        several = {"type": "array", "items": schema}
        wrapped = {"type": "object", "properties": {"workloads": several}, "required": ["workloads"]}
        schema = {"anyOf": [schema, several, wrapped]}
    content = {media_type: {"schema": schema} for media_type in ("application/json", "application/yaml")}
    return {"requestBody": {"required": required, "content": content}}


def describe(app: FastAPI) -> None:
    """Give the app an `openapi()` that is complete."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(
                title=app.title,
                version=app.version,
                description=app.description,
                routes=app.routes,
                tags=app.openapi_tags,
            )
            _, bodies = models_json_schema(
                [(model, "validation") for model in _described.values()], ref_template=f"{_REF}{{model}}"
            )
            schemas = found.setdefault("components", {}).setdefault("schemas", {})
            schemas |= bodies.get("$defs", {}) | {"Problem": _PROBLEM}
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
            for path in found["paths"].values():
                for operation in path.values():
                    operation["responses"].pop("422", None)  # FastAPI's own; problems are under `default`
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
