"""History lines: made from each step and written with it. `history_feed` streams them to listeners."""

from dovetail.model.batch import Batch
from dovetail.model.event import BackendHealthChanged
from dovetail.model.record import Decision, HistoryLine, NodeRecord, PolicyRecord, TaskRecord
from dovetail.model.task import TaskId, TaskState
from dovetail.model.text.listing import count

#: The kind of a line about a task that makes room for other work; other tasks that stop have their state as kind.
PREEMPTED = "preempted"


def lines_of(batch: Batch, now: float) -> list[HistoryLine]:
    """The history lines of one step, in order."""
    found = [
        HistoryLine(now, "submitted", f"submitted {new.namespace}/{new.name}, {count(new.replicas, 'task')}", new.id)
        for new in batch.submitted
    ]
    chosen: dict[TaskId, Decision] = {d.task: d for d in batch.changes.decisions}
    found += [
        HistoryLine(now, "waiting", decision.explanation.message, decision.task.workload, decision.task.replica)
        for decision in batch.changes.decisions
        if decision.node is None
    ]
    found += [_task_line(task, chosen.get(task.task), now) for task in batch.changes.tasks]
    found += [
        HistoryLine(
            now, str(one.state), explained(f"{count(one.tasks, 'more task')} that never ran", one.message), one.workload
        )
        for one in batch.changes.ended_together
    ]
    found += [
        HistoryLine(now, str(record.state), explained(f"workload {record.state}", record.message), record.id)
        for record in batch.changes.workloads
        if record.state.finished
    ]
    found += [HistoryLine(now, "node", _node_words(record), node=record.node.name) for record in batch.changes.nodes]
    found += [HistoryLine(now, "node", f"node {name} left", node=name) for name in batch.changes.nodes_gone]
    found += [HistoryLine(now, "policy", _policy_words(record)) for record in batch.changes.policies]
    found += [HistoryLine(now, "recovery", note.message, note.workload) for note in batch.changes.recoveries]
    found += [HistoryLine(now, "policy", switch.message) for switch in batch.changes.switches]
    return found


class BackendLines:
    """A line when a backend can be used no longer, and one when it can be used again, however often either is said."""

    def __init__(self) -> None:
        self._down: set[str] = set()

    def of(self, event: BackendHealthChanged, now: float) -> list[HistoryLine]:
        if event.available is (event.backend not in self._down):
            return []
        (self._down.discard if event.available else self._down.add)(event.backend)
        words = "can be used again" if event.available else "cannot be used"
        line = explained(f"backend {event.backend} {words}", event.reason)
        return [HistoryLine(now, "backend", line, backend=event.backend)]


def _node_words(record: NodeRecord) -> str:
    if record.online and not record.cordoned and record.reason:  # it is in quarantine, and the reason begins so
        return f"node {record.node.name} {record.reason}"
    state = "offline" if not record.online else "cordoned" if record.cordoned else "online"
    return explained(f"node {record.node.name} {state}", record.reason)


def _policy_words(record: PolicyRecord) -> str:
    done = "removed" if record.definition is None else f"version {record.version}"
    return signed(f"policy {record.name} {done}", record.author, record.note)


def signed(words: str, author: str, note: str) -> str:
    """What was done, with its author and note if they are known."""
    return explained(f"{words} by {author}" if author else words, note)


def explained(words: str, why: str) -> str:
    return f"{words}: {why}" if why else words


def _task_line(task: TaskRecord, decision: Decision | None, now: float) -> HistoryLine:
    message = task.message
    if task.state is TaskState.PLACED and decision is not None and decision.explanation.best:
        message = f"{message}, score {decision.explanation.best[0].total:.2f}"
    kind = PREEMPTED if task.is_preempted else str(task.state)
    return HistoryLine(now, kind, message, task.task.workload, task.task.replica, task.node)
