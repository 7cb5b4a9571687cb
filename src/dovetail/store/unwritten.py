"""The rule of unwritten tasks: a task without a row is pending for the first time.

A fresh task (pending, attempt 0, no node, nothing said about it) gets no row until something about it changes, so that
a workload of ten thousand replicas is one row when it is accepted. Whoever reads tasks fills the gaps with fresh ones;
whoever writes them may leave out the fresh ones of a workload that is written in the same batch, and only those:
later a fresh record may have to replace a row that says something else.
"""

from dovetail.model.record import TaskRecord
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


def with_fresh(workload: int, written: list[TaskRecord], start: int, stop: int) -> list[TaskRecord]:
    """The replicas from `start` up to `stop` in order, given those of them that have rows."""
    if len(written) == 1 and stop - start == 1:  # most workloads
        return written
    by_replica = {record.task.replica: record for record in written}
    return [by_replica.get(replica) or fresh_task(workload, replica) for replica in range(start, stop)]
