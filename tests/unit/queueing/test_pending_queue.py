"""Who goes next."""

from itertools import islice

import pytest

from dovetail.queueing.orderings import build_ordering
from dovetail.queueing.pending_queue import PendingQueue
from dovetail.queueing.settings import FairSettings, QueueSettings
from dovetail.queueing.sorted_entries import QueueEntry
from dovetail.queueing.tree import QueueTree
from dovetail.queueing.usage import Usage

TREE = QueueTree(
    {
        "org": QueueSettings.model_validate({"queues": {"a": {}, "b": {"weight": 4}}}),
        "other": QueueSettings(),
    }
)
A, B, OTHER, DEFAULT = (TREE.by_path[path] for path in ("org/a", "org/b", "other", "default"))
HOUR_S = 3600.0


class Scene:
    """A cluster of 128 CPUs and a line in front of it. Powers of two, so that sums of shares are exact and ties tie."""

    def __init__(self, ordering: str = "fair", **fair: object) -> None:
        settings = FairSettings.model_validate(fair)
        self.usage = Usage(TREE, {"cpu": 128.0}, settings)
        self.pending = PendingQueue(TREE, self.usage, build_ordering(ordering, settings.ageing))
        self.now = 0.0

    def push(self, id_: int, queue: int = DEFAULT, tenant: str = "t", rank: int = 2, at: float = 0.0) -> None:
        self.pending.push(QueueEntry(id_, queue, tenant, None, rank, at, share=1 / 128))

    def hold(self, cpus: int, queue: int = DEFAULT, tenant: str = "t") -> None:
        self.usage.charge(queue, None, tenant, {"cpu": 1}, cpus, self.now)

    def take(self) -> int | None:
        """The next one starts with one CPU."""
        id_ = self.pending.peek(self.now)
        if id_ is not None:
            entry = self.pending.entry(id_)
            self.pending.drop(id_)
            self.hold(1, entry.queue, entry.tenant)
        return id_

    def waiting_by_queue(self) -> dict[str, int]:
        counted = {queue.path: self.pending.waiting(code) for code, queue in enumerate(TREE.queues) if queue.path}
        return {path: waiting for path, waiting in counted.items() if waiting}

    def take_all(self) -> list[int]:
        return list(iter(self.take, None))


@pytest.mark.parametrize("ordering", ["fifo", "priority", "fair", "shortest"])
def test_an_empty_queue_has_no_next(ordering: str) -> None:
    scene = Scene(ordering)
    assert scene.pending.peek(0) is None
    scene.push(1)
    scene.pending.drop(1)
    scene.pending.drop(1)
    assert scene.pending.peek(0) is None
    assert len(scene.pending) == 0
    assert list(scene.pending) == []


@pytest.mark.parametrize("ordering", ["fifo", "priority", "fair"])
def test_work_that_is_queued_already_keeps_its_place(ordering: str) -> None:
    scene = Scene(ordering)
    scene.push(1, at=1)
    scene.push(2, at=2)
    scene.push(2, at=0)
    assert list(scene.pending) == [1, 2]
    assert len(scene.pending) == 2


@pytest.mark.parametrize("ordering", ["priority", "fair"])
def test_who_leaves_and_comes_back_more_urgent_or_less_stands_where_it_now_belongs(ordering: str) -> None:
    scene = Scene(ordering)
    for id_ in (1, 2, 3):
        scene.push(id_, at=id_)
    scene.pending.drop(3)
    scene.push(3, rank=0, at=3)
    assert list(scene.pending) == [3, 1, 2]
    scene.pending.drop(3)
    scene.push(3, rank=4, at=3)
    assert list(scene.pending) == [1, 2, 3]
    assert scene.take_all() == [1, 2, 3]


@pytest.mark.parametrize("ordering", ["priority", "fair"])
def test_iterating_over_the_queue_changes_nothing_and_agrees_with_taking(ordering: str) -> None:
    scene = Scene(ordering, weights={"x": 2})
    for id_ in range(1, 200):
        queue = (A, B, OTHER, DEFAULT)[id_ * 7 % 4]
        scene.push(id_, queue, tenant="xyz"[id_ % 3], rank=id_ % 5, at=id_ * 13 % 50)
    for id_ in range(1, 200, 3):
        scene.pending.drop(id_)
    seen = list(scene.pending)
    assert list(scene.pending) == seen
    assert list(islice(scene.pending, 10)) == seen[:10]
    assert [scene.pending.position(id_) for id_ in seen] == list(range(1, len(seen) + 1))
    assert scene.pending.position(1) is None
    assert scene.take_all() == seen


def test_those_who_wait_are_counted_by_queue_and_above() -> None:
    scene = Scene()
    for id_, queue in ((1, A), (2, A), (3, B), (4, DEFAULT)):
        scene.push(id_, queue)
    assert scene.waiting_by_queue() == {"org": 3, "org/a": 2, "org/b": 1, "default": 1}
    scene.pending.drop(3)
    assert scene.waiting_by_queue() == {"org": 2, "org/a": 2, "default": 1}
    assert scene.pending.waiting(A) == 2
    assert 2 in scene.pending
    assert 3 not in scene.pending


def test_fair_goes_to_the_tenant_with_least_for_its_weight() -> None:
    scene = Scene(weights={"red": 2})
    for id_ in range(1, 7):
        scene.push(id_, tenant="red")
        scene.push(id_ + 10, tenant="blue")
    assert [id_ > 10 for id_ in scene.take_all()[:9]] == [True, False, False, True, False, False, True, False, False]


def test_fair_goes_down_the_tree_queue_by_queue() -> None:
    scene = Scene()
    for id_ in range(1, 11):
        scene.push(id_, A)
        scene.push(id_ + 10, B)
        scene.push(id_ + 20, OTHER)
    taken = scene.take_all()[:20]
    counts = [sum(low < id_ <= low + 10 for id_ in taken) for low in (0, 10, 20)]
    assert counts == [2, 8, 10], "half for each branch, and within org one to four"


def test_many_tenants_in_one_queue_get_no_more_than_one_in_another() -> None:
    scene = Scene()
    for id_ in range(10):
        scene.push(id_ + 1, A, tenant=f"tenant{id_}")
        scene.push(id_ + 11, OTHER)
    taken = scene.take_all()[:10]
    assert sum(id_ <= 10 for id_ in taken) == 5


def test_what_a_queue_holds_without_waiting_counts_for_the_one_above() -> None:
    scene = Scene()
    scene.push(1, A)
    scene.push(2, OTHER)
    assert scene.pending.peek(0) == 1
    scene.hold(1, B)
    assert scene.pending.peek(0) == 2


def test_giving_back_brings_a_tenant_forward_again() -> None:
    scene = Scene()
    scene.push(1, tenant="a")
    scene.push(2, tenant="b")
    scene.hold(5, tenant="a")
    assert scene.pending.peek(0) == 2
    scene.hold(-5, tenant="a")
    assert scene.pending.peek(0) == 1


def test_within_a_tenant_the_most_urgent_goes_first() -> None:
    scene = Scene()
    scene.push(1, rank=4, at=1)
    scene.push(2, rank=0, at=9)
    scene.push(3, rank=0, at=8)
    assert scene.take_all() == [3, 2, 1]


def test_ties_go_to_the_queue_written_first_then_the_name_then_the_id() -> None:
    scene = Scene()
    scene.push(4, DEFAULT)
    scene.push(3, OTHER, tenant="b")
    scene.push(2, OTHER, tenant="a")
    scene.push(1, OTHER, tenant="b")
    scene.push(5, B)
    assert scene.pending.peek(0) == 5
    scene.pending.drop(5)
    assert scene.pending.peek(0) == 2
    scene.pending.drop(2)
    assert scene.pending.peek(0) == 1


def test_a_changed_cluster_changes_who_has_least() -> None:
    scene = Scene()
    scene.usage.set_capacity({"cpu": 100.0, "gpu": 100.0})
    scene.push(1, tenant="cpu user")
    scene.push(2, tenant="gpu user")
    scene.usage.charge(DEFAULT, None, "cpu user", {"cpu": 20}, 1, 0)
    scene.usage.charge(DEFAULT, None, "gpu user", {"gpu": 10}, 1, 0)
    assert scene.pending.peek(0) == 2
    scene.usage.set_capacity({"cpu": 1000.0, "gpu": 100.0})
    assert scene.pending.peek(0) == 1


def test_yesterdays_heavy_user_waits_today_until_the_past_has_faded() -> None:
    scene = Scene(half_life="1h")
    scene.hold(80, tenant="heavy")
    scene.now = 24 * HOUR_S
    scene.hold(-80, tenant="heavy")
    scene.push(1, tenant="heavy", at=scene.now)
    scene.push(2, tenant="light", at=scene.now)
    scene.hold(10, tenant="light")
    assert scene.pending.peek(scene.now) == 2
    assert scene.pending.peek(scene.now + HOUR_S) == 2
    assert scene.pending.peek(scene.now + 4 * HOUR_S) == 1, "80 has faded to 5, and nothing was charged meanwhile"


def test_waiting_makes_up_for_having_more() -> None:
    scene = Scene(ageing="1h")
    scene.hold(64, tenant="rich")
    scene.push(1, tenant="rich", at=0)
    scene.push(2, tenant="poor", at=0.4 * HOUR_S)
    scene.push(3, tenant="poor", at=0.6 * HOUR_S)
    assert scene.take_all() == [2, 1, 3]


def test_ageing_reaches_up_through_the_tree() -> None:
    scene = Scene(ageing="1h")
    scene.hold(64, A)
    scene.push(1, A, at=0)
    scene.push(2, OTHER, at=0.4 * HOUR_S)
    scene.push(3, OTHER, at=0.6 * HOUR_S)
    assert scene.take_all() == [2, 1, 3]


@pytest.mark.parametrize("ordering", ["priority", "fair"])
def test_those_who_left_from_the_middle_are_swept_out_in_time(ordering: str) -> None:
    scene = Scene(ordering, ageing="1h")
    scene.push(1, at=0)
    for id_ in range(2, 5000):
        scene.push(id_, at=id_)
        scene.hold(1)
        scene.pending.peek(0)
        scene.pending.drop(id_)
    fair = scene.pending._fair
    kept = len(scene.pending._all)
    if fair is not None:
        kept = sum(map(len, fair._waiting.values())) + sum(len(heap._heap) for heap in fair._heaps)
    assert kept < 300
    assert scene.take_all() == [1]
