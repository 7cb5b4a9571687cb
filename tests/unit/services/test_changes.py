"""What applying a definition would do."""

from typing import Any

import pytest

from dovetail.model.services.service import Service
from dovetail.services.changes import ApplyOutcome, FieldChange, changes_between, outcome_of


def service(**fields: Any) -> Service:
    return Service.model_validate({"name": "web", **fields})


def test_a_service_that_is_not_there_is_created() -> None:
    assert outcome_of(None, service()) == (ApplyOutcome.CREATED, [])


def test_the_same_definition_changes_nothing_however_it_is_written() -> None:
    one = service(resources={"cpu": "500m"}, ports=[{"name": "http"}], health={"readiness": {"http": "/ok"}})
    other = service(
        resources={"cpu": 0.5},
        ports=[{"name": "http", "protocol": "tcp"}],
        health={"readiness": {"http": {"path": "/ok"}}},
    )
    assert outcome_of(one, other) == (ApplyOutcome.UNCHANGED, [])


@pytest.mark.parametrize(
    "changed",
    [
        {"replicas": 3},
        {"update": {"max_surge": 2}},
        {"autoscale": {"max": 3, "target": 1, "query": {"url": "http://x"}}},
        {"health": {"readiness": {"tcp": 80}}},
    ],
    ids=lambda one: next(iter(one)),
)
def test_what_no_replica_knows_of_is_changed_in_place(changed: dict[str, Any]) -> None:
    assert outcome_of(service(), service(**changed))[0] is ApplyOutcome.CHANGED


@pytest.mark.parametrize(
    "changed",
    [
        {"run": {"command": ["x"]}},
        {"labels": {"a": "b"}},
        {"ports": [{"name": "http"}]},
        {"resources": {"cpu": 1}},
        {"replicas": 2, "priority": "high"},
    ],
    ids=lambda one: next(iter(one)),
)
def test_everything_else_replaces_replicas(changed: dict[str, Any]) -> None:
    assert outcome_of(service(), service(**changed))[0] is ApplyOutcome.REPLACED


def test_changes_are_named_by_their_path_and_only_what_changed_is_named() -> None:
    before = service(run={"image": "web:1", "env": {"A": "1", "B": "2"}}, resources={"cpu": 1})
    after = service(run={"image": "web:2", "env": {"A": "1", "C": "3"}}, resources={"cpu": 1})
    assert changes_between(before, after) == [
        FieldChange("run.image", "web:1", "web:2"),
        FieldChange("run.env.B", "2", None),
        FieldChange("run.env.C", None, "3"),
    ]
