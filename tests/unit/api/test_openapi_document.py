"""The OpenAPI document leads from answers to the routes that take what they name, and says what is true of values."""

from typing import Any

import httpx
import pytest
from tests.servers.own_token import OWN_TOKEN

Document = dict[str, Any]


@pytest.fixture(scope="module")
def document(url: str) -> Document:
    answer = httpx.get(f"{url}/openapi.json", auth=OWN_TOKEN, trust_env=False, verify=False, timeout=60)
    found: Document = answer.json()
    return found


def links_of(document: Document, method: str, path: str, status: str) -> dict[str, dict[str, str]]:
    """By `METHOD /path` of the target: where its path parameters come from."""
    places = {
        operation["operationId"]: f"{method.upper()} {path.removeprefix('/api/v1')}"
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    answer = document["paths"][f"/api/v1{path}"][method]["responses"][status]
    return {places[link["operationId"]]: link["parameters"] for link in answer.get("links", {}).values()}


def test_what_was_made_leads_to_every_route_about_it(document: Document) -> None:
    links = links_of(document, "post", "/nodes", "201")
    assert links["DELETE /nodes/{name}"] == {"name": "$response.body#/name"}
    assert links["POST /nodes/{name}/drain"] == {"name": "$response.body#/name"}
    links = links_of(document, "post", "/workloads", "201")
    assert links["GET /workloads/{ref}/logs"] == {"ref": "$response.body#/accepted/0/id"}
    assert links["GET /names/{ref}"] == {"ref": "$response.body#/accepted/0/id"}
    started = links_of(document, "post", "/workloads/{ref}/exec", "201")
    assert started["GET /exec/{command}/output"] == {"command": "$response.body#/id"}


def test_a_list_leads_to_the_first_of_its_items(document: Document) -> None:
    assert links_of(document, "get", "/backends", "200")["GET /backends/{name}"] == {
        "name": "$response.body#/items/0/name"
    }
    links = links_of(document, "get", "/policies/{name}/versions", "200")
    version = {"name": "$request.path.name", "version": "$response.body#/items/0/version"}
    assert links == {"GET /policies/{name}/versions/{version}": version}


def test_what_was_written_under_a_name_leads_to_what_is_below_it(document: Document) -> None:
    links = links_of(document, "put", "/policies/{name}", "201")
    assert "PUT /policies/{name}" not in links
    assert links["DELETE /policies/{name}"] == {"name": "$request.path.name"}
    assert links_of(document, "post", "/nodes/{name}/cordon", "200") == {
        "GET /nodes/{name}": {"name": "$request.path.name"}
    }
    assert not links_of(document, "delete", "/nodes/{name}", "204")


def test_every_route_but_the_probes_needs_the_token(document: Document) -> None:
    [scheme] = document["components"]["securitySchemes"]
    is_open = {
        f"{method} {path}"
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if operation["security"] != [{scheme: []}]
    }
    assert is_open == {"get /health", "get /ready", "get /api/v1/login", "post /api/v1/login"}


def test_bounds_of_counts_are_those_of_a_schema(document: Document) -> None:
    schemas = document["components"]["schemas"]
    replicas = schemas["Workload"]["properties"]["replicas"]
    assert (replicas["minimum"], "ge" in replicas) == (1, False)
    assert schemas["Traffic"]["properties"]["mbps"]["minimum"] == 1
    assert schemas["JoinTokenBody"]["properties"]["uses"]["maximum"] == 10_000


def test_what_is_taken_as_text_may_be_a_number(document: Document) -> None:
    value = document["components"]["schemas"]["Node"]["properties"]["labels"]["additionalProperties"]
    assert {one["type"] for one in value["anyOf"]} == {"string", "integer", "number", "boolean"}
    assert value["format"] == "label-value"


def test_a_bandwidth_is_never_a_bare_number(document: Document) -> None:
    schemas = document["components"]["schemas"]
    text, nothing = schemas["TopologyLevel"]["properties"]["bandwidth"]["anyOf"]
    assert [one["type"] for one in text["anyOf"]] == ["string"]
    assert nothing == {"type": "null"}


def test_every_list_says_what_it_holds(document: Document) -> None:
    def empty_lists(schema: Any, at: str) -> list[str]:
        if isinstance(schema, dict):
            own = [at] if schema.get("type") == "array" and not schema.get("items") else []
            return own + [one for key, inner in schema.items() for one in empty_lists(inner, f"{at}/{key}")]
        return [one for inner in schema for one in empty_lists(inner, at)] if isinstance(schema, list) else []

    assert empty_lists(document["components"]["schemas"], "") == []
