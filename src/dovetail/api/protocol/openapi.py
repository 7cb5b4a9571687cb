"""The OpenAPI description of what routes take and answer, and the router that derives it.

Routes read bodies themselves (`body`) and write answers themselves (`replies`), which is faster than FastAPI's way and
gives better errors. So this module describes both: request bodies from `takes`, answers from the return annotation of
the route. Guarantees: every route has a described answer (or it cannot be declared), every schema that a route refers
to is among the components, and nothing is built before the description is requested.
"""

import asyncio
from collections.abc import Callable
from enum import Enum
from http import HTTPStatus
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, TypeAdapter
from starlette.responses import Response

from dovetail.api.protocol.links import add_links
from dovetail.api.protocol.replies import EventStream, Json, NoContent
from dovetail.responses.problems import ProblemDocument

PREFIX = "/api/v1"
_COMPONENTS = "#/components/schemas/"
_TEXT: dict[str, Any] = {"type": "string"}
_SCHEME = "token"  # the name of the way in which a request says who asks

OPEN_PATHS = frozenset({"/health", "/ready"})  # whoever probes needs no token
LOGIN = f"{PREFIX}/login"
OPEN_OPERATIONS = frozenset({("GET", LOGIN), ("POST", LOGIN)})  # nor does a browser that asks to be let in

_described: dict[str, Any] = {}  # every type that some route takes or answers, by the name of its schema


def takes(
    model: type[BaseModel], *, many: str = "", required: bool = True, text: tuple[str, ...] = ()
) -> dict[str, Any]:
    """For `openapi_extra`: the body is the model. `many`: or a list of them, also under that
    name. `text`: media types of other formats that the route reads as text."""
    schema = _reference(model)
    if many:
        several = {"type": "array", "items": schema}
        wrapped = {"type": "object", "properties": {many: several}, "required": [many]}
        schema = {"anyOf": [schema, several, wrapped]}
    content = {media_type: {"schema": schema} for media_type in ("application/json", "application/yaml")}
    content |= {media_type: {"schema": _TEXT} for media_type in text}
    return {"requestBody": {"required": required, "content": content}}


def takes_bytes() -> dict[str, Any]:
    """For `openapi_extra`: the body is taken as it is."""
    return {"requestBody": {"content": {"application/octet-stream": {"schema": _TEXT}}}}


class Routes(APIRouter):
    """A router whose routes say in their return annotation what they answer, in the classes of `replies`. Their paths
    are below `under`."""

    def __init__(self, prefix: str = "", tags: list[str | Enum] | None = None, under: str = PREFIX) -> None:
        super().__init__(prefix=under + prefix, tags=tags)

    def add_api_route(self, path: str, endpoint: Callable[..., Any], *args: Any, **how: Any) -> None:
        answers = _answers(endpoint)
        how |= {"response_model": None, "response_class": Response, "status_code": min(answers)}
        how["responses"] = {**answers, "default": _problem()}
        super().add_api_route(path, endpoint, *args, **how)


def describe(app: FastAPI, prefix: str) -> None:
    """Give the app an `openapi()` that is complete. `prefix`: that of the paths of its routes."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            adapters = [(name, "validation", TypeAdapter(kind)) for name, kind in _described.items()]
            _, bodies = TypeAdapter.json_schemas(adapters, ref_template=f"{_COMPONENTS}{{model}}")  # type: ignore[arg-type]
            schemas = found["components"]["schemas"]
            schemas |= bodies["$defs"]
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
            for path, operations in found["paths"].items():
                for method, operation in operations.items():
                    operation["responses"].pop("422", None)  # FastAPI's own; problems are under `default`
                    is_open = path in OPEN_PATHS or (method.upper(), path) in OPEN_OPERATIONS
                    operation["security"] = [] if is_open else [{_SCHEME: []}]
            found["components"]["securitySchemes"] = {_SCHEME: {"type": "http", "scheme": "bearer"}}
            _rename_bounds(schemas)
            add_links(found, prefix)
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


async def description_of(app: FastAPI) -> dict[str, Any]:
    """The description. A thread builds it the first time, because that takes about a second."""
    return await asyncio.to_thread(app.openapi)


def _rename_bounds(schema: Any) -> None:
    """Pydantic writes the bounds of a number that a validator reads first as `ge` and `le`, which mean nothing."""
    if isinstance(schema, dict):
        for word, keyword, tighter in (("ge", "minimum", max), ("le", "maximum", min)):
            if isinstance(schema.get(word), int | float):
                bound = schema.pop(word)
                schema[keyword] = tighter(bound, schema.get(keyword, bound))
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        _rename_bounds(inner)


def _answers(endpoint: Callable[..., Any]) -> dict[int, dict[str, Any]]:
    """By status code: the description of what the route answers."""
    found: dict[int, dict[str, Any]] = {}
    annotation = get_type_hints(endpoint)["return"]
    for reply in get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,):
        kind, models = get_origin(reply) or reply, get_args(reply)
        status = getattr(kind, "status", 200)
        answer = found.setdefault(status, {"description": HTTPStatus(status).phrase})
        if kind is NoContent:
            continue
        schema = _TEXT
        if issubclass(kind, Json):
            schema = _reference(models[0])
        elif issubclass(kind, EventStream):
            schema = _TEXT | {"contentMediaType": "application/json", "contentSchema": _reference(models[0])}
        elif kind.media_type is None:
            raise TypeError(f"{endpoint.__qualname__}: {reply} does not say what the route answers; see `replies`")
        content = answer.setdefault("content", {})
        known = content.get(kind.media_type)
        content[kind.media_type] = {"schema": schema if known is None else {"anyOf": [known["schema"], schema]}}
    return found


def _problem() -> dict[str, Any]:
    """What every route answers when it does not do what was asked."""
    content = {"application/problem+json": {"schema": _reference(ProblemDocument)}}
    return {"description": "What was wrong and what to do", "content": content}


def _reference(kind: Any) -> dict[str, Any]:
    """A reference to the schema of a model; its name is the one that Pydantic gives it. Of a list, to that of its
    items: only where others say how the answer looks."""
    origin = get_origin(kind)
    if origin is list:
        return {"type": "array", "items": _reference(get_args(kind)[0])}
    name = kind.__name__ if origin is None else f"{origin.__name__}_{'_'.join(a.__name__ for a in get_args(kind))}_"
    if _described.setdefault(name, kind) is not kind and _described[name] != kind:
        raise TypeError(f"two models are named {name}: {kind} and {_described[name]}")
    return {"$ref": f"{_COMPONENTS}{name}"}
