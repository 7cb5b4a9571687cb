"""Work that an adapter hands over with its terms worked out, and that may run already.

Guarantees: what is already on a node counts there whatever the node has left, since it is a fact; nothing is sent to
anybody for it. What of it waits is decided like any other work.
"""

from dovetail.engine.events.workloads import take_in
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import LiveTask, Work
from dovetail.model.command import Command
from dovetail.model.event import DisruptionBudgetsSet, Nominated, WorkArrived
from dovetail.model.task import TaskId, TaskState


def arrived(state: EngineState, event: WorkArrived, now: float) -> list[Command]:
    """Of nodes that nobody knows the tasks wait, like those that are nowhere."""
    if event.terms.shape.kubernetes is not None:
        state.cluster.placements.has_pods = True
    work = Work(
        id=event.workload,
        namespace=event.namespace,
        name=event.name,
        rank=event.rank,
        replicas=event.replicas,
        terms=event.terms,
        queue=state.router.queue(event.terms.queue, event.namespace),
        submitted_at=now,
    )
    since = now if event.since is None else event.since
    rows = [state.cluster.rows.get(name) for name in event.nodes]
    work.waiting.extend(i for i in range(event.replicas) if i >= len(rows) or rows[i] is None)
    placed = [(i, row) for i, row in enumerate(rows[: event.replicas]) if row is not None]
    for replica, row in placed:
        node, backend = state.cluster.names[row], state.cluster.backend_names[state.cluster.backends[row]]
        work.tasks[replica] = LiveTask(
            TaskState.RUNNING, 1, node, backend, "found", f"was on {node} already", placed_at=since, started_at=since
        )
        work.holding += 1
        state.changes.tasks[TaskId(work.id, replica)] = None
    if placed:
        work.started_at = since
    take_in(state, work, now)
    if placed:
        _count(state, work, placed, since, now)
    return []


def nominated(state: EngineState, event: Nominated, now: float) -> list[Command]:  # noqa: ARG001 - as all handlers
    work = state.work.get(event.workload)
    if work is not None:
        work.nominated = event.node
    return []


def budgets_set(state: EngineState, event: DisruptionBudgetsSet, now: float) -> list[Command]:  # noqa: ARG001
    state.pod_budgets = event.budgets
    return []


def _count(state: EngineState, work: Work, placed: list[tuple[int, int]], since: float, now: float) -> None:
    shape, victim_info = work.shape, state.victim_info(work, since)
    column = state.request(shape).column
    run_s = state.expected_s(work)
    for replica, row in placed:
        task = TaskId(work.id, replica)
        slots = state.cluster.place(task, row, column, shape.service_key, victim_info, work.identity, shape.gpus)
        work.tasks[replica].devices = slots
        if run_s is not None:
            state.ends.set(task, since + run_s)
    state.charge(work, len(placed), now)
