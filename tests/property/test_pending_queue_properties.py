"""What must hold of the waiting line whatever happens: fairness, nobody starves, quotas hold, the order is one order.

Fairness is watched on a small pool with a loop of its own: the next from the line starts if it fits, else it is set
aside until somebody finishes.
"""

from collections import Counter
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from dovetail.queueing.orderings import build_ordering
from dovetail.queueing.pending_queue import PendingQueue
from dovetail.queueing.quota import Quotas
from dovetail.queueing.settings import FairSettings, QueueSettings
from dovetail.queueing.sorted_entries import QueueEntry
from dovetail.queueing.tree import QueueTree
from dovetail.queueing.usage import Usage

POOL = {"cpu": 3000, "memory": 12000, "gpu": 300}
#: Lean to CPU, memory or GPU, large and small.
SHAPES = (
    {"cpu": 4, "memory": 8},
    {"cpu": 1, "memory": 12},
    {"cpu": 2, "memory": 4, "gpu": 1},
    {"cpu": 10, "memory": 10, "gpu": 1},
    {"cpu": 1, "memory": 2},
)
BACKLOG = 1200  # of each tenant, more than the pool holds


@dataclass
class Pool:
    """Tenants with more work than the pool can hold, and tasks that end after times drawn by lot."""

    fair: FairSettings
    seed: int
    shapes: dict[str, tuple[dict[str, int], ...]] = field(default_factory=dict)
    look_past: int = 5  # as many that do not fit, before the rest is left for later
    tree: QueueTree = field(default_factory=lambda: QueueTree({}))
    now: float = 0.0
    next_id: int = 1
    held: Counter[str] = field(default_factory=Counter)
    amounts: dict[int, dict[str, int]] = field(default_factory=dict)
    entries: dict[int, QueueEntry] = field(default_factory=dict)
    waits: dict[int, float] = field(default_factory=dict)
    ends: list[tuple[float, int]] = field(default_factory=list)
    busy: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.chance = Random(self.seed)
        self.usage = Usage(self.tree, POOL, self.fair)
        self.line = PendingQueue(self.tree, self.usage, build_ordering("fair", self.fair.ageing))

    def submit(self, tenant: str, rank: int = 2) -> int:
        id_, wanted = self.next_id, self.chance.choice(self.shapes.get(tenant, SHAPES))
        self.next_id += 1
        self.amounts[id_] = wanted
        share = self.usage.share_asked(wanted)
        self.entries[id_] = QueueEntry(id_, self.tree.default, tenant, None, rank, self.now, share=share)
        self.line.push(self.entries[id_])
        return id_

    def start_what_fits(self) -> None:
        aside: list[int] = []
        while len(aside) < self.look_past and (id_ := self.line.peek(self.now)) is not None:
            self.line.drop(id_)
            if all(self.held[name] + amount <= POOL[name] for name, amount in self.amounts[id_].items()):
                self._charge(id_, 1)
                self.waits[id_] = self.now - self.entries[id_].submitted_at
                heappush(self.ends, (self.now + self.chance.uniform(50, 150), id_))
            else:
                aside.append(id_)
        for id_ in aside:
            self.line.push(self.entries[id_])

    def finish_one(self) -> str:
        """Time goes on to the next end; whose it was."""
        self.now, id_ = heappop(self.ends)
        self._charge(id_, -1)
        return self.entries[id_].tenant

    def _charge(self, id_: int, sign: int) -> None:
        entry = self.entries[id_]
        self.usage.charge(entry.queue, entry.user, entry.tenant, self.amounts[id_], sign, self.now)
        for name, amount in self.amounts[id_].items():
            self.held[name] += sign * amount

    def run(self, until: float, tenants: tuple[str, ...]) -> dict[str, float]:
        """Keep the tenants' lines full. Their dominant shares, averaged over the time."""
        areas, began = dict.fromkeys(tenants, 0.0), self.now
        for tenant in [tenant for tenant in tenants if tenant not in self.busy]:
            self.busy.add(tenant)
            for _ in range(BACKLOG):
                self.submit(tenant)
        while self.now < until:
            self.start_what_fits()
            before, shares = self.now, {tenant: self.usage.share_of_tenant(tenant) for tenant in tenants}
            ended = self.finish_one()
            if ended in tenants:
                self.submit(ended)
            for tenant in tenants:
                areas[tenant] += shares[tenant] * (self.now - before)
        return {tenant: area / (self.now - began) for tenant, area in areas.items()}


@pytest.mark.parametrize(("seed", "half_life"), [(0, None), (1, None), (2, 200.0)])
def test_dominant_shares_of_two_tenants_come_to_two_to_one(seed: int, half_life: float | None) -> None:
    pool = Pool(FairSettings(weights={"red": 2}, half_life=half_life), seed)
    pool.run(400, ("red", "blue"))
    shares = pool.run(1500, ("red", "blue"))
    assert abs(shares["red"] / shares["blue"] / 2 - 1) <= 0.02
    assert sum(shares.values()) > 0.9, "and the pool is full"
    assert max(abs(off) for off in pool.usage.fair_share_deviation().values()) < 0.1


def test_tenants_that_want_different_things_are_compared_by_what_each_takes_most_of() -> None:
    """In strict order: whether small work may slip past a large one that does not fit is for backfill to say."""
    shapes = {"red": ({"cpu": 4, "memory": 4}, {"cpu": 8, "memory": 2}), "blue": ({"cpu": 1, "memory": 12},)}
    pool = Pool(FairSettings(weights={"red": 2}), seed=0, shapes=shapes, look_past=1)
    pool.run(400, ("red", "blue"))
    shares = pool.run(1500, ("red", "blue"))
    assert abs(shares["red"] / shares["blue"] / 2 - 1) <= 0.02
    assert sum(shares.values()) > 1.1, "more than the whole, since they press on different resources"


@pytest.mark.parametrize("seed", [0, 1])
def test_a_late_tenant_reaches_its_share_and_takes_nobody_below_theirs(seed: int) -> None:
    pool = Pool(FairSettings(weights={"red": 2}), seed)
    pool.run(300, ("red", "blue"))
    pool.run(700, ("red", "blue", "late"))
    shares = pool.run(1700, ("red", "blue", "late"))
    whole = sum(shares.values())
    for tenant, part in (("red", 0.5), ("blue", 0.25), ("late", 0.25)):
        assert abs(shares[tenant] / whole / part - 1) <= 0.02


@pytest.mark.parametrize("seed", [0, 1])
def test_with_ageing_the_least_urgent_of_a_tenant_of_little_weight_does_not_wait_for_ever(seed: int) -> None:
    pool = Pool(FairSettings(weights={"heavy": 1000}, ageing=100.0), seed)
    pool.run(300, ("heavy",))
    last = pool.submit("meek", rank=4)
    pool.submit("meek", rank=0)
    while last not in pool.waits and pool.now < 5000:
        pool.start_what_fits()
        pool.finish_one()
        for _ in range(3):  # far more than ends, and more urgent
            pool.submit("heavy", rank=0)
            pool.submit("meek", rank=0)
    assert last in pool.waits


def limited_tree() -> QueueTree:
    written = {
        "top": {
            "maximum": {"cpu": 6},
            "user_limits": {"cpu": 4},
            "queues": {"a": {"maximum": {"cpu": 3, "gpu": 1}}, "b": {"user_limits": {"gpu": 2}, "maximum": {"gpu": 3}}},
        },
        "free": {"guaranteed": {"cpu": 2}},
    }
    return QueueTree({name: QueueSettings.model_validate(queue) for name, queue in written.items()})


TREE = limited_tree()
LEAVES = TREE.leaves()
tasks = st.tuples(
    st.sampled_from(LEAVES),
    st.sampled_from(["ann", "bob", None]),
    st.fixed_dictionaries({"cpu": st.integers(0, 3000), "gpu": st.sampled_from([0, 1000])}),
)


@examples(150)
@given(steps=st.lists(st.one_of(tasks, st.integers(0, 1000)), max_size=60))
def test_quotas_are_never_exceeded(steps: list[tuple[int, str | None, dict[str, int]] | int]) -> None:
    usage = Usage(TREE, {"cpu": 10_000.0, "gpu": 8000.0})
    quotas, running = Quotas(TREE, usage), list[tuple[int, str | None, dict[str, int]]]()
    for step in steps:
        if isinstance(step, int):
            if running:
                queue, user, amounts = running.pop(step % len(running))
                usage.charge(queue, user, "tenant", amounts, -1, 0.0)
            continue
        queue, user, amounts = step
        over = quotas.over(queue, user, amounts)
        if over is None:
            usage.charge(queue, user, "tenant", amounts, 1, 0.0)
            running.append(step)
        else:
            assert over.used + over.asked > over.limit
        check_limits(running)


def check_limits(running: list[tuple[int, str | None, dict[str, int]]]) -> None:
    """Counted anew from what runs, not from the ledger."""
    held: Counter[tuple[int, str]] = Counter()
    by_user: Counter[tuple[int, str, str]] = Counter()
    for queue, user, amounts in running:
        for code in TREE[queue].lineage:
            for name, amount in amounts.items():
                held[code, name] += amount
                by_user[code, user or "", name] += amount
    for (code, name), amount in held.items():
        assert amount <= TREE[code].maximum.get(name, amount)
    for (code, _, name), amount in by_user.items():
        assert amount <= TREE[code].user_limits.get(name, amount)


moves = st.one_of(
    st.tuples(st.just("push"), st.integers(1, 40), st.integers(0, 4), st.integers(0, 5)),
    st.tuples(st.just("drop"), st.integers(1, 40), st.just(0), st.just(0)),
    st.tuples(st.just("charge"), st.integers(1, 40), st.integers(1, 3), st.just(0)),
    st.tuples(st.just("wait"), st.integers(1, 3000), st.just(0), st.just(0)),
)


@examples(150)
@given(
    ordering=st.sampled_from(["fifo", "priority", "fair"]),
    ageing=st.sampled_from([None, 2.0]),
    half_life=st.sampled_from([None, 100.0]),
    steps=st.lists(moves, max_size=80),
)
def test_the_next_is_the_one_a_plain_search_finds(
    ordering: str, ageing: float | None, half_life: float | None, steps: list[tuple[str, int, int, int]]
) -> None:
    fair = FairSettings(weights={"x": 2}, ageing=ageing, half_life=half_life)
    usage = Usage(TREE, {"cpu": 2.0**20}, fair)
    line = PendingQueue(TREE, usage, build_ordering(ordering, ageing))
    waiting: dict[int, QueueEntry] = {}
    now = 0.0
    for move, number, rank, at in steps:
        queue, tenant = LEAVES[number % len(LEAVES)], "xyz"[number % 3]
        if move == "push":
            waiting.setdefault(number, QueueEntry(number, queue, tenant, None, rank, float(at)))
            line.push(QueueEntry(number, queue, tenant, None, rank, float(at)))
        elif move == "drop":
            waiting.pop(number, None)
            line.drop(number)
        elif move == "charge":
            usage.charge(queue, None, tenant, {"cpu": 1 << number % 16}, rank, now)
        else:
            now += number
            usage.set_capacity({"cpu": 2.0**20 + number})  # all values anew, so that drift within a step cannot matter
        if half_life is None or move == "wait":
            assert line.peek(now) == plain_search(line, usage, waiting, now)
        assert len(line) == len(waiting)
    assert sorted(line) == sorted(waiting)
    assert sum(line.waiting(leaf) for leaf in LEAVES) == len(waiting)


def plain_search(line: PendingQueue, usage: Usage, waiting: dict[int, QueueEntry], now: float) -> int | None:
    """The same choice without any memory: everybody is looked at."""

    def by_key(entries: list[QueueEntry]) -> QueueEntry:
        return min(entries, key=lambda entry: (*line.ordering.key(entry), entry.id))

    def aged(value: float, chosen: QueueEntry) -> float:
        return value if usage.fair.ageing is None else value + chosen.submitted_at / usage.fair.ageing

    def choose(queue: int) -> QueueEntry | None:
        best: list[tuple[float, int | str, QueueEntry]] = []
        here = [entry for entry in waiting.values() if entry.queue == queue]
        for tenant in sorted({entry.tenant for entry in here}):
            first = by_key([entry for entry in here if entry.tenant == tenant])
            best.append((aged(usage.weighted_share_of_tenant(queue, tenant, now), first), tenant, first))
        for child in TREE.children[queue]:
            chosen = choose(child)
            if chosen is not None:
                best.append((aged(usage.weighted_share(child, now), chosen), child, chosen))
        return min(best, key=lambda one: one[:2])[2] if best else None

    if not line.ordering.by_tenant:
        return by_key(list(waiting.values())).id if waiting else None
    found = choose(0)
    return None if found is None else found.id
