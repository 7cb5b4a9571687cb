"""The kinds of history lines: the state of the task, but for one that makes room for other work."""

import pytest

from dovetail.control.loop.history import lines_of
from dovetail.model.batch import Batch, Changes, EndedTogether
from dovetail.model.record import TaskRecord
from dovetail.model.task import TaskId, TaskState


@pytest.mark.parametrize(
    ("state", "reason", "kind"),
    [
        (TaskState.STOPPING, "preempting", "preempted"),
        (TaskState.STOPPING, "evicting", "stopping"),
        (TaskState.STOPPING, "cancelling", "stopping"),
        (TaskState.PENDING, "preempted", "pending"),
        (TaskState.RUNNING, "running", "running"),
    ],
)
def test_a_preemption_is_a_kind_of_its_own(state: TaskState, reason: str, kind: str) -> None:
    record = TaskRecord(TaskId(7, 1), state, node="n1", reason=reason, message="because")
    [line] = lines_of(Batch(changes=Changes(tasks=[record])), 5.0)
    assert (line.kind, line.message, line.workload, line.replica, line.node) == (kind, "because", 7, 1, "n1")


def test_tasks_that_ended_together_are_one_line() -> None:
    together = EndedTogether(7, 9975, TaskState.CANCELLED, "cancelled", "cancelled by ann")
    [line] = lines_of(Batch(changes=Changes(ended_together=[together])), 5.0)
    assert (line.kind, line.message) == ("cancelled", "9,975 more tasks that never ran: cancelled by ann")
    assert (line.workload, line.replica) == (7, None)
