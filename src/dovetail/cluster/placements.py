"""Who is where: by task, by node, by service, and which workloads are alive under which name.

Counts a node are kept sparse (`{row: count}`), since most services live on few nodes; a score that wants them over
all nodes gets an array made for it.
"""

from dataclasses import dataclass

from dovetail.cluster.arrays import F8
from dovetail.model.task import TaskId

Key = tuple[str, str]  # namespace, name


@dataclass(slots=True)
class Placement:
    """Where a task is, what it takes there, and the service it counts for."""

    row: int
    column: F8
    service: Key | None


class PlacementTable:
    """Written by `Cluster` only, except `directory`, which the engine keeps as workloads come and go."""

    def __init__(self) -> None:
        self.by_task: dict[TaskId, Placement] = {}
        self.by_row: list[dict[TaskId, None]] = []
        self.by_service: dict[Key, dict[int, int]] = {}
        self.directory: dict[Key, tuple[int, int]] = {}  # live workloads: id and number of replicas

    def add(self, task: TaskId, placement: Placement) -> None:
        self.by_task[task] = placement
        self.by_row[placement.row][task] = None
        if placement.service is not None:
            counts = self.by_service.setdefault(placement.service, {})
            counts[placement.row] = counts.get(placement.row, 0) + 1

    def remove(self, task: TaskId) -> Placement:
        placement = self.by_task.pop(task)
        del self.by_row[placement.row][task]
        if placement.service is not None:
            counts = self.by_service[placement.service]
            counts[placement.row] -= 1
            if not counts[placement.row]:
                del counts[placement.row]
                if not counts:
                    del self.by_service[placement.service]
        return placement

    def rows_of_workload(self, namespace: str, name: str) -> list[int]:
        """The row of every placed task of a live workload, one entry a task."""
        found = self.directory.get((namespace, name))
        if found is None:
            return []
        workload, replicas = found
        placed = (self.by_task.get(TaskId(workload, replica)) for replica in range(replicas))
        return [placement.row for placement in placed if placement is not None]
