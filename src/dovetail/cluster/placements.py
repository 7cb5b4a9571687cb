"""Placements: by task, by node, by service, and the live workloads by name.

Counts by node are sparse (`{row: count}`), since most services run on few nodes. Scores that need them over all nodes
get an array.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.network.gang_flows import DeclaredTraffic, GangFlows
from dovetail.cluster.selector_counts import Counted, SelectorCount, SelectorCounts
from dovetail.model.requests.asks import Selector
from dovetail.model.requests.task_identity import TaskIdentity
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Priority

Volumes = tuple[tuple[str, str], ...]  # (driver, volume)
RANKS = len(Priority)
Key = tuple[str, str]  # namespace, name


@dataclass(slots=True)
class AttachedVolumes:
    """The volumes that each node has attached for its tasks; a volume that several tasks of a node use counts once."""

    _users: dict[tuple[str, str], dict[int, int]] = field(default_factory=dict)  # tasks by row
    _attached: dict[str, dict[int, int]] = field(default_factory=dict)  # by driver: volumes by row

    def count(self, volumes: Volumes, row: int, sign: int) -> None:
        """One more (or less) task on the row that uses these."""
        for volume in volumes:
            users = self._users.setdefault(volume, {})
            before = users.get(row, 0)
            users[row] = before + sign
            attached = self._attached.setdefault(volume[0], {})
            attached[row] = attached.get(row, 0) + (before + sign > 0) - (before > 0)
            if not users[row]:
                del users[row]
                if not users:
                    del self._users[volume]
            if not attached[row]:
                del attached[row]
                if not attached:
                    del self._attached[volume[0]]

    def counts(self, driver: str, width: int) -> F8:
        """float64[node]: volumes of a driver that each node has attached."""
        return _array(self._attached.get(driver, {}), width)

    def has(self, driver: str, volume: str, width: int) -> F8:
        """float64[node]: 1 where a volume is attached."""
        return np.minimum(_array(self._users.get((driver, volume), {}), width), 1.0)


def _array(by_row: dict[int, int], width: int) -> F8:
    found = np.zeros(width)
    if by_row:
        found[list(by_row)] = list(by_row.values())
    return found


class VictimInfo(NamedTuple):
    """What preemption must know of a placed task: its priority, and what it would lose."""

    rank: int = 2  # of its priority; 0 is most urgent
    since: float = 0.0  # when it was placed
    checkpoint_s: float = 0.0  # it saves its work every so often; 0: never
    min_run_s: float = 0.0  # it should not be disturbed before it has run so long
    unit: int = -1  # its workload if that is a gang, which is evicted as a whole
    group: int = -1  # its workload, for the disruption budget
    queue: int = 0  # code of its queue
    preemptible: bool = True
    namespace: str = ""
    priority: int = 0  # where priorities are whole numbers: more is more urgent


NO_VICTIM_INFO = VictimInfo()


@dataclass(slots=True)
class Placement:
    """Where a task is, what it takes there, the service it counts for, and what it would lose if it were evicted.
    `slots`: the GPUs of its node that it has, or has a share of."""

    row: int
    column: F8
    service: Key | None
    victim_info: VictimInfo = NO_VICTIM_INFO
    identity: TaskIdentity | None = None
    slots: tuple[int, ...] = ()


class PlacementTable:
    """Written by `Cluster` only, except `directory`, which the engine keeps as workloads come and go."""

    def __init__(self) -> None:
        self.by_task: dict[TaskId, Placement] = {}
        self.by_row: list[dict[TaskId, None]] = []
        self.by_service: dict[Key, dict[int, int]] = {}
        self.by_rank = [0] * RANKS  # tasks of each priority
        self.directory: dict[Key, tuple[int, int]] = {}  # live workloads: id and number of replicas
        # Several pods, and several replicas of a service, are one workload to others: their identity names it.
        self.named_by_identity = False
        self.selector_counts = SelectorCounts()
        self.declared_traffic = DeclaredTraffic()
        self.flows = GangFlows()
        self.volumes = AttachedVolumes()

    def add(self, task: TaskId, placement: Placement) -> None:
        self.by_task[task] = placement
        self.by_row[placement.row][task] = None
        self.by_rank[placement.victim_info.rank] += 1
        if placement.service is not None:
            counts = self.by_service.setdefault(placement.service, {})
            counts[placement.row] = counts.get(placement.row, 0) + 1
        if placement.identity is not None:
            self._count(placement.identity, placement.row, 1)

    def remove(self, task: TaskId) -> Placement:
        placement = self.by_task.pop(task)
        del self.by_row[placement.row][task]
        self.by_rank[placement.victim_info.rank] -= 1
        if placement.service is not None:
            counts = self.by_service[placement.service]
            counts[placement.row] -= 1
            if not counts[placement.row]:
                del counts[placement.row]
                if not counts:
                    del self.by_service[placement.service]
        if placement.identity is not None:
            self._count(placement.identity, placement.row, -1)
        return placement

    def _count(self, identity: TaskIdentity, row: int, sign: int) -> None:
        self.selector_counts.count(identity, row, sign)
        if identity.talks:
            self.declared_traffic.count(identity, sign)
        if identity.bandwidth_mbps:
            self.flows.count(identity, row, sign)
        if identity.volumes:
            self.volumes.count(identity.volumes, row, sign)

    def selector_count(self, counted: Counted) -> SelectorCount:
        """How many tasks of a kind each node holds."""
        return self.selector_counts.of(counted, self._identities())

    def _identities(self) -> Iterator[tuple[TaskIdentity, int]]:
        for placement in self.by_task.values():
            if placement.identity is not None:
                yield placement.identity, placement.row

    def rows_of_workload(self, namespace: str, name: str) -> list[int]:
        """The row of every placed task of a live workload, one entry a task."""
        found = self.directory.get((namespace, name))
        if found is None:
            return self._rows_by_identity(namespace, name) if self.named_by_identity else []
        workload, replicas = found
        placed = (self.by_task.get(TaskId(workload, replica)) for replica in range(replicas))
        return [placement.row for placement in placed if placement is not None]

    def _rows_by_identity(self, namespace: str, name: str) -> list[int]:
        counts = self.selector_count(Selector((namespace,), workload=name)).counts
        rows = np.flatnonzero(counts)
        return np.repeat(rows, counts[rows].astype(np.intp)).tolist()
