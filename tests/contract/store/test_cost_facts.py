"""What a store remembers for accounting: prices with the step that set them, and who held which node when."""

from collections.abc import Callable

import pytest
from tests.contract.store.records import NOW, new_workload, task_record, workload_record

from dovetail.model.batch import Batch, Changes
from dovetail.model.cost_facts import NANO, Holding, NodePrice, WorkOwner
from dovetail.model.node import Node
from dovetail.model.offer import Offer
from dovetail.model.record import AttemptRecord, NodeRecord
from dovetail.model.resources import Capacity
from dovetail.model.task import TaskId, TaskState, WorkloadState
from dovetail.store.contract import Store, StoreError

SHAPE = '{"shape": {"amounts": {"cpu": 500, "slots": 1}}}'


def node_step(at: float, price: float | None, *, name: str = "node-a", cpu: float = 4, cordoned: bool = False) -> Batch:
    offer = None if price is None else Offer(price_per_hour=price, currency="EUR")
    node = Node(name=name, backend="cloud", capacity=Capacity(cpu=cpu, memory=2**30), offer=offer)
    return Batch(changes=Changes(nodes=[NodeRecord(node, 0, True, cordoned, "")]), at=at)


def price(at: float, euros: float, cpu: int = 4000) -> NodePrice:
    if not euros:
        return NodePrice("node-a", at, "cloud", "", 0, True, cpu, 2**30, 0)
    return NodePrice("node-a", at, "cloud", "EUR", round(euros * NANO), True, cpu, 2**30, 0)


def test_a_price_is_written_down_only_when_it_changes(store: Store, restart: Callable[[], Store]) -> None:
    store.write(node_step(NOW, 1.5))
    store.write(node_step(NOW + 1, 1.5, cordoned=True))
    store.write(node_step(NOW + 2, 2.5))
    store = restart()
    store.write(node_step(NOW + 3, 2.5))
    store.write(node_step(NOW + 4, 2.5, cpu=8))
    store.write(node_step(NOW + 5, None))
    store.write(Batch(changes=Changes(nodes_gone=["node-a"]), at=NOW + 6))
    expected = [price(NOW, 1.5), price(NOW + 2, 2.5), price(NOW + 4, 2.5, 8000), price(NOW + 5, 0)]
    assert store.cost_facts(0, NOW + 100).prices == expected
    assert store.first_price() == NOW


def test_nodes_that_never_cost_anything_leave_no_trace(store: Store) -> None:
    store.write(node_step(NOW, None))
    store.write(node_step(NOW + 1, 0.0))
    store.write(Batch(changes=Changes(nodes_gone=["node-a"]), at=NOW + 2))
    assert store.first_price() is None
    assert store.cost_facts(0, NOW + 100).prices == []


def test_a_time_has_the_price_that_counts_at_its_beginning(store: Store) -> None:
    for later, euros in enumerate((1.0, 2.0, 3.0)):
        store.write(node_step(NOW + 10 * later, euros))
    assert store.cost_facts(NOW + 15, NOW + 18).prices == [price(NOW + 10, 2.0)]
    assert store.cost_facts(NOW + 15, NOW + 25).prices == [price(NOW + 10, 2.0), price(NOW + 20, 3.0)]


def test_a_step_that_cannot_be_written_leaves_no_price(store: Store) -> None:
    """The same step is written again later, and must not take the price for known."""
    broken = node_step(NOW, 1.5)
    broken.changes.workloads = [workload_record(77)]  # of a workload that is not there
    with pytest.raises(StoreError):
        store.write(broken)
    assert store.first_price() is None
    store.write(node_step(NOW, 1.5))
    assert store.cost_facts(0, NOW + 1).prices == [price(NOW, 1.5)]


def test_old_prices_are_forgotten_and_the_last_one_stays(store: Store) -> None:
    for later, euros in enumerate((1.0, 2.0, 3.0)):
        store.write(node_step(NOW + later, euros))
    store.write(node_step(NOW, 1.0, name="gone"))
    store.write(Batch(changes=Changes(nodes_gone=["gone"]), at=NOW + 1))
    store.prune(0.0, NOW + 1.5)
    assert store.cost_facts(0, NOW + 100).prices == [price(NOW + 1, 2.0), price(NOW + 2, 3.0)]


def test_every_attempt_holds_its_node_from_placement_to_end(store: Store) -> None:
    """One that migrated held each node after the other; a retried one has several attempts."""
    store.write(node_step(NOW - 50, 1.0))
    moved = AttemptRecord(TaskId(1, 0), 1, "node-a", "cloud", NOW, NOW + 1, NOW + 10, "moved", "")
    failed = AttemptRecord(TaskId(2, 0), 1, "node-a", "cloud", NOW + 2, NOW + 3, NOW + 4, "failed", "")
    tasks = [
        task_record(1, 0, TaskState.RUNNING, node="node-b"),
        task_record(2, 0, TaskState.SUCCEEDED, attempt=2, placed_at=NOW + 6, finished_at=NOW + 9),
        task_record(3, 0, TaskState.PENDING, node=None, backend=None, placed_at=None),
        task_record(4, 0, TaskState.SUCCEEDED, finished_at=NOW + 1),
    ]
    store.write(node_step(NOW - 49, 1.0, name="node-b"))
    done = [workload_record(id_, WorkloadState.SUCCEEDED, finished_at=at) for id_, at in ((2, NOW + 9), (4, NOW + 1))]
    new = [new_workload(id_, shape_json=SHAPE) for id_ in (1, 2, 3, 4)]
    store.write(Batch(submitted=new, changes=Changes(workloads=done, tasks=tasks, attempts=[moved, failed])))
    facts = store.cost_facts(NOW + 1, NOW + 100)
    assert sorted(facts.holdings, key=lambda one: (one.workload, one.since)) == [
        Holding(1, "node-a", NOW, NOW + 10),
        Holding(1, "node-b", NOW + 10, None),
        Holding(2, "node-a", NOW + 2, NOW + 4),
        Holding(2, "node-a", NOW + 6, NOW + 9),
    ]
    assert facts.owners[1] == WorkOwner("research", "train-1", "ann", "research/nlp", {"cpu": 500, "slots": 1})
    later = store.cost_facts(NOW + 9, NOW + 100)
    assert {(one.workload, one.node) for one in later.holdings} == {(1, "node-a"), (1, "node-b")}
