"""Records that changed since `take_changes` was last called: their names, not their contents.

Guarantees: each record is listed once, in the order of its first change. `taking_changes` turns the list into
records; nothing here reads them.
"""

from dataclasses import dataclass, field

from dovetail.model.batch import EndedTogether
from dovetail.model.record import AttemptRecord, Decision
from dovetail.model.task import TaskId


@dataclass(slots=True)
class ChangeLog:
    """Dictionaries serve as ordered sets."""

    decisions: list[Decision] = field(default_factory=list)
    attempts: list[AttemptRecord] = field(default_factory=list)  # those that ended while their tasks go on
    ended_together: list[EndedTogether] = field(default_factory=list)
    preempted: int = 0  # tasks that were preempted
    quarantined: int = 0  # nodes whose quarantine began
    workloads: dict[int, None] = field(default_factory=dict)
    notes: dict[int, None] = field(default_factory=dict)  # workloads whose restart notes changed
    tasks: dict[TaskId, None] = field(default_factory=dict)
    nodes: dict[str, None] = field(default_factory=dict)
    gone_nodes: dict[str, None] = field(default_factory=dict)
    reservations: dict[int, None] = field(default_factory=dict)
    outcomes: dict[str, None] = field(default_factory=dict)  # nodes whose success statistics changed
    network: dict[str, None] = field(default_factory=dict)  # parts of the network description

    def attempt_ended(self, attempt: AttemptRecord | None) -> None:
        if attempt is not None:
            self.attempts.append(attempt)

    def touch_task(self, task: TaskId) -> None:
        self.tasks[task] = None
        self.workloads[task.workload] = None
