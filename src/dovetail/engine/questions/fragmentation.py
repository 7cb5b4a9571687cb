"""GPU fragmentation: how much free GPU capacity typical work cannot use, and what moving tasks would recover of it.

    unusable     of what is free on a node, what a typical task cannot use there, averaged over the workload mix
    useless      what none of the typical requests can use
    recoverable  what moving a few tasks would make usable again: an estimate, not the optimum

Guarantees: nothing is changed. Nodes that take no work are left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.cluster.labels import ABSENT
from dovetail.cluster.network.levels import present_levels
from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.device import WHOLE
from dovetail.model.task import TaskId
from dovetail.placement.fragmentation.node_arrays import NodeArrays, of_view
from dovetail.placement.fragmentation.typical import Typical, TypicalAsk
from dovetail.placement.fragmentation.unusable import unusable

CLUSTER = "cluster"
PROFILE = "fragmentation"
MOST_TRIED = 100  # tasks; the answer must not keep others waiting
LEAST_WON = 0.05 * WHOLE  # by one move, which costs somebody a restart


@dataclass(frozen=True, slots=True)
class Fragments:
    """Thousandths of GPUs, of one domain of a level."""

    level: str
    name: str
    gpus: int
    free: int
    unusable: float
    useless: int


@dataclass(frozen=True, slots=True)
class AskPlaces:
    """A typical ask: its share of all tasks, the nodes where one fits, and how many tasks of it fit in all."""

    ask: TypicalAsk
    share: float
    nodes: int
    tasks: int


@dataclass(frozen=True, slots=True)
class FragmentReport:
    """`seen`: tasks behind the mix; 0 while that is a guess from what the cluster has. Narrower levels come later."""

    seen: int
    domains: list[Fragments]  # the cluster first
    asks: list[AskPlaces]  # the commonest first


def fragment_report(state: EngineState) -> FragmentReport:
    state.learned.mix.prepare()
    cluster, typical = state.cluster, state.learned.mix.outlook.typical
    rows = np.flatnonzero(cluster.status.ready[: cluster.width])
    if typical is None or not len(rows):
        return FragmentReport(len(state.learned.mix), [_sum(CLUSTER, CLUSTER, np.zeros((4, 0)))], [])
    columns, asks = _looked_at(cluster, typical, rows)
    domains = [_sum(CLUSTER, CLUSTER, columns)]
    for level in present_levels(cluster):
        codes = level.column.codes[rows]
        there = np.unique(codes[codes != ABSENT]).tolist()
        domains += [_sum(level.name, level.domain(code), columns[:, codes == code]) for code in there]
    return FragmentReport(len(state.learned.mix), [domains[0], *(one for one in domains[1:] if one.gpus)], asks)


def free_and_unusable(state: EngineState, rows: Rows) -> tuple[F8, F8]:
    """float64[row of `rows`], in thousandths of GPUs: what is free, and what of it a typical task cannot use there. A
    part of the nodes costs a part of the whole report."""
    state.learned.mix.prepare()
    typical = state.learned.mix.outlook.typical
    if typical is None or not len(rows):
        return np.zeros(len(rows)), np.zeros(len(rows))
    view = View(state.cluster).subset(rows)
    nodes = of_view(view)
    free, total, reached = nodes.free, nodes.free.sum(axis=1), np.zeros(len(rows))
    for weight, (fits, _) in zip(typical.weights, _places(typical, view, nodes), strict=True):
        reached += weight * (free * fits).sum(axis=1)
    return total, np.maximum(total - reached, 0.0)


def _places(typical: Typical, view: View, nodes: NodeArrays) -> Iterator[tuple[B1, B1]]:
    """Of each typical ask: bool[node, slot], the GPUs that a task of it could use, and bool[node], where one fits."""
    allowed, kinds = typical.allowed(view.device_kind_list), view.device_kinds
    for i, ask in enumerate(typical.asks):
        fits = (nodes.free >= ask.gpus.each) & allowed[:, i][kinds] & (kinds > 0)
        enough = fits.sum(axis=1) >= max(ask.gpus.count, 1)
        hosts = enough & (nodes.cpu >= ask.cpu) & (nodes.memory >= ask.memory)
        fits &= hosts[:, None]
        yield fits, hosts


def cluster_fragments(state: EngineState) -> Fragments:
    """Of the whole cluster alone; for those who ask often."""
    state.learned.mix.prepare()
    cluster, typical = state.cluster, state.learned.mix.outlook.typical
    rows = np.flatnonzero(cluster.status.ready[: cluster.width])
    if typical is None or not len(rows):
        return _sum(CLUSTER, CLUSTER, np.zeros((4, 0)))
    return _sum(CLUSTER, CLUSTER, _looked_at(cluster, typical, rows)[0])


def _looked_at(cluster: Cluster, typical: Typical, rows: Rows) -> tuple[F8, list[AskPlaces]]:
    """float64[GPUs, free, unusable, useless; node], and each ask."""
    view = View(cluster).subset(rows)
    nodes, kinds = of_view(view), view.device_kinds
    free = nodes.free
    reached = np.zeros(len(rows))
    used: B1 = np.zeros(free.shape, dtype=np.bool_)
    asks = []
    for i, (ask, (fits, hosts)) in enumerate(zip(typical.asks, _places(typical, view, nodes), strict=True)):
        reached += typical.weights[i] * (free * fits).sum(axis=1)
        used |= fits
        tasks = np.floor(view.device_copies(ask.gpus))
        for amount, needed in ((nodes.cpu, ask.cpu), (nodes.memory, ask.memory)):
            if needed:
                tasks = np.minimum(tasks, np.floor(amount / needed))
        asks.append(AskPlaces(ask, float(typical.weights[i]), int(hosts.sum()), int(tasks.sum())))
    gpus = WHOLE * (kinds > 0).sum(axis=1)
    total = free.sum(axis=1)
    return np.stack((gpus, total, total - reached, (free * ~used).sum(axis=1))), asks


def _sum(level: str, name: str, columns: F8) -> Fragments:
    gpus, free, lost, useless = columns.sum(axis=1).tolist()
    return Fragments(level, name, int(gpus), int(free), lost, int(useless))


# --- what moving tasks would recover ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecoverableCapacity:
    """`won`, in thousandths of GPUs, by moving `moves` of the `tried` tasks; `movable` could be moved at all."""

    won: float
    moves: int
    tried: int
    movable: int


def recoverable_capacity(state: EngineState, most_tried: int = MOST_TRIED) -> RecoverableCapacity:
    """Greedy, in a trial: tasks of the nodes with most unusable capacity are placed again one after the other by the
    profile `fragmentation`. A move is kept if it wins more than `LEAST_WON`. Gangs, work that may not be preempted and
    tasks that are being stopped stay where they are."""
    state.learned.mix.prepare()
    cluster = state.cluster
    rows = np.flatnonzero(cluster.status.ready[: cluster.width])
    if state.learned.mix.outlook.typical is None or not len(rows):
        return RecoverableCapacity(0.0, 0, 0, 0)
    losses = _losses(state, rows)
    worst = rows[np.argsort(-losses, kind="stable")].tolist()
    movable = [task for row in worst for task in cluster.placements.by_row[row] if _may_move(state, task)]
    won, moves = 0.0, 0
    with cluster.trial():
        for task in movable[:most_tried]:
            gain = _tried(state, task)
            if gain > LEAST_WON:
                won += gain
                moves += 1
    return RecoverableCapacity(won, moves, min(len(movable), most_tried), len(movable))


def _may_move(state: EngineState, task: TaskId) -> bool:
    work = state.work.get(task.workload)
    if work is None or work.shape.gpus is None or task in state.stopping:
        return False
    return not work.terms.gang_min and work.terms.preemptible


def _tried(state: EngineState, task: TaskId) -> float:
    """How much is gained by placing the task anew. It is moved if that is more than a little."""
    cluster, work = state.cluster, state.work[task.workload]
    placed = cluster.placements.by_task[task]
    pipeline, request = state.pipelines[PROFILE], state.asked(work.shape, work.identity)
    with cluster.trial():
        cluster.remove(task)
        choice = pipeline.decide(pipeline.for_task(request, work.id, work.replicas), str(task))
    if choice.row is None or choice.row == placed.row:
        return 0.0
    rows = np.unique(np.array([placed.row, choice.row], dtype=np.intp))
    then = _losses(state, rows).sum()
    with cluster.trial():
        _move(state, task, choice.row, choice.slots)
        gain = float(then - _losses(state, rows).sum())
    if gain > LEAST_WON:
        _move(state, task, choice.row, choice.slots)
    return gain


def _move(state: EngineState, task: TaskId, row: int, slots: tuple[int, ...] | None) -> None:
    shape = state.work[task.workload].shape
    was = state.cluster.remove(task)
    state.cluster.place(
        *(task, row, was.column, was.service, was.victim_info, was.identity),
        gpus=shape.gpus,
        slots=slots,
    )


def _losses(state: EngineState, rows: Rows) -> F8:
    typical = state.learned.mix.outlook.typical
    assert typical is not None
    view = View(state.cluster).subset(rows)
    return unusable(typical, view.device_kind_list, of_view(view))
