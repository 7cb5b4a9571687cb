"""PBS's record of a job: what its state letter, its comment and its exit status mean. Pure."""

from dataclasses import dataclass, replace

from dovetail.backends.batch.ends import (
    FIRST_SIGNAL_STATUS,
    NOT_TO_START_EXIT,
    UNUSABLE_EXIT,
    End,
    How,
    Result,
    end_of_result,
    end_without_start,
    not_started,
)
from dovetail.backends.batch.record import BatchRecord, JobProgress, StartOutlook
from dovetail.backends.pbs.exits import FIRST_SIGNAL, meaning_of
from dovetail.model.failure_cause import FailureCause

#: The words for state letters, and how far such a job is. C is Torque's; B is an array, M went to another server.
STATES = {
    "Q": ("QUEUED", JobProgress.WAITING),
    "H": ("HELD", JobProgress.WAITING),
    "W": ("WAITING", JobProgress.WAITING),
    "T": ("MOVING", JobProgress.WAITING),
    "R": ("RUNNING", JobProgress.RUNNING),
    "E": ("EXITING", JobProgress.RUNNING),
    "S": ("SUSPENDED", JobProgress.RUNNING),
    "U": ("SUSPENDED", JobProgress.RUNNING),
    "B": ("BEGUN", JobProgress.RUNNING),
    "F": ("FINISHED", JobProgress.OVER),
    "X": ("FINISHED", JobProgress.OVER),
    "C": ("COMPLETED", JobProgress.OVER),
    "M": ("MOVED", JobProgress.ENDED_UNSAID),
}
PROGRESS_OF_WORD = dict(STATES.values())
#: Beginnings and parts of comments.
NEVER_RUNS = "Can Never Run"
DELETED_BY_DEPENDENCY = "result of dependency on job"


@dataclass(frozen=True, slots=True)
class PbsRecord(BatchRecord):
    """`exit_status` None: PBS does not say. `depends`: the jobs that it waits for."""

    exit_status: int | None = None
    depends: str = ""

    @property
    def progress(self) -> JobProgress:
        """An unknown state counts as not ended. Of a script that found its command started by another, nothing is known
        about that one."""
        progress = PROGRESS_OF_WORD.get(self.state, JobProgress.RUNNING)
        if progress is JobProgress.OVER and self.exit_status in (None, NOT_TO_START_EXIT):
            return JobProgress.ENDED_UNSAID
        meaning = None if self.exit_status is None else meaning_of(self.exit_status)
        if progress is JobProgress.OVER and meaning is not None and meaning.exit_code is None:
            return JobProgress.ENDED_UNSAID
        return progress

    @property
    def holds_node(self) -> bool:
        return self.progress is JobProgress.RUNNING

    @property
    def waits_for_jobs(self) -> bool:
        return self.progress is JobProgress.WAITING and bool(self.depends)

    @property
    def never_starts(self) -> bool:
        """PBS deletes a job whose dependency failed: it does not wait."""
        return False

    def outlook(self, *, node_is_lost: bool) -> StartOutlook:
        if self.progress is not JobProgress.WAITING:
            return StartOutlook.WAIT
        if NEVER_RUNS in self.reason:
            return StartOutlook.NEVER
        return StartOutlook.ELSEWHERE if node_is_lost else StartOutlook.WAIT

    def end(self, *, claimed: bool, result: Result | None, stop_reason: str | None, folder: str) -> End:
        said = self.in_words()
        if claimed and stop_reason is not None and (result is None or result.how is not How.TIMEOUT):
            # PBS has no state for deleted jobs, and a shell whose child was signalled first may end with any status.
            return End(None, f"{said}: stopped: {stop_reason}")
        if result is not None and (self.exit_status is None or self.exit_status >= 0):
            return end_of_result(result, stop_reason, said)
        if not claimed:
            return self._end_unclaimed(said, stop_reason, folder)
        meaning = None if self.exit_status is None else meaning_of(self.exit_status)
        if self.exit_status is None or (meaning is not None and meaning.exit_code is None):
            words = "" if meaning is None else f": {meaning.words}"
            return End(None, f"{said}: lost{words}")
        if meaning is not None:
            return End(meaning.exit_code, f"{said}: {meaning.words}", cause=meaning.cause)
        if self.exit_status >= FIRST_SIGNAL:
            number = self.exit_status - FIRST_SIGNAL
            return End(FIRST_SIGNAL_STATUS + number, f"{said}: killed by signal {number}")
        return end_of_result(Result(self.exit_status, How.ENDED), stop_reason, said)

    def _end_unclaimed(self, said: str, stop_reason: str | None, folder: str) -> End:
        """Its script did not begin to start the command."""
        unusable, status = self.exit_status == UNUSABLE_EXIT, self.exit_status or 0
        end = end_without_start(
            said, status, stop_reason=stop_reason, unusable=unusable, node=self.nodes, folder=folder
        )
        if end is not None:
            return end
        if DELETED_BY_DEPENDENCY in self.reason:
            words = f"{said}: it could not be started: a job that it depends on did not end as it should"
            return End(UNUSABLE_EXIT, words, cause=FailureCause.WORKLOAD)
        meaning = meaning_of(status)
        if meaning is not None:
            return replace(not_started(f"{said}: {meaning.words}", meaning.cause), exit_code=meaning.exit_code)
        if self.exit_status is None:
            return End(None, f"{said}: by somebody in PBS")
        return not_started(f"{said}: its script ended with {status} before it could begin", FailureCause.NODE)
