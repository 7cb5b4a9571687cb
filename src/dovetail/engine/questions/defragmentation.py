"""An estimate of the GPU capacity that moving tasks would make usable again.

Greedy, in a trial: tasks of the nodes with most unusable capacity are placed again one after the other by the profile
`fragmentation`. A move is kept if it wins more than `LEAST_WON`. So the result says what a few moves would achieve, not
the optimum. Gangs, work that may not be preempted and tasks that are being stopped stay where they are.
Guarantees: nothing is changed.
"""

from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import F8, Rows
from dovetail.cluster.views.view import View
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.device import WHOLE
from dovetail.model.task import TaskId
from dovetail.placement.fragmentation.node_arrays import of_view
from dovetail.placement.fragmentation.unusable import unusable

PROFILE = "fragmentation"
MOST_TRIED = 100  # tasks; the answer must not keep others waiting
LEAST_WON = 0.05 * WHOLE  # by one move, which costs somebody a restart


@dataclass(frozen=True, slots=True)
class RecoverableCapacity:
    """`won`, in thousandths of GPUs, by moving `moves` of the `tried` tasks; `movable` could be moved at all."""

    won: float
    moves: int
    tried: int
    movable: int


def winnable(state: EngineState, most_tried: int = MOST_TRIED) -> RecoverableCapacity:
    state.learned.mix.prepare()
    cluster = state.cluster
    rows = np.flatnonzero(cluster.ready[: cluster.width])
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
    """What is won by placing it anew; it stays there if that is more than a little, and else where it is."""
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
