"""What the engines of a machine add to its node, and which of them runs what."""

from typing import Any

import pytest

from dovetail.agent.engines import engine_for, kind_of_engine, with_engines
from dovetail.backends.contract import Refusal
from dovetail.model.node import Node
from dovetail.model.resources import Capacity
from dovetail.model.workloads.workload import Workload, WorkloadKind


def node(*kinds: str, labels: dict[str, str], **capacity: Any) -> Node:
    return Node.model_validate({"name": "far", "kinds": kinds, "labels": labels, "capacity": capacity})


MACHINE = node("job", labels={"arch": "amd64"}, cpu=8, memory="16GiB", slots=50)
DOCKER = node("container", labels={"arch": "x", "docker": "27"}, cpu=64, memory="64GiB")
HYPERVISOR = node("vm", labels={"numa_cells": "1"}, cpu=6, memory="20GiB", slots=110, **{"example.com/huge": 32})


def test_a_machine_without_engines_is_as_it_is() -> None:
    assert with_engines(MACHINE, {}) == MACHINE


def test_containers_change_no_capacity_and_the_machine_knows_its_labels_better() -> None:
    found = with_engines(MACHINE, {WorkloadKind.CONTAINER: DOCKER})
    assert found.capacity == MACHINE.capacity
    assert found.labels == {"arch": "amd64", "docker": "27"}
    assert found.kinds == [WorkloadKind.JOB, WorkloadKind.CONTAINER]


def test_what_vms_of_others_have_is_no_capacity_and_huge_pages_are() -> None:
    found = with_engines(MACHINE, {WorkloadKind.VM: HYPERVISOR})
    assert found.capacity == Capacity.model_validate({"cpu": 6, "memory": "16GiB", "slots": 50, "example.com/huge": 32})


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"run": {"command": ["true"]}}, None),
        ({"run": {"image": "alpine", "command": ["true"]}}, WorkloadKind.CONTAINER),
        ({"kind": "vm", "resources": {"memory": "1GiB"}, "vm": {"image": "debian"}}, WorkloadKind.VM),
    ],
)
def test_each_kind_has_its_engine(fields: dict[str, Any], kind: WorkloadKind | None) -> None:
    assert kind_of_engine(Workload.model_validate({"name": "work", **fields})) is kind


@pytest.mark.parametrize(("kind", "word"), [(WorkloadKind.VM, "libvirt"), (WorkloadKind.CONTAINER, "docker")])
def test_an_engine_that_is_missing_is_named_with_its_setting(kind: WorkloadKind, word: str) -> None:
    with pytest.raises(Refusal, match=f"give its agent one: {word} in its settings"):
        engine_for({}, kind)
