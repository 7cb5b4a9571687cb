"""Every route of the description is asked on a live server, and answers as described."""

import inspect
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.servers.own_token import OWN_TOKEN
from tests.unit.api.route_walk import exercises
from tests.unit.api.route_walk.walk import EXERCISES, Walk, mentioned_methods

from dovetail.client import Client

HOME = "/".join(Path(exercises.__file__).parts[-5:])


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
    assert mentioned_methods(exercise) - walk.client.returned == set(), "these stand in the exercise but did not return"


def test_every_route_has_an_exercise(walk: Walk) -> None:
    exercised = {operation for _, operations in EXERCISES.values() for operation in operations}
    without = sorted(set(walk.description.operations) - exercised)
    assert not without, f"no test asks {', '.join(without)} of a live server; add an exercise to {HOME}"
    assert exercised <= set(walk.description.operations), "exercises of routes that do not exist"


def test_every_method_of_the_client_is_exercised() -> None:
    check_that_every_method_is_exercised(Client)


def check_that_every_method_is_exercised(client: type[Client]) -> None:
    """Each exercise checks when it runs that the methods in its source did return."""
    mentioned = set().union(*(mentioned_methods(exercise) for exercise, _ in EXERCISES.values()))
    methods = {name for name, _ in inspect.getmembers(client, inspect.isfunction) if not name.startswith("_")}
    without = sorted(methods - mentioned - {"close"})
    assert not without, (
        f"no test calls {', '.join(f'Client.{name}' for name in without)} on a live server; "
        f"call it as walk.client.{without[0]} in an exercise of {HOME}"
    )


def test_a_new_method_without_an_exercise_is_named() -> None:
    class Newer(Client):
        def brand_new(self) -> None: ...

    with pytest.raises(AssertionError, match=r"no test calls Client.brand_new .* walk.client.brand_new"):
        check_that_every_method_is_exercised(Newer)


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
    schemas = httpx.get(f"{url}/openapi.json", auth=OWN_TOKEN, trust_env=False, verify=False, timeout=60).json()[
        "components"
    ]["schemas"]
    assert "additionalProperties" not in schemas["NodeRow"]
