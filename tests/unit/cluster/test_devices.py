"""GPUs one by one: which a task gets, how many more fit, and that nothing of them is lost or given twice."""

from random import Random
from typing import Any

import numpy as np
import pytest
from tests.invariants import Violation, check_invariants
from tests.reference_devices import ReferenceGpus

from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.model.node import Node
from dovetail.model.requests.asks import GpuAsk
from dovetail.model.requests.shaping import gpus_of
from dovetail.model.resources import ResourceRequest
from dovetail.model.task import TaskId

ISLANDS = [{"count": 8, "model": "H100", "memory": "80GiB", "islands": 2}]
MIXED = [{"count": 2, "model": "A100", "memory": "40GiB"}, {"count": 2, "model": "H100", "memory": "80GiB"}]


def cluster_of(*gpus: list[dict[str, Any]]) -> Cluster:
    cluster = Cluster()
    for i, groups in enumerate(gpus):
        cluster.join(Node.model_validate({"name": f"n{i}", "gpus": groups}))
    return cluster


class Tasks:
    """Places one task after the other on a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.number = 0

    def place(self, row: int = 0, slots: tuple[int, ...] | None = None, **asked: Any) -> tuple[int, ...]:
        self.number += 1
        request = ResourceRequest.model_validate(asked)
        column = self.cluster.resources.vector({name: float(amount) for name, amount in request.amounts().items()})
        return self.cluster.place(TaskId(self.number, 0), row, column, gpus=gpus_of(request), slots=slots)


def copies(cluster: Cluster, **asked: Any) -> list[float]:
    ask = gpus_of(ResourceRequest.model_validate(asked))
    assert ask is not None
    found: list[float] = View(cluster).device_copies(ask).tolist()
    return found


def test_shares_fill_a_used_gpu_before_a_fresh_one_and_the_fullest_first() -> None:
    tasks = Tasks(cluster_of([{"count": 3}]))
    assert [tasks.place(gpu=share) for share in (0.5, 0.6, 0.3, 0.4)] == [(0,), (1,), (1,), (0,)]
    assert tasks.place(gpu=0.2) == (2,), "0.1 is left of each of the others"
    check_invariants(tasks.cluster)


def test_a_whole_gpu_is_none_that_is_shared() -> None:
    tasks = Tasks(cluster_of([{"count": 2}]))
    tasks.place(gpu=0.1)
    assert tasks.place(gpu=1) == (1,)
    assert copies(tasks.cluster, gpu=1) == [0.0]
    assert copies(tasks.cluster, gpu=0.3) == [3.0]


def test_whole_gpus_come_from_the_island_with_the_fewest_that_suffice() -> None:
    tasks = Tasks(cluster_of(ISLANDS))
    tasks.place(gpu=1, slots=(6,))
    assert tasks.place(gpu=2) == (4, 5), "three are free in the second island, four in the first"
    assert tasks.place(gpu=4, gpu_island="same") == (0, 1, 2, 3)


def test_gpus_of_several_islands_are_given_only_where_that_does_not_matter() -> None:
    tasks = Tasks(cluster_of(ISLANDS))
    assert copies(tasks.cluster, gpu=6, gpu_island="same") == [0.0]
    assert copies(tasks.cluster, gpu=3, gpu_island="same") == [2.0]
    assert tasks.place(gpu=6) == (0, 1, 2, 3, 4, 5)


def test_models_named_first_are_given_first() -> None:
    tasks = Tasks(cluster_of(MIXED))
    assert tasks.place(gpu=1, gpu_model=["H100", "A100"]) == (2,)
    assert tasks.place(gpu=0.5, gpu_model=["A100", "H100"]) == (0,)
    assert tasks.place(gpu=2, gpu_model=["H100", "A100"]) == (1, 3)
    assert copies(tasks.cluster, gpu=1, gpu_model=["H100", "A100"]) == [0.0]


def test_only_gpus_with_the_memory_count() -> None:
    cluster = cluster_of(MIXED, [{"count": 4, "model": "H100"}])
    assert copies(cluster, gpu=1, gpu_memory="64GiB") == [2.0, 0.0], "what is not known is not enough"
    assert copies(cluster, gpu="500m", gpu_memory="1GiB") == [8.0, 0.0]


def test_a_node_without_a_word_about_its_gpus_has_as_many_of_unknown_model() -> None:
    cluster = Cluster()
    cluster.join(Node.model_validate({"name": "n0", "capacity": {"gpu": 3}}))
    assert copies(cluster, gpu=2) == [1.0]
    assert copies(cluster, gpu=1, gpu_model="H100") == [0.0]
    assert cluster.node("n0").gpus == []
    check_invariants(cluster)


def test_a_node_reads_back_as_it_was_described() -> None:
    described = Node.model_validate({"name": "n0", "gpus": [*ISLANDS, {"count": 1, "uuids": ["GPU-1"], "numa": [1]}]})
    cluster = Cluster()
    cluster.join(described)
    assert cluster.node("n0").gpus == described.gpus
    assert cluster.node("n0").capacity.gpu == 9


def test_who_has_a_gpu_keeps_it_when_its_node_is_described_anew() -> None:
    tasks = Tasks(cluster_of([{"count": 2}]))
    tasks.place(gpu=1, slots=(1,))
    tasks.cluster.join(Node.model_validate({"name": "n0", "gpus": [{"count": 1, "model": "H100"}]}))
    check_invariants(tasks.cluster, within_capacity=False)
    assert copies(tasks.cluster, gpu=1) == [1.0], "the other one is there, though the amounts say nothing is left"
    tasks.cluster.join(Node.model_validate({"name": "n0", "gpus": [{"count": 4, "model": "H100"}]}))
    check_invariants(tasks.cluster)
    assert tasks.place(gpu=3) == (0, 2, 3)


def test_a_task_can_be_given_back_the_gpus_it_had() -> None:
    tasks = Tasks(cluster_of([{"count": 4}]))
    assert tasks.place(gpu=0.5, slots=(3,)) == (3,)
    assert tasks.place(gpu=2, slots=(0, 2)) == (0, 2)
    assert tasks.place(gpu=0.5) == (3,)
    check_invariants(tasks.cluster)


def test_trials_give_everything_back_to_the_very_same_gpus() -> None:
    tasks = Tasks(cluster_of([{"count": 4}]))
    for share in (0.3, 0.8, 1):
        tasks.place(gpu=share)
    before = tasks.cluster.devices.free.copy()
    slots = {task: placed.slots for task, placed in tasks.cluster.placements.by_task.items()}
    with tasks.cluster.trial():
        tasks.cluster.remove(TaskId(2, 0))
        tasks.place(gpu=1)
        tasks.cluster.remove(TaskId(1, 0))
        tasks.place(gpu=0.9)
    assert (tasks.cluster.devices.free == before).all()
    assert {task: placed.slots for task, placed in tasks.cluster.placements.by_task.items()} == slots
    check_invariants(tasks.cluster)


def test_a_gpu_that_is_given_twice_is_found_out() -> None:
    tasks = Tasks(cluster_of([{"count": 2}]))
    tasks.place(gpu=0.7)
    tasks.place(gpu=0.7, slots=(0,))
    with pytest.raises(Violation, match="double-booked"):
        check_invariants(tasks.cluster)


def test_gpus_that_give_other_than_the_amounts_are_found_out() -> None:
    tasks = Tasks(cluster_of([{"count": 2}]))
    tasks.place(gpu=1)
    tasks.cluster.devices.take(0, (1,), 1000)
    with pytest.raises(Violation, match="free GPUs differ"):
        check_invariants(tasks.cluster)


GROUPS: list[list[dict[str, Any]]] = [
    ISLANDS,
    MIXED,
    [{"count": 6, "model": "A100", "memory": "16GiB", "islands": 3}, {"count": 2}],
]
ASKS: list[dict[str, Any]] = [
    *({"gpu": amount} for amount in (1, 3, "250m", 0.6)),
    {"gpu": 2, "gpu_island": "same"},
    {"gpu": 1, "gpu_model": ["H100", "A100"]},
    {"gpu": 0.4, "gpu_model": "A100"},
    {"gpu": 1, "gpu_memory": "40GiB"},
    {"gpu": 2, "gpu_model": ["A100", "H100"], "gpu_memory": "16GiB", "gpu_island": "same"},
]


@pytest.mark.parametrize("seed", range(20))
def test_the_arrays_agree_with_devices_looked_at_one_by_one(seed: int) -> None:
    r = Random(seed)
    groups = r.choice(GROUPS)
    tasks, plain = Tasks(cluster_of(groups)), ReferenceGpus()
    plain.redefine(tasks.cluster.node("n0"))
    placed: list[int] = []
    for _ in range(120):
        if placed and not r.randrange(3):
            number = placed.pop(r.randrange(len(placed)))
            tasks.cluster.remove(TaskId(number, 0))
            plain.give(number)
        asked = ResourceRequest.model_validate(r.choice(ASKS))
        ask = gpus_of(asked)
        assert ask is not None
        expected = plain.choose(asked)
        assert tasks.cluster.devices.choose(0, ask) == expected
        room = View(tasks.cluster).device_copies(ask)[0]
        assert (room >= 1) == (expected is not None) == View(tasks.cluster).has_devices(ask)[0]
        if expected is not None:
            assert tasks.place(**asked.model_dump(exclude_unset=True)) == expected
            placed.append(tasks.number)
            plain.take(tasks.number, asked)
            assert View(tasks.cluster).device_copies(ask)[0] == room - 1, "one task, one copy less"
        check_invariants(tasks.cluster)


def test_looking_ahead_is_as_placing_would_be() -> None:
    tasks = Tasks(cluster_of([{"count": 4}], ISLANDS))
    tasks.place(gpu=0.3)
    ask, rows = GpuAsk(share=300), np.array([0, 0, 1], dtype=np.intp)
    column = tasks.cluster.resources.vector({"gpu": 300.0, "slots": 1.0})
    ahead = View(tasks.cluster).after(rows, column, np.array([0.0, 3.0, 2.0]))
    now = View(tasks.cluster).subset(rows).device_copies(ask)
    assert ahead.device_copies(ask).tolist() == (now - [0.0, 3.0, 2.0]).tolist() == [11.0, 8.0, 22.0]
