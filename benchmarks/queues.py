"""The waiting line at full length: a million workloads in a thousand queues.

Joining the line and leaving it from the front are measured by priority (one long line) and fair (a thousand short ones
of several tenants, without and with ageing and memory), and the slowest counts. Where nothing is charged, plain fair
empties one queue after the other, out of warm caches. With ageing it goes around all queues, and each departure moves
its tenant and the queues above; where what was taken is then charged (not timed), all of these have new shares to be
compared by as well. A fair pass is a whole decision with ageing and memory: who goes next, charging what it takes,
leaving the line, and somebody else giving back, so that values change at every level all the time.
"""

from collections import deque
from collections.abc import Iterator
from random import Random
from time import perf_counter

from benchmarks.harness import Bench, Measured, at_most, benchmark
from benchmarks.measuring import once, quiet
from dovetail.queueing.orderings import build_ordering
from dovetail.queueing.pending_queue import PendingQueue
from dovetail.queueing.settings import FairSettings, QueueSettings
from dovetail.queueing.sorted_entries import QueueEntry
from dovetail.queueing.tree import QueueTree
from dovetail.queueing.usage import Usage

WORKLOADS = 1_000_000
TOP_QUEUES, QUEUES_IN_EACH = 20, 50
TENANTS = 5
TAKEN = 300_000  # from the front while the line is long
RUNNING = 20_000
CAPACITY = {"cpu": 1e9, "memory": 1e16, "gpu": 1e8}
PUSH = at_most("queue.push_us", 20.0, "µs")
POP = at_most("queue.pop_us", 20.0, "µs")
POP_AGEING = at_most("queue.pop_ageing_us", 20.0, "µs")
POP_CHARGED = at_most("queue.pop_charged_us", 20.0, "µs")
PASS = at_most("queue.fair_pass_us", 100.0, "µs")
DAY_S = 86400.0
AMOUNTS = [{"cpu": 500 * (1 + n % 7), "memory": 2**30 * (1 + n % 5), "gpu": 1000 * (n % 2)} for n in range(35)]


def _tree() -> QueueTree:
    inner = {f"q{number}": QueueSettings(weight=1 + number % 3) for number in range(QUEUES_IN_EACH)}
    return QueueTree({f"top{number}": QueueSettings(queues=inner) for number in range(TOP_QUEUES)})


def _entries(tree: QueueTree, seed: int) -> list[QueueEntry]:
    chance = Random(seed)
    leaves = [leaf for leaf in tree.leaves() if leaf != tree.default]
    return [
        QueueEntry(
            id=id_,
            queue=leaves[chance.randrange(len(leaves))],
            tenant=f"tenant{chance.randrange(TENANTS)}",
            user=None,
            rank=chance.randrange(5),
            submitted_at=1e9 + id_ * 0.1,
            run_s=chance.expovariate(1 / 3600),
            share=1e-5,
        )
        for id_ in range(1, WORKLOADS + 1)
    ]


def _push_us(line: PendingQueue, entries: list[QueueEntry]) -> float:
    began = perf_counter()
    for entry in entries:
        line.push(entry)
    return (perf_counter() - began) / len(entries) * 1e6


def _pop_us(line: PendingQueue, now: float) -> float:
    began = perf_counter()
    for _ in range(TAKEN):
        id_ = line.peek(now)
        assert id_ is not None
        line.drop(id_)
    return (perf_counter() - began) / TAKEN * 1e6


def _pop_charged_us(line: PendingQueue, usage: Usage, now: float) -> float:
    """Each is charged for before the next is taken. The charge is not timed."""
    spent = 0.0
    for number in range(TAKEN):
        now += 0.01
        began = perf_counter()
        id_ = line.peek(now)
        assert id_ is not None
        entry = line.entry(id_)
        line.drop(id_)
        spent += perf_counter() - began
        usage.charge(entry.queue, entry.user, entry.tenant, AMOUNTS[number % len(AMOUNTS)], 1, now)
    return spent / TAKEN * 1e6


def _pass_us(line: PendingQueue, usage: Usage, now: float) -> float:
    """Time goes on by 10 ms a decision; the past counts, so that values also drift."""
    running: deque[tuple[QueueEntry, dict[str, int]]] = deque()
    began = perf_counter()
    for number in range(TAKEN):
        now += 0.01
        id_ = line.peek(now)
        assert id_ is not None
        entry, wanted = line.entry(id_), AMOUNTS[number % len(AMOUNTS)]
        usage.charge(entry.queue, entry.user, entry.tenant, wanted, 1, now)
        line.drop(id_)
        running.append((entry, wanted))
        if len(running) > RUNNING:
            entry, wanted = running.popleft()
            usage.charge(entry.queue, entry.user, entry.tenant, wanted, -1, now)
    return (perf_counter() - began) / TAKEN * 1e6


def _line(tree: QueueTree, ordering: str, fair: FairSettings) -> tuple[PendingQueue, Usage]:
    usage = Usage(tree, CAPACITY, fair)
    return PendingQueue(tree, usage, build_ordering(ordering, fair.ageing)), usage


@benchmark(PUSH, POP, POP_AGEING, POP_CHARGED, PASS)
def long_line(bench: Bench) -> Iterator[tuple[str, Measured]]:
    tree = _tree()
    entries = _entries(tree, seed=3)
    now = entries[-1].submitted_at
    pushes, pops = [], []
    for ordering in ("priority", "fair"):
        line, _ = _line(tree, ordering, FairSettings())
        with quiet():
            pushes.append(_push_us(line, entries))
            pops.append(_pop_us(line, now))
        bench.say(f"{ordering}: push {pushes[-1]:.1f} µs, pop {pops[-1]:.1f} µs")
    remembering = FairSettings(half_life=DAY_S, ageing=DAY_S)
    line, usage = _line(tree, "fair", remembering)
    with quiet():
        pushes.append(_push_us(line, entries))
        ageing, whole = _pop_us(line, now), _pass_us(line, usage, now)
    line, usage = _line(tree, "fair", remembering)
    with quiet():
        _push_us(line, entries)
        charged = _pop_charged_us(line, usage, now)
    told = f"of {WORKLOADS:,} in {TOP_QUEUES * QUEUES_IN_EACH:,} queues, mean"
    yield PUSH.name, once(max(pushes), f"{told}, the slowest of priority, fair, and fair with ageing and memory")
    yield POP.name, once(max(pops), f"{told} of {TAKEN:,}, the slower of priority and fair")
    yield POP_AGEING.name, once(ageing, f"{told} of {TAKEN:,}, fair with ageing and memory")
    yield POP_CHARGED.name, once(charged, f"{told} of {TAKEN:,}, as before, each charged for")
    yield PASS.name, once(whole, f"{told} of {TAKEN:,}: next, charge, leave, give back")
