"""The rule of unwritten tasks: a task without a row never left the queue.

Such a task says nothing that its workload does not say, so that one of ten thousand replicas is one row when it is
accepted, and still is when it is cancelled while it waits. It is fresh (pending, attempt 0, no node, nothing said about
it), or it ended with its workload, as did the last of the tasks with rows that were never placed. All tasks of a
workload without rows are in the same state: fresh, if more of its tasks are pending than rows say.

Whoever reads tasks fills the gaps with these. Whoever writes them may leave out the fresh ones of a workload that is
written in the same batch, and only those: later a fresh record may have to replace a row that says something else.
"""

from dataclasses import replace
from operator import attrgetter

from dovetail.model.record import TaskRecord, WorkloadRecord
from dovetail.model.task import TaskId, TaskState


def fresh_task(workload: int, replica: int) -> TaskRecord:
    return TaskRecord(TaskId(workload, replica), TaskState.PENDING)


def is_fresh(record: TaskRecord) -> bool:
    return (
        record.state is TaskState.PENDING
        and record.attempt == 0
        and not record.message
        and record == fresh_task(*record.task)
    )


def with_unwritten(workload: WorkloadRecord, written: list[TaskRecord], replicas: int) -> list[TaskRecord]:
    """All replicas in order, given those of them that have rows."""
    if len(written) == replicas:
        return sorted(written, key=attrgetter("task")) if replicas > 1 else written
    by_replica = {record.task.replica: record for record in written}
    if workload.pending > sum(record.state is TaskState.PENDING for record in written):
        return [by_replica.get(replica) or fresh_task(workload.id, replica) for replica in range(replicas)]
    last = max((one for one in written if one.state.finished and not one.attempt), key=attrgetter("task"))
    return [by_replica.get(replica) or replace(last, task=TaskId(workload.id, replica)) for replica in range(replicas)]
