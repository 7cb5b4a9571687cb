"""Whoever submits, plans or asks for capacity hears of a bad expression, and of a contradiction, at once."""

from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.needs_server

DOORS = ("/workloads", "/plan", "/capacity")


def refused(http: httpx.Client, door: str, **fields: Any) -> dict[str, Any]:
    answer = http.post(door, json={"name": "w", **fields})
    assert answer.status_code == 422, answer.text
    errors = answer.json()["errors"]
    assert len(errors) == 1, errors
    found: dict[str, Any] = errors[0]
    return found


@pytest.mark.parametrize("door", DOORS)
def test_a_bad_expression_is_shown_with_a_caret(http: httpx.Client, door: str) -> None:
    error = refused(http, door, constraints=[{"require": "node.fre.memory > 3"}])
    assert error["field"] == "constraints[0].require"
    assert error["detail"].splitlines() == ["node.fre.memory > 3", "     ^"]


@pytest.mark.parametrize("door", DOORS)
def test_a_contradiction_names_both_sides(http: httpx.Client, door: str) -> None:
    constraints = [{"require": 'node.labels.zone == "b"'}]
    error = refused(http, door, constraints=constraints, node_selector={"zone": "a"})
    assert error["field"] == "constraints[0].require"
    assert error["message"] == 'node.labels.zone == "b" cannot hold together with node_selector zone=a'
