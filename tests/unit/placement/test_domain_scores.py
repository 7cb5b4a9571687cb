"""The domain scores, and what the profile made of them does with a GPU job."""

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.placement.scene import cluster_of, occupy, request_for, scored

from dovetail.cluster.state import Cluster
from dovetail.engine.engine import Engine
from dovetail.engine.pieces import whole
from dovetail.engine.questions.questions import Questions
from dovetail.model.event import NodeJoined, Submitted, Tick
from dovetail.model.node import Node
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

GPUS: dict[str, Any] = {"cpu": 16, "memory": "64GiB", "gpu": 8, "slots": 20}


def two_leaves() -> Cluster:
    """n0 and n1 behind leaf a, n2 and n3 behind b, n4 behind none."""
    leaves = ("a", "a", "b", "b", None)
    return cluster_of(*({"capacity": GPUS, "labels": {"leaf": leaf} if leaf else {}} for leaf in leaves))


def test_availability_is_the_free_share_of_the_domain_in_what_is_scarcest() -> None:
    cluster = two_leaves()
    occupy(cluster, 0, gpu=8)
    occupy(cluster, 3, TaskId(901, 0), cpu=8)
    request = request_for(cluster, resources={"gpu": 1, "cpu": 1})
    assert scored("domain_availability", cluster, request) == [0.5, 0.5, 0.75, 0.75, 1.0]
    assert scored("domain_availability", cluster, request_for(cluster, resources={"a.com/b": 1})) == [0.0] * 5


def test_alignment_is_how_much_of_the_job_the_domain_could_hold() -> None:
    cluster = two_leaves()
    occupy(cluster, 0, gpu=8)
    occupy(cluster, 2, TaskId(7, 1), gpu=8)  # a task of the job itself
    request = replace(request_for(cluster, resources={"gpu": 8}), siblings=(7, 4))
    assert scored("topology_alignment", cluster, request) == [0.25, 0.25, 0.5, 0.5, 0.25]
    cluster.set_cordoned("n1", True)
    assert scored("topology_alignment", cluster, request)[0] == 0.0


def test_utilisation_is_the_used_share_of_the_domain() -> None:
    cluster = two_leaves()
    occupy(cluster, 1, gpu=4)
    request = request_for(cluster, resources={"gpu": 1})
    assert scored("domain_utilisation", cluster, request) == [0.25, 0.25, 0.0, 0.0, 0.0]


def test_history_is_how_work_ended_in_the_domain() -> None:
    cluster = two_leaves()
    for ok in (True, True, False):
        cluster.count_outcome("n1", ok)
    cluster.count_outcome("n4", False)
    found = scored("domain_history", cluster, request_for(cluster))
    assert found == pytest.approx([2 / 3, 2 / 3, 1.0, 1.0, 0.0])


def test_history_falls_with_how_slow_work_was_in_the_domain() -> None:
    cluster = two_leaves()
    cluster.note_pace("n0", 1.0)
    cluster.note_pace("n1", 3.0)
    cluster.note_pace("n2", 0.5)
    assert scored("domain_history", cluster, request_for(cluster)) == pytest.approx([0.5, 0.5, 1.0, 1.0, 1.0])


def test_packing_prefers_nodes_whose_gpus_are_in_use_and_nodes_without_any() -> None:
    cluster = cluster_of({"capacity": GPUS}, {"capacity": GPUS}, {})
    occupy(cluster, 0, gpu=4)
    assert scored("gpu_packing", cluster, request_for(cluster, resources={"gpu": 2})) == [0.75, 0.25, 1.0]


def test_work_without_gpus_leaves_each_free_gpu_its_share_of_the_cpus() -> None:
    cluster = cluster_of({"capacity": GPUS}, {"capacity": GPUS}, {"capacity": GPUS}, {})
    cpus = GPUS["cpu"]
    occupy(cluster, 0, gpu=8)
    occupy(cluster, 1, gpu=4, cpu=cpus // 4)
    request = request_for(cluster, resources={"cpu": cpus // 2})
    # No GPU is free on the first. On the second a quarter of the CPUs is left for half of the GPUs, on the third half
    # of the CPUs for all of them.
    assert scored("gpu_support", cluster, request) == [0.0, -0.25, -0.5, 0.0]


def test_the_level_is_a_setting() -> None:
    cluster = cluster_of(*({"capacity": GPUS, "labels": {"pod": "x"}} for _ in range(2)), {"capacity": GPUS})
    occupy(cluster, 0, gpu=8)
    request = request_for(cluster, resources={"gpu": 1})
    assert scored("domain_availability", cluster, request, level="pod") == [0.5, 0.5, 1.0]


def leaf_engine(leaves: int, nodes_a_leaf: int) -> Engine:
    engine = Engine()
    for leaf in range(leaves):
        for i in range(nodes_a_leaf):
            fields = {"name": f"l{leaf}-n{i}", "capacity": GPUS, "labels": {"leaf": f"l{leaf}"}}
            engine.handle(NodeJoined(Node.model_validate(fields)), 0.0)
    return engine


def test_a_job_that_fits_one_leaf_gets_one_leaf() -> None:
    engine = leaf_engine(4, 4)
    for leaf in range(3):  # one node of three leaves is taken; only the fourth can hold all of it
        spec = {"name": f"old-{leaf}", "resources": {"gpu": 8}, "node_selector": {"leaf": f"l{leaf}"}}
        engine.handle(Submitted(leaf + 1, Workload.model_validate(spec)), 0.0)
    engine.handle(Tick(10), 0.0)
    job = Workload.model_validate({"name": "train", "replicas": 4, "resources": {"gpu": 8}, "profile": "gpu_topology"})
    planned = {task.node for task in whole(Questions(engine).plans.plan(job))}
    engine.handle(Submitted(9, job), 1.0)
    engine.handle(Tick(10), 1.0)
    placed = {task.node for task in engine._state.work[9].tasks.values()}
    assert placed == {f"l3-n{i}" for i in range(4)} == planned


def test_small_work_fills_nodes_that_are_begun() -> None:
    engine = leaf_engine(1, 4)
    for i in range(8):
        spec = {"name": f"small-{i}", "resources": {"gpu": 1}, "profile": "gpu_topology"}
        engine.handle(Submitted(i + 1, Workload.model_validate(spec)), 0.0)
        engine.handle(Tick(10), 0.0)
    assert {engine._state.work[i + 1].tasks[0].node for i in range(8)} == {"l0-n0"}
