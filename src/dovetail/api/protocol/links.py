"""Links of the OpenAPI description: what an answer names leads to the routes that take it.

They follow from the paths and the schemas, so that a new route gets its links by itself:

- what `POST /nodes` made, and the first of what `GET /nodes` lists, leads to every route at or below `/nodes/{name}`;
- what `PUT /policies/{name}` wrote leads to every route at or below it;
- any other change of an item (`POST /nodes/{name}/cordon`) leads to `GET` of the item.

The value of a path parameter is the field of the answer that has its name, or else `id`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Schema = dict[str, Any]

_PARAMETER = re.compile(r"{(\w+)}")
_ID = "id"
#: Items that are made at another path than their own.
MADE_ELSEWHERE = {
    "/exec/{command}": ("/workloads/{ref}/exec", "/workloads/{ref}/attach"),
    "/names/{ref}": ("/workloads",),
}


class _Operation(NamedTuple):
    path: str
    method: str
    content: Schema


def add_links(document: Schema, prefix: str) -> None:
    """Add them to the answers of a complete description. `prefix`: that of the paths."""
    operations = [
        _Operation(path, method, content)
        for path, methods in document["paths"].items()
        for method, content in methods.items()
    ]
    schemas = document["components"]["schemas"]
    for operation in operations:
        for status, answer in operation.content["responses"].items():
            links = dict(_links(operation, operations, _json_schema(answer), schemas, prefix))
            if links and status.startswith("2"):
                answer["links"] = links


def _links(
    source: _Operation, operations: list[_Operation], answer: Schema, schemas: Schema, prefix: str
) -> Iterator[tuple[str, Schema]]:
    for target in operations:
        parameters = _parameters(source, target, answer, schemas, prefix)
        if parameters is not None:
            name = target.content["operationId"]
            yield name, {"operationId": name, "parameters": parameters}


def _parameters(
    source: _Operation, target: _Operation, answer: Schema, schemas: Schema, prefix: str
) -> dict[str, str] | None:
    """Where the path parameters of the target come from; None where the source does not lead there."""
    own = {name: f"$request.path.{name}" for name in _PARAMETER.findall(source.path)}
    if own and _is_below(target.path, source.path) and source.method == "put" and source is not target:
        return own
    if source.method in ("post", "patch") and target.method == "get" and _is_item_of(target.path, source.path):
        return {name: own[name] for name in _PARAMETER.findall(target.path)}
    if source.method not in ("get", "post"):
        return None
    for collection, item in _items(source.path, target.path, prefix):
        new = [name for name in _PARAMETER.findall(item) if name not in _PARAMETER.findall(collection)]
        pointers = {name: _pointer(answer, name, schemas) for name in new}
        if new and all(pointers.values()):
            kept = {name: own[name] for name in _PARAMETER.findall(item) if name in own}
            return kept | {name: f"$response.body#{pointer}" for name, pointer in pointers.items()}
    return None


def _items(collection: str, path: str, prefix: str) -> Iterator[tuple[str, str]]:
    """The collection, and the path of its items, where the path is at or below that."""
    found = re.fullmatch(rf"({re.escape(collection)}(?:/{{\w+}})+)(?:/\w.*)?", path)
    if found:
        yield collection, found[1]
    for item, makers in MADE_ELSEWHERE.items():
        if collection in [prefix + maker for maker in makers] and _is_below(path, prefix + item):
            yield "", prefix + item


def _is_below(path: str, item: str) -> bool:
    return path == item or path.startswith(f"{item}/")


def _is_item_of(item: str, path: str) -> bool:
    """Whether the path is that of an item, and the other one is it or right below it."""
    return item.endswith("}") and (path == item or path.rpartition("/")[0] == item)


def _json_schema(answer: Mapping[str, Any]) -> Schema:
    found: Schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
    return found


def _pointer(schema: Schema, name: str, schemas: Schema) -> str:
    """To the field with this name, or `id`, of the answer or of the first of what it lists; empty if there is none."""
    fields = _resolved(schema, schemas).get("properties", {})
    for field in (name, _ID):
        if field in fields:
            return f"/{field}"
    for listed, held in fields.items():
        items = _resolved(held, schemas).get("items")
        inner = _pointer(items, name, schemas) if items else ""
        if inner:
            return f"/{listed}/0{inner}"
    return ""


def _resolved(schema: Schema, schemas: Schema) -> Schema:
    while "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    return schema
