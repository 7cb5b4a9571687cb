"""What must hold after every step. Tests call this; a violation is a bug in the table named."""

import numpy as np

from dovetail.cluster.resources import loads
from dovetail.cluster.state import Cluster
from dovetail.cluster.tallies import Tallies
from dovetail.model.resources import SLOTS


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
        _must(bool(cluster.present[placement.row]), f"task {task} is on a node that left")
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
    free_slots = tables.free[tables.index[SLOTS], :n][cluster.present[:n]]
    _must(not len(free_slots) or free_slots.min() >= tables.least_free_slots, "a node has fewer slots than the least")
    if within_capacity:
        over = np.argwhere(tables.allocated[:, :n] > tables.schedulable[:, :n])
        _must(not len(over), f"over capacity: {[(tables.names[r], cluster.names[j]) for r, j in over[:3]]}")
    _check_services(cluster)
    _check_tallies(cluster)
    _check_rows(cluster)


def _check_services(cluster: Cluster) -> None:
    counts: dict[tuple[str, str], dict[int, int]] = {}
    for placement in cluster.placements.by_task.values():
        if placement.service is not None:
            rows = counts.setdefault(placement.service, {})
            rows[placement.row] = rows.get(placement.row, 0) + 1
    _must(counts == cluster.placements.by_service, "service counts differ from the placements")


def _check_tallies(cluster: Cluster) -> None:
    anew, tallies = Tallies(), cluster.placements.tallies
    for placement in cluster.placements.by_task.values():
        if placement.badge is not None:
            anew.count(placement.badge, placement.row, 1)
    _must(anew.repelling == tallies.repelling, "rules that keep work away differ from the placements")
    anew.widen(len(cluster.online))
    placed = [(p.badge, p.row) for p in cluster.placements.by_task.values() if p.badge is not None]
    for counted, tally in tallies.kept().items():
        true = anew.of(counted, placed)
        _must(
            true.total == tally.total and bool((true.counts[: cluster.width] == tally.counts[: cluster.width]).all()),
            f"the tally of {counted} differs from the placements",
        )


def _check_rows(cluster: Cluster) -> None:
    named = {name: row for row, name in enumerate(cluster.names) if name}
    _must(named == cluster.rows, "node names and rows disagree")
    for row in range(cluster.width):
        ready = (
            bool(cluster.present[row])
            and bool(cluster.online[row])
            and not cluster.cordoned[row]
            and cluster.backend_available[cluster.backends[row]]
            and cluster.names[row] not in cluster.quarantines
        )
        _must(bool(cluster.ready[row]) == ready, f"node {cluster.names[row]!r}: ready flag is stale")


def _must(holds: bool, what: str) -> None:
    if not holds:
        raise Violation(what)
