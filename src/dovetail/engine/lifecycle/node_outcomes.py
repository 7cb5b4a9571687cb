"""How fast the tasks of a node are, compared with others of their kind.

The slowdown of a successful task is its run time relative to other runs of its kind (`queueing.usual_times`). A task
lost with its node counts as `MAX_SLOWDOWN`: its work has to be repeated. Stopped tasks, failed ones and those that
could not start do not count. The `domain_history` score uses the result. Guarantees: one observation changes a node's
mean by a bounded amount.
"""

from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work
from dovetail.model.task import TaskId

MAX_SLOWDOWN = 4.0
"""Slowdowns are clipped to this and its inverse: expected run times are rough, and one outlier must not outweigh ten
other runs."""


def work_kind(state: EngineState, work: Work) -> str:
    """Key of workloads with similar run times: same owner, same request and, for gangs, same size."""
    terms, shape = work.terms, work.terms.shape
    size = work.replicas if terms.gang_min else 1
    amounts = ",".join([f"{name}={amount}" for name, amount in shape.amounts])
    return f"{state.owner(work)} {shape.service or ''} {terms.run_s} {size} {amounts}"


def record_finished_task(state: EngineState, work: Work, task: TaskId, node: str, took_s: float) -> None:
    """The task succeeded."""
    kind, run = work_kind(state, work), str(work.id) if work.terms.gang_min else str(task)
    slowdown = state.learned.usual_times.slowdown(kind, run, took_s)
    state.learned.usual_times.finished(kind, run, took_s)
    if slowdown is not None:
        state.note_pace(node, min(max(slowdown, 1.0 / MAX_SLOWDOWN), MAX_SLOWDOWN))


def record_lost_task(state: EngineState, node: str) -> None:
    """A task was lost with its node."""
    state.note_pace(node, MAX_SLOWDOWN)
