"""What happens to tasks on a node, and what follows for the node: quarantine, and how slow it is.

A node on which placements keep failing is quarantined: it gets no tasks for a while, then is tried again. Quarantines
are not persisted: after a restart, the first placements serve as the probe.

The slowdown of a successful task is its run time relative to other runs of its kind (`queueing.usual_times`). A task
lost with its node counts as `MAX_SLOWDOWN`: its work has to be repeated. Stopped tasks, failed ones and those that
could not start do not count. The `domain_history` score uses the result. Guarantees: one observation changes a node's
mean by a bounded amount.
"""

from dovetail.engine.state.engine_state import EngineState, NodeFailures
from dovetail.engine.state.timers import TimerKind
from dovetail.engine.state.work import Work
from dovetail.model.command import Command
from dovetail.model.task import TaskId

MAX_SLOWDOWN = 4.0
"""Slowdowns are clipped to this and its inverse: expected run times are rough, and one outlier must not outweigh ten
other runs."""


def placement_failed(state: EngineState, node: str | None, reason: str, now: float) -> None:
    """A task placed on the node could not be started."""
    if node is None or node not in state.cluster.rows:
        return
    settings = state.settings.quarantine
    counts = state.node_failures.setdefault(node, NodeFailures())
    counts.failures += 1
    if counts.failures < settings.failures or node in state.cluster.quarantines:
        return
    pause_s = min(settings.pause * 2.0 ** min(counts.quarantines, 60), settings.most)
    counts.quarantines += 1
    words = f"quarantined for {pause_s:g} s: {counts.failures} placements in a row failed there, last: {reason}"
    state.cluster.set_quarantined(node, words)
    state.changes.nodes[node] = None
    state.timers.set(TimerKind.PROBE, node, now + pause_s)


def placement_succeeded(state: EngineState, node: str | None) -> None:
    """A task was bound on the node: the node works again."""
    if node is not None and state.node_failures.pop(node, None) is not None and node in state.cluster.quarantines:
        lift_quarantine(state, node)


def probe(state: EngineState, node: str, now: float) -> list[Command]:  # noqa: ARG001 - as all timer handlers
    """The quarantine is over. One more failure starts the next, longer one."""
    if node in state.cluster.quarantines:
        state.node_failures[node].failures = state.settings.quarantine.failures - 1
        lift_quarantine(state, node)
    return []


def end_quarantine(state: EngineState, node: str) -> None:
    """An operator says that the node works again: its failures are forgotten."""
    if node in state.cluster.quarantines:
        state.node_failures.pop(node, None)
        state.timers.clear(TimerKind.PROBE, node)
        lift_quarantine(state, node)


def lift_quarantine(state: EngineState, node: str) -> None:
    state.cluster.set_quarantined(node, "")
    state.changes.nodes[node] = None
    state.wake.dirty_rows.add(state.cluster.rows[node])


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
