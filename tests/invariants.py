"""Invariants of the tables, checked by tests after every step. A violation is a bug in the table that is named."""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from dovetail.cluster.devices import SEVERAL
from dovetail.cluster.network.gang_flows import DeclaredTraffic, Gang
from dovetail.cluster.network.levels import bandwidth_of, present_levels
from dovetail.cluster.placements import AttachedVolumes
from dovetail.cluster.resources import loads
from dovetail.cluster.selector_counts import SelectorCounts
from dovetail.cluster.state import Cluster
from dovetail.engine.state.work import Work
from dovetail.model.device import WHOLE
from dovetail.model.resources import GPU
from dovetail.model.task import FINISHED, TaskState
from dovetail.model.workloads.affinity import HOST


class Violation(AssertionError):
    """The state contradicts itself."""


def check_invariants(cluster: Cluster, *, within_capacity: bool = True) -> None:
    """Recompute every derived number from the placements and compare.

    `within_capacity` is False for clusters that place by observed use, where allocations may exceed capacity.
    """
    tables, n = cluster.resources, cluster.width
    allocated = np.zeros_like(tables.allocated)
    seen: set[object] = set()
    for task, placement in cluster.placements.by_task.items():
        _must(task not in seen, f"task {task} is placed twice")
        seen.add(task)
        _must(bool(cluster.status.present[placement.row]), f"task {task} is on a node that left")
        _must(task in cluster.placements.by_row[placement.row], f"task {task} is missing from its node's list")
        allocated[: len(placement.column), placement.row] += placement.column
    listed = sum(len(tasks) for tasks in cluster.placements.by_row)
    _must(listed == len(cluster.placements.by_task), "the nodes' task lists and the tasks' nodes disagree")
    _must(bool((allocated[:, :n] == tables.allocated[:, :n]).all()), "allocated differs from the sum of placements")
    free = tables.schedulable - tables.allocated - tables.reserved
    _must(bool((free[:, :n] == tables.free[:, :n]).all()), "free differs from schedulable - allocated - reserved")
    _must(
        bool((loads(tables.allocated[:, :n], tables.inverse[:, :n]) == tables.load[:n]).all()),
        "load differs from what allocations give",
    )
    free = tables.free[:, :n]
    _must(bool((tables.free_share[:, :n] == free * tables.inverse[:, :n]).all()), "free_share differs from its factors")
    _must(
        bool((free[:, cluster.status.present[:n]] >= tables.least_free[:, None]).all()),
        "a node has less free than the least",
    )
    classes = tables.classes
    _must(bool((classes.inverse[:, classes.of_node[:n]] == tables.inverse[:, :n]).all()), "a node is in another class")
    if within_capacity:
        over = np.argwhere(tables.allocated[:, :n] > tables.schedulable[:, :n])
        _must(not len(over), f"over capacity: {[(tables.names[r], cluster.names[j]) for r, j in over[:3]]}")
    _check_devices(cluster, within_capacity)
    _check_services(cluster)
    _check_selector_counts(cluster)
    _check_declared_traffic(cluster)
    _check_volumes(cluster)
    _check_bandwidth(cluster)
    _check_rows(cluster)


def check_work(works: Iterable[Work]) -> None:
    """Count the tasks of live work again."""
    for work in works:
        states = Counter(task.state for task in work.tasks.values())
        fresh = sum(replica not in work.tasks for replica in work.waiting)
        states[TaskState.PENDING] += fresh
        together = work.replicas - len(work.tasks) - fresh  # ended, as did the first of those that were never placed
        if together:
            first = next(one for one in work.tasks.values() if one.state in FINISHED and not one.attempt)
            states[first.state] += together
        started = states[TaskState.RUNNING] + states[TaskState.STOPPING]
        found = (work.pending, work.holding, work.started, work.stopping, work.succeeded, work.failed, work.stopped)
        counted = (
            states[TaskState.PENDING],
            started + states[TaskState.PLACED] + states[TaskState.BOUND],
            started,
            *(states[one] for one in (TaskState.STOPPING, TaskState.SUCCEEDED, TaskState.FAILED, TaskState.CANCELLED)),
        )
        _must(found == counted, f"{work.name} has tasks {counted} by state, and counts {found}")


def _check_devices(cluster: Cluster, within_capacity: bool) -> None:
    """No device is double-booked, and devices have given what the amounts say. Tasks that were put where there is no
    room for them have no device; that can be only where amounts may exceed capacity, too."""
    devices, n, at = cluster.devices, cluster.width, cluster.resources.index[GPU]
    taken = np.zeros(devices.free.shape, dtype=np.int64)
    for task, placement in cluster.placements.by_task.items():
        gpu = int(placement.column[at])
        _must(bool(gpu) or not placement.slots, f"task {task} has a GPU and asked for none")
        _must(len(set(placement.slots)) == len(placement.slots), f"task {task} has one GPU twice")
        if placement.slots:
            _must(gpu % len(placement.slots) == 0, f"task {task} has GPUs {placement.slots} for {gpu} thousandths")
            taken[placement.row, list(placement.slots)] += gpu // len(placement.slots)
        elif gpu:
            _must(not within_capacity, f"task {task} asked for GPUs and has none")
    _must(bool((taken <= WHOLE).all()), "a GPU is double-booked")
    _must(bool((WHOLE * devices.there - devices.free == taken).all()), "free GPUs differ from the placements")
    if within_capacity:
        same = taken[:n].sum(axis=1) == cluster.resources.allocated[at, :n]
        _must(bool(same.all()), "what GPUs have given differs from the allocated amounts")
    whole = ((devices.free == WHOLE) & devices.there).sum(axis=1)
    _must(bool((whole == devices.whole).all()), "the count of whole GPUs is stale")
    _must(int(((taken > 0) & (taken < WHOLE)).sum()) == devices.split, "the count of split GPUs is stale")
    shares = sum(len(p.slots) for p in cluster.placements.by_task.values() if p.column[at] < WHOLE)
    _must(shares == devices.shares, "the count of shares is stale")
    _must(int((devices.kind == SEVERAL).sum()) == devices.mixed, "the count of nodes with mixed GPUs is stale")
    there = devices.there[:n].sum(axis=1) * WHOLE
    _must(bool((there == cluster.resources.capacity[at, :n]).all()), "GPUs one by one differ from their capacity")


def _check_services(cluster: Cluster) -> None:
    counts: dict[tuple[str, str], dict[int, int]] = {}
    for placement in cluster.placements.by_task.values():
        if placement.service is not None:
            rows = counts.setdefault(placement.service, {})
            rows[placement.row] = rows.get(placement.row, 0) + 1
    _must(counts == cluster.placements.by_service, "service counts differ from the placements")


def _check_selector_counts(cluster: Cluster) -> None:
    anew, counts = SelectorCounts(), cluster.placements.selector_counts
    for placement in cluster.placements.by_task.values():
        if placement.identity is not None:
            anew.count(placement.identity, placement.row, 1)
    _must(anew.repelling == counts.repelling, "rules that keep work away differ from the placements")
    anew.widen(len(cluster.status.online))
    placed = [(p.identity, p.row) for p in cluster.placements.by_task.values() if p.identity is not None]
    for counted, found in counts.kept.items():
        true = anew.of(counted, placed)
        _must(
            true.total == found.total and bool((true.counts[: cluster.width] == found.counts[: cluster.width]).all()),
            f"the count of {counted} differs from the placements",
        )


def _check_declared_traffic(cluster: Cluster) -> None:
    anew = DeclaredTraffic()
    for placement in cluster.placements.by_task.values():
        if placement.identity is not None and placement.identity.talks:
            anew.count(placement.identity, 1)
    _must(anew.senders == cluster.placements.declared_traffic.senders, "who talks to whom differs from the placements")


def _check_volumes(cluster: Cluster) -> None:
    anew = AttachedVolumes()
    for placement in cluster.placements.by_task.values():
        if placement.identity is not None and placement.identity.volumes:
            anew.count(placement.identity.volumes, placement.row, 1)
    _must(anew == cluster.placements.volumes, "attached volumes differ from the placements")


def _check_bandwidth(cluster: Cluster) -> None:
    """Gangs hold of links up what they send over them, counted task by task; somebody may hold more by hand."""
    gangs: dict[Gang, list[tuple[int, int]]] = {}
    for placement in cluster.placements.by_task.values():
        if placement.identity is not None and placement.identity.bandwidth_mbps:
            gangs.setdefault(placement.identity.gang, []).append((placement.row, placement.identity.bandwidth_mbps))
    flows = cluster.placements.flows
    _must(gangs.keys() == flows.rows.keys(), "gangs that send to each other differ from the placements")
    columns = [(level.name, level.level.key, level.column.codes.tolist()) for level in present_levels(cluster)]
    for name, key, codes in (*columns, (HOST, HOST, list(range(1, cluster.width + 1)))):
        everything = bandwidth_of(cluster, name)[1]
        true = np.zeros(len(everything) + 1)
        for tasks in gangs.values():
            domains = {codes[row] for row, _ in tasks}
            for row, mbps in tasks:
                if codes[row] and domains != {codes[row]}:  # in a domain, and others are not
                    true[codes[row] - (key == HOST)] += mbps
        held = np.zeros(len(everything))
        for hold in (hold for holds in flows.held.values() for hold in holds if hold.key == key):
            held[hold.codes] += hold.mbps
        _must(bool((held == true[: len(held)]).all()), f"what gangs hold of {name} uplinks differs from the placements")
        _must(bool((everything >= held).all()), f"less is held of {name} uplinks than gangs hold")


def _check_rows(cluster: Cluster) -> None:
    named = {name: row for row, name in enumerate(cluster.names) if name}
    _must(named == cluster.rows, "node names and rows disagree")
    for row in range(cluster.width):
        ready = (
            bool(cluster.status.present[row])
            and bool(cluster.status.online[row])
            and not cluster.status.cordoned[row]
            and cluster.status.backend_available[cluster.status.backends[row]]
            and cluster.names[row] not in cluster.status.quarantines
        )
        _must(bool(cluster.status.ready[row]) == ready, f"node {cluster.names[row]!r}: ready flag is stale")


def _must(holds: bool, what: str) -> None:
    if not holds:
        raise Violation(what)
