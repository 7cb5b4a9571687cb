"""The table of domains: right from the beginning, and as right after any number of changes."""

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from dovetail.cluster.network.domain_table import HEALTHY, NODES, WHOLE_GPUS, WHOLE_NODES, DomainTable
from dovetail.cluster.network.levels import present_levels
from dovetail.cluster.state import Cluster
from dovetail.model.network.topology import Topology
from dovetail.model.node import Node
from dovetail.model.resources import Capacity
from dovetail.model.task import TaskId


def node(number: int, leaf: str | None, gpu: int = 8) -> Node:
    labels = {} if leaf is None else {"leaf": leaf}
    return Node(name=f"n{number}", labels=labels, capacity=Capacity(cpu=16, memory=64 * 2**30, gpu=gpu))


def small() -> tuple[Cluster, DomainTable]:
    cluster = Cluster()
    for i, leaf in enumerate(["a", "a", "b", None]):
        cluster.join(node(i, leaf))
    return cluster, DomainTable(cluster)


def place(cluster: Cluster, task: int, row: int, **needs: float) -> None:
    cluster.place(TaskId(task, 0), row, cluster.resources.vector({"slots": 1.0, **needs}))


def amounts(cluster: Cluster, table: DomainTable, resource: str) -> tuple[list[float], list[float]]:
    """Capacity and free amounts of the leaves."""
    capacity, free = table.sums("leaf")[4:].reshape(-1, 2, 3)[cluster.resources.index[resource]].tolist()
    return capacity, free


def test_a_domain_has_what_its_nodes_have() -> None:
    cluster, table = small()
    place(cluster, 1, 0, cpu=4000.0, gpu=3000.0)
    assert table.sums("leaf")[[NODES, HEALTHY, WHOLE_NODES, WHOLE_GPUS]].tolist() == [
        [1, 2, 1],
        [1, 2, 1],
        [1, 1, 1],
        [8, 13, 8],
    ]
    assert amounts(cluster, table, "gpu")[0] == [8000, 16_000, 8000]
    assert amounts(cluster, table, "cpu")[1] == [16_000, 28_000, 16_000]


def test_a_gpu_that_is_shared_is_not_whole() -> None:
    cluster, table = small()
    place(cluster, 1, 0, gpu=250.0)
    (one, _) = table.domains(present_levels(cluster)[0])
    assert (one.name, one.whole_gpus, one.free["gpu"], one.whole_nodes) == ("a", 15, 15_750, 1)


def test_nodes_that_take_no_work_have_nothing_free() -> None:
    cluster, table = small()
    table.refresh()
    cluster.set_cordoned("n0", True, "repair")
    assert table.sums("leaf")[HEALTHY].tolist() == [1, 1, 1]
    assert amounts(cluster, table, "gpu") == ([8000, 16_000, 8000], [8000, 8000, 8000])


def test_the_largest_gang_is_the_sum_of_what_nodes_hold() -> None:
    cluster, table = small()
    place(cluster, 1, 0, gpu=1000.0)
    assert table.largest_gang("leaf", {"gpu": 4000.0}).tolist() == [2, 3, 2]
    assert table.largest_gang("leaf", {"gpu": 8000.0, "cpu": 1000.0}).tolist() == [1, 1, 1]
    assert table.largest_gang("leaf", {"gpu": 9000.0}).tolist() == [0, 0, 0]
    assert table.largest_gang("host", {"gpu": 8000.0}).tolist() == [0, 1, 1, 1]
    assert table.largest_gang("leaf", {"vendor.com/fpga": 1.0}).tolist() == [0, 0, 0]


def test_a_whole_gpu_is_counted_as_such_and_a_share_by_amount() -> None:
    cluster, table = small()
    for task in range(8):
        place(cluster, task, 2, gpu=1000.0 if task else 500.0)
    assert table.largest_gang("leaf", {"gpu": 1000.0})[2] == 0
    assert table.largest_gang("leaf", {"gpu": 500.0})[2] == 1


def test_a_node_that_moves_takes_its_part_along() -> None:
    cluster, table = small()
    table.refresh()
    cluster.join(node(0, "c"))
    assert table.sums("leaf")[NODES].tolist() == [1, 1, 1, 1]
    cluster.leave("n2")
    assert table.sums("leaf")[NODES].tolist() == [1, 1, 0, 1]
    assert [domain.name for domain in table.domains(present_levels(cluster)[0])] == ["a", "c"]


def test_a_topology_that_comes_later_makes_the_table_anew() -> None:
    cluster, table = small()
    table.refresh()
    levels, domains = [{"name": "row"}], {"row": {"r1": ["n0", "n3"]}}
    cluster.set_topology(Topology.model_validate({"levels": levels, "domains": domains}))
    assert table.sums("row")[NODES].tolist() == [2, 2]
    (one,) = table.domains(present_levels(cluster)[0])
    assert (one.level, one.name, one.nodes, one.free) == ("row", "r1", 2, one.capacity)


@examples(50)
@given(st.integers(0, 2**32), st.integers(1, 60))
def test_mended_again_and_again_it_is_what_it_would_be_anew(seed: int, steps: int) -> None:
    chance = Random(seed)
    cluster, table = small()
    leaves = ["a", "b", "c", "d", None]
    placed: list[int] = []
    for step in range(steps):
        names = list(cluster.rows)
        match chance.randrange(6):
            case 0:
                cluster.join(node(chance.randrange(6), chance.choice(leaves), chance.choice([0, 4, 8])))
            case 1 if len(names) > 1:
                name = chance.choice(names)
                for task in list(cluster.placements.by_row[cluster.rows[name]]):
                    cluster.remove(task)
                    placed.remove(task.workload)
                cluster.leave(name)
            case 2:
                cluster.set_cordoned(chance.choice(names), chance.random() < 0.5)
            case 3 if placed:
                cluster.remove(TaskId(placed.pop(chance.randrange(len(placed))), 0))
            case 4:
                cluster.trim_log()
                cluster.reserve(chance.choice(names), {"cpu": 1000})
            case _:
                row = cluster.rows[chance.choice(names)]
                gpu = chance.choice([0.0, 500.0, 2000.0])
                if cluster.resources.free[cluster.resources.index["gpu"], row] >= gpu:
                    place(cluster, step, row, cpu=500.0, gpu=gpu)
                    placed.append(step)
        if chance.random() < 0.6:
            assert np.array_equal(table.sums("leaf"), DomainTable(cluster).sums("leaf"))
    assert np.array_equal(table.sums("leaf"), DomainTable(cluster).sums("leaf"))
    assert np.array_equal(table.sums("host"), DomainTable(cluster).sums("host"))
