"""What a batch system reports about a job, and what follows from it for the attempt that it runs.

Each backend derives its own record from `BatchRecord`: it knows its system's states, reasons and exit codes.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from dovetail.backends.batch.ends import End, Result
from dovetail.model.failure_cause import FailureCause


class JobId(NamedTuple):
    """Identifies a job: its id, and in an array the index of the element."""

    id: int
    element: int | None = None

    def __str__(self) -> str:
        return str(self.id) if self.element is None else f"{self.id}_{self.element}"


class JobProgress(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"  # or starting or ending: some of it may run
    OVER = "over"
    ENDED_UNSAID = "ended unsaid"  # over, and the system does not say how: the run folder may, or it was lost
    LOST = "lost"  # over as far as the system knows; it may still run on its node

    @property
    def has_ended(self) -> bool:
        return self in (JobProgress.OVER, JobProgress.ENDED_UNSAID, JobProgress.LOST)


class StartOutlook(StrEnum):
    """What can be expected of a pending job."""

    WAIT = "wait"  # it passes: the system starts the job by itself, and it may wait for `start_within_s`
    ELSEWHERE = "elsewhere"  # its node or queue takes no jobs: the task is placed on another
    NEVER = "never"  # what it asks for is wrong, wherever it is placed


#: Whose fault it is that a job was not started. A node that is drained is known to be: nobody is to blame.
CAUSES = {
    StartOutlook.WAIT: FailureCause.BACKEND,
    StartOutlook.ELSEWHERE: FailureCause.BACKEND,
    StartOutlook.NEVER: FailureCause.WORKLOAD,
}


@dataclass(frozen=True, slots=True)
class BatchRecord(ABC):
    """`exit_code` and `signal` are those of its script; `restarts` counts how often the system has restarted it.
    `array` is the id of its array, 0 for none, and `elements` the elements that it stands for: one, or all pending
    ones (`3-7,9`). `keys`: the attempts that it runs, if one job runs several. Only some systems have the start and
    end times, in seconds since the epoch."""

    id: int
    name: str
    state: str
    reason: str = ""
    exit_code: int = 0
    signal: int = 0
    restarts: int = 0
    nodes: str = ""
    array: int = 0
    elements: str = ""
    started_s: float = 0.0
    ended_s: float = 0.0
    keys: tuple[str, ...] = ()

    @property
    @abstractmethod
    def progress(self) -> JobProgress: ...

    @property
    @abstractmethod
    def holds_node(self) -> bool:
        """Whether resources of its node are allocated to it."""

    @property
    @abstractmethod
    def waits_for_jobs(self) -> bool:
        """Whether it waits for other jobs, on the user's request."""

    @property
    @abstractmethod
    def never_starts(self) -> bool:
        """Whether it waits for a job that did not end as it should."""

    @abstractmethod
    def outlook(self, *, node_is_lost: bool) -> StartOutlook:
        """`node_is_lost`: its node takes no jobs, and does not return by itself."""

    @abstractmethod
    def end(self, *, claimed: bool, result: Result | None, stop_reason: str | None, folder: str) -> End:
        """The end of a job that is over. `claimed`: its script began to start the command."""

    def in_words(self) -> str:
        """Such as `PENDING (Resources)`."""
        return f"{self.state} ({self.reason})" if self.reason else self.state
