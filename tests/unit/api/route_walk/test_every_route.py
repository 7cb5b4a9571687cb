"""Every route of the description is asked on a live server, and answers as described."""

import inspect
import re
from collections.abc import Iterator

import httpx
import pytest
from tests.unit.api.route_walk import exercises
from tests.unit.api.route_walk.walk import EXERCISES, Walk

from dovetail.client import Client


@pytest.fixture
def walk(url: str) -> Iterator[Walk]:
    found = Walk(url)
    yield found
    found.close()


@pytest.mark.parametrize("name", EXERCISES)
def test_the_answers_are_as_described(walk: Walk, name: str) -> None:
    exercise, operations = EXERCISES[name]
    exercise(walk)
    described = set().union(*(walk.description.successes(operation) for operation in operations))
    assert described - walk.seen == set()


def test_every_route_has_an_exercise(walk: Walk) -> None:
    exercised = {operation for _, operations in EXERCISES.values() for operation in operations}
    assert set(walk.description.operations) == exercised


def test_every_method_of_the_client_is_exercised() -> None:
    called = set(re.findall(r"\bclient\.(\w+)", inspect.getsource(exercises)))
    methods = {name for name, _ in inspect.getmembers(Client, inspect.isfunction) if not name.startswith("_")}
    assert methods - called == {"close"}


def test_every_answer_and_every_body_has_a_schema(walk: Walk) -> None:
    for name, operation in walk.description.operations.items():
        contents = [answer.get("content", {}) for answer in operation["responses"].values()]
        contents.append(operation.get("requestBody", {}).get("content", {}))
        schemas = [described["schema"] for content in contents for described in content.values()]
        assert all(schema.keys() & {"$ref", "type", "anyOf"} for schema in schemas), name
        assert operation["responses"]["default"]["content"], name


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/workloads/nobody", 404),
        ("GET", "/nodes/nobody", 404),
        ("POST", "/plan", 422),
        ("GET", "/queue?limit=0", 422),
        ("DELETE", "/backends/sim", 409),
    ],
)
def test_a_refusal_is_the_problem_document_that_is_described(walk: Walk, method: str, path: str, status: int) -> None:
    assert walk.http.request(method, path).status_code == status


def test_a_field_that_nobody_described_is_found(walk: Walk) -> None:
    answer = walk.http.get("/summary")
    schema = walk.description.operations["GET /api/v1/summary"]["responses"]["200"]["content"]["application/json"]
    walk.description.check(schema["schema"], answer.json(), "the answer")
    with pytest.raises(AssertionError, match="surprise"):
        walk.description.check(schema["schema"], answer.json() | {"surprise": 1}, "the answer")


def test_the_description_does_not_forbid_what_a_later_server_adds(url: str) -> None:
    schemas = httpx.get(f"{url}/openapi.json", trust_env=False, verify=False).json()["components"]["schemas"]
    assert "additionalProperties" not in schemas["NodeRow"]
