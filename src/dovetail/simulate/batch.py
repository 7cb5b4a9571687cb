"""Replay of a batch log by the production engine: one machine, processors as the only resource, no simulated world.

Events are handled one at a time, and the engine decides until it is idle before the next one: an arrival if it is not
later than the next end, else one end, even if several fall on the same moment. Published figures depend on that. A job
that runs longer than requested is not stopped.

Guarantees: the same jobs and settings give the same starts, to the bit. Every job starts, or `Stuck` is raised.
Left to others: which jobs (`swf`), which settings (`policies`), and the figures (`comparison`).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from heapq import heappop, heappush

from dovetail.engine.engine import Engine
from dovetail.engine.questions.questions import Questions
from dovetail.engine.settings import EngineSettings
from dovetail.model.command import Bind, Command, Stop
from dovetail.model.event import Event, NodeJoined, Submitted, TaskFinished, TaskStarted, Tick
from dovetail.model.node import Node
from dovetail.model.resources import Capacity, ResourceRequest
from dovetail.model.workloads.workload import Deadline, Priority, Workload
from dovetail.simulate.swf import BatchJob

NODE = "machine"
DECISIONS_A_TICK = 2**30
EVENTS_BETWEEN_REPORTS = 1024
EVENTS_BETWEEN_SETTLING = 32

#: Called when a job was submitted and the engine has decided: live work, the workload's id, the moment.
AfterSubmission = Callable[[Questions, int, float], None]
#: How many jobs have ended.
Progress = Callable[[int], None]


class Stuck(RuntimeError):
    """Jobs wait, nothing runs and no event is left: the policy never starts them."""


class BatchReplay:
    """A job's workload id is its place in the sequence, from 1."""

    def __init__(
        self,
        jobs: Sequence[BatchJob],
        processors: int,
        settings: EngineSettings,
        after_submission: AfterSubmission | None = None,
        *,
        by_moment: bool = False,
    ) -> None:
        """`jobs` in the order of their submission. `by_moment`: the engine hears of everything that happens at one
        moment before it decides, as in production; else of one thing at a time, as in the published protocol.

        Raises OrderingError if the settings name one that is not there.
        """
        self.engine = Engine(settings)
        self._questions = Questions(self.engine)
        self.now = 0.0
        self.starts: list[float] = [math.nan] * len(jobs)
        self._jobs = jobs
        self._processors = processors
        self._after_submission = after_submission
        self._by_moment = by_moment
        self._arrived = 0
        self._ended = 0
        self._running: list[tuple[float, int, Bind]] = []  # by end, then by start
        self._wakes: list[float] = []
        self._started = 0

    def run(self, progress: Progress | None = None) -> list[float]:
        """When each job started, in seconds of the log."""
        capacity = Capacity(cpu=float(self._processors), slots=self._processors)
        self._hear(NodeJoined(Node(name=NODE, capacity=capacity)))
        events = 0
        while self._ended < len(self._jobs):
            self._step()
            events += 1
            if events % EVENTS_BETWEEN_SETTLING == 0:
                self.engine.take_changes(self.now)  # nobody keeps them, but finished work is forgotten by it
            if progress is not None and events % EVENTS_BETWEEN_REPORTS == 0:
                progress(self._ended)
        return self.starts

    # --- one event at a time ---------------------------------------------------------------------------------

    def _step(self) -> None:
        arrival = self._jobs[self._arrived].submit_s if self._arrived < len(self._jobs) else math.inf
        end = self._running[0][0] if self._running else math.inf
        if self._wakes and self._wakes[0] < min(arrival, end):
            self.now = max(self.now, heappop(self._wakes))
            self._hear(Tick(DECISIONS_A_TICK))
            self._decide()
        elif self._by_moment and min(arrival, end) < math.inf:
            self._moment(min(arrival, end))
        elif arrival <= end and self._arrived < len(self._jobs):
            self._arrive()
        elif self._running:
            self._end_one()
            self._decide()
        else:
            left = len(self._jobs) - self._ended
            raise Stuck(f"{left} jobs wait at {self.now:.0f} s, nothing runs, and none of them is started")

    def _moment(self, at: float) -> None:
        """Everything that ends then, everything that comes, and one decision about it."""
        self.now = at
        while self._running and self._running[0][0] <= at:
            self._end_one()
        first = self._arrived
        while self._arrived < len(self._jobs) and self._jobs[self._arrived].submit_s <= at:
            self._arrive_one()
        self._decide()
        self._tell(range(first + 1, self._arrived + 1))

    def _arrive(self) -> None:
        self.now = self._jobs[self._arrived].submit_s
        self._arrive_one()
        self._decide()
        self._tell([self._arrived])

    def _arrive_one(self) -> None:
        job = self._jobs[self._arrived]
        self._arrived += 1
        self._hear(Submitted(self._arrived, _workload(job, self._arrived)))

    def _tell(self, arrived: Iterable[int]) -> None:
        if self._after_submission is not None:
            for id_ in arrived:
                self._after_submission(self._questions, id_, self.now)

    def _end_one(self) -> None:
        self.now, _, bind = heappop(self._running)
        self._ended += 1
        self._hear(TaskFinished(bind.task, bind.key, 0, "ended"))

    def _decide(self) -> None:
        while self.engine.busy:
            self._hear(Tick(DECISIONS_A_TICK))

    def _hear(self, event: Event) -> None:
        for command in self.engine.handle(event, self.now):
            self._carry_out(command)

    def _carry_out(self, command: Command) -> None:
        if isinstance(command, Bind):
            place = command.task.workload - 1
            self.starts[place] = self.now
            self._started += 1
            heappush(self._running, (self.now + self._jobs[place].run_s, self._started, command))
            self._hear(TaskStarted(command.task, command.key))
        elif isinstance(command, Stop):
            raise AssertionError(f"{command.key} was to be stopped ({command.reason}); batch jobs never are")
        else:
            heappush(self._wakes, command.at)


def _workload(job: BatchJob, id_: int) -> Workload:
    return Workload(
        name=f"j{id_}",
        user=job.user,
        priority=Priority.BATCH,
        resources=_resources(job.processors),
        deadline=_deadline(job.requested_s),
    )


@lru_cache(maxsize=4096)
def _resources(processors: int) -> ResourceRequest:
    return ResourceRequest(cpu=float(processors))


@lru_cache(maxsize=4096)
def _deadline(requested_s: float) -> Deadline:
    return Deadline(run_for=requested_s)
