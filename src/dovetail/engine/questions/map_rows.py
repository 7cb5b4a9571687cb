"""One node as the map of the cluster draws it: what is in use, by whom, and what is expected."""

from collections import defaultdict
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import Rows
from dovetail.cluster.resources import AHEAD_S as TREND_AHEAD_S
from dovetail.cluster.resources import LEAST_MEASUREMENTS
from dovetail.cluster.state import Cluster
from dovetail.engine.questions.fragmentation import free_and_unusable
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.device import WHOLE
from dovetail.model.resources import CPU, GPU, MEMORY

AHEAD_S = 3600.0
_TENTHS = "0123456789A"


class MapHealth(IntEnum):
    """In the order of the legend; of several that hold, the first counts."""

    OK = 0
    CORDONED = 1
    SILENT = 2
    QUARANTINED = 3
    JOINING = 4  # a machine that is launched for work, or whose backend cannot be asked now


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


def map_rows(state: EngineState, rows: Rows, now: float) -> list[MapRow]:
    """Of rows that have nodes. Few at a time: it looks at every task there."""
    cluster = state.cluster
    tables = cluster.resources
    cpu, memory = (
        (tables.allocated[i, rows] * tables.inverse[i, rows]).round(3).tolist()
        for i in (tables.index[CPU], tables.index[MEMORY])
    )
    free, lost = free_and_unusable(state, rows)
    fragments = np.divide(lost, free, out=np.full(len(rows), np.nan), where=free > 0).round(3).tolist()
    counts = cluster.devices.there[rows].sum(axis=1).tolist()
    found = []
    for place, row in enumerate(rows.tolist()):
        found.append(
            MapRow(
                name=cluster.names[row],
                gpus=counts[place],
                gpu_used=_gpu_used(state, row, counts[place]),
                cpu_share=cpu[place],
                memory_share=memory[place],
                health=_health(state, row),
                tenant=_tenant(state, row),
                fragment=None if not free[place] else fragments[place],
                forecast=_forecast(state, row, now),
            )
        )
    return found


def _gpu_used(state: EngineState, row: int, count: int) -> str:
    """A GPU of which anything is used is not drawn as free, and one of which anything is left not as full."""
    if not count:
        return ""
    taken = state.cluster.devices.taken(row)[:count].tolist()
    return "".join([_TENTHS[_tenths(used)] for used in taken])


def _tenths(used: int) -> int:
    if used <= 0 or used >= WHOLE:
        return 10 * (used > 0)
    return min(9, max(1, round(10 * used / WHOLE)))


def _health(state: EngineState, row: int) -> int:
    cluster = state.cluster
    if not cluster.online[row]:
        return MapHealth.SILENT
    if cluster.names[row] in cluster.quarantines:
        return MapHealth.QUARANTINED
    if cluster.cordoned[row]:
        return MapHealth.CORDONED
    return MapHealth.OK if cluster.ready[row] else MapHealth.JOINING


def _tenant(state: EngineState, row: int) -> str:
    """By GPUs, then by cores."""
    placements, work = state.cluster.placements, state.work
    tasks = placements.by_row[row]
    if not tasks:
        return ""
    index = state.cluster.resources.index
    gpu, cpu = index[GPU], index[CPU]
    held: defaultdict[str, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    for task in tasks:
        live = work.get(task.workload)
        namespace = "" if live is None else live.namespace
        column, before = placements.by_task[task].column, held[namespace]
        held[namespace] = before[0] + column.item(gpu), before[1] + column.item(cpu)
    return max(held, key=lambda name: (held[name], name))


def _forecast(state: EngineState, row: int, now: float) -> float | None:
    """What will be allocated in an hour: tasks that are not expected to end by then stay. Where no task has an expected
    end, what its measured use is heading for; None where that is not known either."""
    cluster = state.cluster
    tables = cluster.resources
    resource = tables.index[GPU] if tables.capacity[tables.index[GPU], row] else tables.index[CPU]
    capacity, left = tables.capacity.item(resource, row), tables.allocated.item(resource, row)
    tasks = cluster.placements.by_row[row]
    if not capacity:
        return None
    ends = [(task, at) for task in tasks if (at := state.ends.at(task)) is not None]
    if tasks and not ends:
        return _heading_for(cluster, resource, row)
    left -= sum(cluster.placements.by_task[task].column.item(resource) for task, at in ends if at <= now + AHEAD_S)
    return round(max(0.0, left / capacity), 3)


def _heading_for(cluster: Cluster, resource: int, row: int) -> float | None:
    trend, capacity = cluster.usage_trend, cluster.resources.capacity.item(resource, row)
    if trend.count.item(row) < LEAST_MEASUREMENTS or resource >= len(trend.level):
        return None
    used = trend.level.item(resource, row) + trend.slope.item(resource, row) * TREND_AHEAD_S
    return round(min(1.0, max(0.0, used / capacity)), 3)
