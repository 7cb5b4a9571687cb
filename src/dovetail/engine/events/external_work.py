"""Handlers for work that an adapter reports with its terms, and that may be running already.

Guarantees: a task that is already on a node counts there even if the node has no capacity left, and no command is sent
for it. Its pending tasks are scheduled like any other.
"""

from dovetail.engine.events.workloads import admit_workload
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.live_task import LiveTask
from dovetail.engine.state.work import Work
from dovetail.model.command import Command
from dovetail.model.event import DisruptionBudgetsSet, Nominated, WorkArrived
from dovetail.model.task import TaskId, TaskState


def arrived(state: EngineState, event: WorkArrived, now: float) -> list[Command]:
    """Tasks on unknown nodes are pending, like those without a node."""
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
    admit_workload(state, work, now)
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
