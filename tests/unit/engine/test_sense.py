"""Expressions and contradictions of a submission, looked at before it counts."""

from collections.abc import Mapping
from typing import Any

import pytest

from dovetail.engine.admission.admission import Admission
from dovetail.engine.engine import Engine
from dovetail.engine.settings import EngineSettings
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.workloads.workload import Workload

SETTINGS = EngineSettings.model_validate(
    {"profiles": {"by_use": {"settings": {"resources": {"basis": "observed"}}}}, "overcommit": {"cpu": 4}}
)


def complaints(overcommit: Mapping[str, float] | None = None, **fields: Any) -> list[Complaint]:
    spec = Workload.model_validate({"name": "w", **fields})
    try:
        settings = SETTINGS.model_copy(update={"overcommit": overcommit or {}})
        Admission(Engine(settings)).check([spec])
    except Invalid as invalid:
        return invalid.complaints
    return []


def requiring(*texts: Any) -> list[dict[str, Any]]:
    return [{"require": text} for text in texts]


def test_every_expression_that_makes_no_sense_is_shown_with_a_caret() -> None:
    wishes = [{"prefer": "node.fre.memory > 3"}, {"avoid": "node.load"}]
    first, second, third = complaints(constraints=[*requiring('node.labels.zone = "a"'), *wishes])
    assert first.source == "workload w"
    assert [first.field, second.field, third.field] == [
        *("constraints[0].require", "constraints[1].prefer", "constraints[2].avoid")
    ]
    assert "Did you mean 'free'" in second.message
    assert second.detail == "node.fre.memory > 3\n     ^"
    assert "\n" not in second.message
    assert str(second).splitlines()[1:] == ["    node.fre.memory > 3", "         ^"]


def test_a_contradiction_is_a_complaint_about_the_later_field() -> None:
    (found,) = complaints(constraints=requiring('node.labels.zone == "b"'), node_selector={"zone": "a"})
    assert str(found) == (
        'workload w: constraints[0].require: node.labels.zone == "b" cannot hold together with node_selector zone=a'
    )


def test_a_structure_contradicts_as_the_text_does() -> None:
    structure = {"left": "node.labels.zone", "operator": "eq", "right": "b"}
    (found,) = complaints(constraints=requiring(structure), node_selector={"zone": "a"})
    assert found.field == "constraints[0].require"
    assert found.message.endswith("cannot hold together with node_selector zone=a")


def test_a_contradiction_is_looked_for_only_where_everything_makes_sense() -> None:
    (found,) = complaints(constraints=requiring("1 > 2", "node.nope"))
    assert found.field == "constraints[1].require"


def test_what_can_be_met_is_taken() -> None:
    texts = ('node.labels.zone in ["a", "b"] && node.free.memory > GiB(64)', "!has(node.labels.spot)")
    assert not complaints(constraints=requiring(*texts), node_selector={"zone": "a"}, resources={"memory": "1GiB"})


@pytest.mark.parametrize("overcommit", [{}, {"cpu": 4.0}])
def test_overcommit_of_the_server_counts(overcommit: dict[str, float]) -> None:
    found = complaints(overcommit, constraints=requiring("node.capacity.cpu < 4.0"), resources={"cpu": 8})
    assert bool(found) is not bool(overcommit)


@pytest.mark.parametrize("profile", ["balanced", "by_use"])
def test_a_profile_that_goes_by_measured_use_counts(profile: str) -> None:
    found = complaints(profile=profile, constraints=requiring("node.free.cpu < 1.0"), resources={"cpu": 8})
    assert bool(found) is (profile == "balanced")


def test_rules_about_other_work_are_looked_at_too() -> None:
    rules = [{"near": "db", "within": "host"}, {"apart": "db", "within": "zone"}]
    (found,) = complaints(affinity=rules)
    assert found.field == "affinity[1]"
