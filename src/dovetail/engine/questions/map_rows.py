"""One node as the map of the cluster draws it: what is in use, by whom, and what is expected."""

import operator
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import Rows
from dovetail.cluster.placements import Placement
from dovetail.cluster.state import Cluster
from dovetail.cluster.usage_trend import AHEAD_S as TREND_AHEAD_S
from dovetail.cluster.usage_trend import LEAST_MEASUREMENTS
from dovetail.engine.questions.fragmentation import free_and_unusable
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.device import WHOLE
from dovetail.model.resources import CPU, GPU, MEMORY

AHEAD_S = 3600.0
_TENTHS = np.frombuffer(b"0123456789A", dtype=np.uint8)


class MapHealth(IntEnum):
    """In the order of the legend. SILENT: it does not answer, or its backend does not. JOINING: a machine that is
    launched for the work on it, and does not run yet."""

    OK = 0
    CORDONED = 1
    SILENT = 2
    QUARANTINED = 3
    JOINING = 4


class MapRow(NamedTuple):
    """`tenant`: the namespace that holds most of it, empty if nobody does. `gpu_used`: a character a GPU. Shares have
    three digits: what nobody can see does not count as a change."""

    name: str
    gpus: int
    gpu_used: str
    cpu_share: float
    memory_share: float
    health: int
    tenant: str
    fragment: float | None
    forecast: float | None


class RowTenants:
    """Who holds most of each row. What was added up is kept: between two looks most rows only get more tasks."""

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self._sums: dict[int, tuple[list[Placement], dict[str, list[float]]]] = {}

    def of(self, row: int) -> str:
        """By GPUs, then by cores; empty if nobody holds any of it."""
        placements, work, index = self._state.cluster.placements, self._state.work, self._state.cluster.resources.index
        gpu, cpu, by_task = index[GPU], index[CPU], placements.by_task
        tasks = list(placements.by_row[row])
        here = [by_task[task] for task in tasks]
        counted, held = self._sums.get(row, ([], {}))
        if len(counted) > len(here) or not all(map(operator.is_, counted, here)):
            counted, held = [], {}
        for task, placement in zip(tasks[len(counted) :], here[len(counted) :], strict=True):
            live = work.get(task.workload)
            amounts = held.setdefault("" if live is None else live.namespace, [0.0, 0.0])
            amounts[0] += placement.column.item(gpu)
            amounts[1] += placement.column.item(cpu)
        self._sums[row] = here, held
        return max(held, key=lambda name: (held[name], name), default="")


def map_rows(state: EngineState, tenants: RowTenants, rows: Rows, now: float) -> list[MapRow]:
    """Of rows that have nodes. Few at a time: it looks at every task there."""
    cluster = state.cluster
    tables = cluster.resources
    cpu, memory = (
        (tables.allocated[i, rows] * tables.inverse[i, rows]).round(3).tolist()
        for i in (tables.index[CPU], tables.index[MEMORY])
    )
    free, lost = free_and_unusable(state, rows)
    fragments = np.divide(lost, free, out=np.full(len(rows), np.nan), where=free > 0).round(3).tolist()
    counts, used = cluster.devices.there[rows].sum(axis=1).tolist(), _gpu_used(state, rows)
    found = []
    for place, row in enumerate(rows.tolist()):
        found.append(
            MapRow(
                name=cluster.names[row],
                gpus=counts[place],
                gpu_used=used[place][: counts[place]],
                cpu_share=cpu[place],
                memory_share=memory[place],
                health=_health(state, row),
                tenant=tenants.of(row),
                fragment=None if not free[place] else fragments[place],
                forecast=_forecast(state, row, now),
            )
        )
    return found


def _gpu_used(state: EngineState, rows: Rows) -> list[str]:
    """A character for each slot that some node has. A GPU of which anything is used is not drawn as free, and one of
    which anything is left not as full."""
    devices = state.cluster.devices
    taken = WHOLE * devices.there[rows] - devices.free[rows]
    tenths = np.clip(np.rint(taken * (10 / WHOLE)), 1, 9)
    tenths[taken <= 0] = 0
    tenths[taken >= WHOLE] = 10
    return [line.tobytes().decode("ascii") for line in _TENTHS[tenths.astype(np.intp)]]


def _health(state: EngineState, row: int) -> int:
    cluster = state.cluster
    if not cluster.status.online[row] or not cluster.status.backend_available[cluster.status.backends[row]]:
        return MapHealth.SILENT
    if cluster.names[row] in cluster.status.quarantines:
        return MapHealth.QUARANTINED
    if cluster.status.cordoned[row]:
        return MapHealth.CORDONED
    launched = not cluster.offers.running[row] and cluster.placements.by_row[row]
    return MapHealth.JOINING if launched else MapHealth.OK


def _forecast(state: EngineState, row: int, now: float) -> float | None:
    """What will be allocated in an hour: tasks that are not expected to end by then stay. Where no task has an expected
    end, what its measured use is heading for; None where that is not known either."""
    cluster = state.cluster
    tables = cluster.resources
    resource = tables.index[GPU]
    capacity = tables.capacity.item(resource, row)
    if not capacity:
        resource = tables.index[CPU]
        capacity = tables.capacity.item(resource, row)
    if not capacity:
        return None
    tasks, ends, by_task = cluster.placements.by_row[row], state.ends, cluster.placements.by_task
    if tasks and not len(ends):
        return _heading_for(cluster, resource, row)
    left, until, are_known = tables.allocated.item(resource, row), now + AHEAD_S, not tasks
    for task in tasks:
        at = ends.at(task)
        if at is not None:
            are_known = True
            if at <= until:
                left -= by_task[task].column.item(resource)
    return round(max(0.0, left / capacity), 3) if are_known else _heading_for(cluster, resource, row)


def _heading_for(cluster: Cluster, resource: int, row: int) -> float | None:
    trend, capacity = cluster.usage_trend, cluster.resources.capacity.item(resource, row)
    if trend.count.item(row) < LEAST_MEASUREMENTS or resource >= len(trend.level):
        return None
    used = trend.level.item(resource, row) + trend.slope.item(resource, row) * TREND_AHEAD_S
    return round(min(1.0, max(0.0, used / capacity)), 3)
