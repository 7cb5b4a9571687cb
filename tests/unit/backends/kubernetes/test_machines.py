"""Nodes are offered as they are for us: less what others take, and not while they are unwell."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.backends.kubernetes.machines import CORDONED, Machines, gpu_model
from dovetail.kubernetes_client.reflector import ChangeKind, ObjectChange
from dovetail.model.event import NodeHealthChanged, NodeJoined, NodeLeft

GPU = "nvidia.com/gpu"


def node(
    name: str = "n1", ready: str | None = "True", labels: dict[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "10", GPU: "2"}
    conditions = [] if ready is None else [{"type": "Ready", "status": ready, "reason": "Because", "message": "words"}]
    status = {"allocatable": amounts, "conditions": conditions}
    return {"metadata": {"name": name, "uid": name, "labels": labels or {}}, "spec": spec, "status": status}


def other_pod(uid: str, cpu: str, where: str = "n1", phase: str = "Running") -> dict[str, Any]:
    spec = {"nodeName": where, "containers": [{"resources": {"requests": {"cpu": cpu, GPU: "1"}}}]}
    return {"metadata": {"name": uid, "uid": uid}, "spec": spec, "status": {"phase": phase}}


def added(*items: dict[str, Any], kind: ChangeKind = ChangeKind.ADDED) -> list[ObjectChange]:
    return [ObjectChange(kind, item) for item in items]


def joined(machines: Machines) -> NodeJoined:
    (event,) = machines.changes()
    assert isinstance(event, NodeJoined)
    return event


def test_what_others_hold_is_not_offered_until_they_go() -> None:
    machines = Machines("k", GPU)
    machines.take_other_pods(added(other_pod("a", "1500m")))  # seen before its node
    machines.take_nodes(added(node()))
    assert joined(machines).node.capacity.amounts() == {"cpu": 2500, "memory": 8 * 2**30, "gpu": 1000, "slots": 9}
    machines.take_other_pods(added(other_pod("a", "1500m", phase="Succeeded"), kind=ChangeKind.MODIFIED))
    assert joined(machines).node.capacity.amounts() == {"cpu": 4000, "memory": 8 * 2**30, "gpu": 2000, "slots": 10}
    machines.take_other_pods(added(other_pod("b", "9"), other_pod("c", "9")))
    assert joined(machines).node.capacity.amounts() == {"memory": 8 * 2**30, "slots": 8}
    assert machines.changes() == []


def test_a_change_that_means_nothing_to_us_is_not_told() -> None:
    machines = Machines("k", GPU)
    machines.take_nodes(added(node()))
    joined(machines)
    machines.take_nodes(added(node(), kind=ChangeKind.MODIFIED))
    assert machines.changes() == []


def test_a_node_that_is_not_ready_is_told_to_be_away_and_back() -> None:
    machines = Machines("k", GPU)
    machines.take_nodes(added(node(ready="Unknown")))
    assert [type(event) for event in machines.changes()] == [NodeJoined, NodeHealthChanged]
    machines.take_nodes(added(node(ready="True"), kind=ChangeKind.MODIFIED))
    (event,) = machines.changes()
    assert event == NodeHealthChanged("n1", True, "its kubelet says that it is ready")
    machines.take_nodes(added(node(ready="False"), kind=ChangeKind.MODIFIED))
    assert machines.changes() == [NodeHealthChanged("n1", False, "Because: words")]
    # Whoever hears of a node that joins takes it to be well: it has to be said again.
    machines.take_other_pods(added(other_pod("a", "1")))
    assert [type(event) for event in machines.changes()] == [NodeJoined, NodeHealthChanged]


@pytest.mark.parametrize("name", ["10.0.0.7", "0a.b-c.example", "a--b", "ip-10-0-0-7.eu.internal", "x" * 253])
def test_a_node_is_called_what_the_cluster_calls_it(name: str) -> None:
    machines = Machines("k", GPU)
    machines.take_nodes(added(node(name)))
    assert joined(machines).node.name == name
    assert name in machines


def test_cordoned_nodes_are_tainted_and_removed_ones_leave() -> None:
    machines = Machines("k", GPU)
    machines.take_nodes(added(node(unschedulable=True, taints=[{"key": "a", "effect": "NoExecute"}])))
    assert [str(taint) for taint in joined(machines).node.taints] == ["a:NoExecute", f"{CORDONED}:NoSchedule"]
    machines.take_nodes(added(node(), kind=ChangeKind.DELETED))
    assert [type(event) for event in machines.changes()] == [NodeLeft]
    assert "n1" not in machines


def test_a_taint_that_only_says_that_a_node_is_unwell_is_its_health() -> None:
    machines = Machines("k", GPU)
    taints = [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]
    machines.take_nodes(added(node(ready="Unknown", taints=taints)))
    joining, health = machines.changes()
    assert isinstance(joining, NodeJoined)
    assert joining.node.taints == []
    assert isinstance(health, NodeHealthChanged)


def test_events_that_were_not_heard_are_told_again() -> None:
    machines = Machines("k", GPU)
    machines.take_nodes(added(node("10.0.0.7")))
    events = machines.changes()
    machines.report_again(list(events))
    assert machines.changes() == events


@pytest.mark.parametrize(
    ("product", "model"),
    [
        ("NVIDIA-H100-80GB-HBM3", "H100"),
        ("NVIDIA-A100-SXM4-40GB", "A100"),
        ("Tesla-T4", "T4"),
        ("NVIDIA-L40S", "L40S"),
        ("NVIDIA-GeForce-RTX-3090", "GeForce-RTX-3090"),
    ],
)
def test_gpus_are_called_what_people_call_them(product: str, model: str) -> None:
    assert gpu_model(product) == model


def test_gpus_are_described_where_the_labels_do() -> None:
    machines = Machines("k", GPU)
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81559"}
    machines.take_nodes(added(node(labels=labels)))
    (group,) = joined(machines).node.gpus
    assert (group.count, group.model, group.memory) == (2, "H100", 81559 * 2**20)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2000), st.booleans()), max_size=30))
def test_the_books_agree_with_who_is_there(moves: list[tuple[str, int, bool]]) -> None:
    machines = Machines("k", GPU)
    machines.take_nodes(added(node()))
    there: dict[str, int] = {}
    for uid, cpu, stays in moves:
        machines.take_other_pods(
            added(other_pod(uid, f"{cpu}m"), kind=ChangeKind.MODIFIED if stays else ChangeKind.DELETED)
        )
        there = {**there, uid: cpu} if stays else {key: value for key, value in there.items() if key != uid}
    (found,) = machines.nodes()
    assert found.capacity.amounts().get("cpu", 0) == max(0, 4000 - sum(there.values()))
    assert found.capacity.slots == 10 - len(there)
