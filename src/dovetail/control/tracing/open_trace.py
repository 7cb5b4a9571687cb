"""A trace that is not complete yet: what is known of a workload and its first tasks, as steps tell it.

A task goes through phases, one after the other: it waits in its queue, is decided about, the decision is written, the
backend takes it, it starts. A task that has to go back waits again. The moments come from the steps themselves, so a
trace says what happened and not when somebody looked.
"""

from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from dovetail.control.tracing.identity import TraceIdentity
from dovetail.model.record import Decision, NewWorkload, TaskRecord
from dovetail.model.task import TaskState

MOST_PHASES = 60  # of a task that goes back again and again
MOST_REFUSALS = 20  # that are told of one wait
QUEUE, DECISION, DURABLE, BIND, START = "queue", "decision", "durable", "bind", "start"


@dataclass(slots=True)
class TaskPhase:
    """`error`: it did not lead on. `events`: moments within it, with words."""

    name: str
    began_at: float
    ended_at: float
    attempt: int = 0
    node: str = ""
    backend: str = ""
    error: str = ""
    events: list[tuple[float, str]] = field(default_factory=list)


@dataclass(slots=True)
class TracedTask:
    """`reached_at`: the end of its last phase, or when it was submitted. `outcome`: how it ended before it ran."""

    replica: int
    reached_at: float
    attempt: int = 0
    is_bound: bool = False
    done: bool = False
    outcome: str = ""
    refusals: list[tuple[float, str]] = field(default_factory=list)
    phases: list[TaskPhase] = field(default_factory=list)

    def refused(self, decision: Decision) -> None:
        if len(self.refusals) < MOST_REFUSALS:
            self.refusals.append((decision.at, decision.explanation.message))

    def placed(self, decision: Decision, decided_at: float, written_at: float) -> None:
        """A decision gave it a node, and is durable."""
        self.attempt, self.is_bound = decision.attempt, False
        self._phase(QUEUE, decision.at, events=self.refusals)
        self.refusals = []
        self._phase(DECISION, decided_at, node=decision.node or "")
        self._phase(DURABLE, written_at)

    def changed(self, record: TaskRecord, at: float) -> None:
        """Its record changed in a step that was decided at this moment."""
        where = {"node": record.node or "", "backend": record.backend or ""}
        if record.started_at is not None and record.state in (TaskState.RUNNING, TaskState.SUCCEEDED, TaskState.FAILED):
            self._phase(START if self.is_bound else BIND, record.started_at, **where)
            self.done = True
        elif record.state is TaskState.BOUND and not self.is_bound:
            self._phase(BIND, at, **where)
            self.is_bound = True
        elif record.state is TaskState.PENDING and self.phases and record.message:
            self._phase(START if self.is_bound else BIND, at, error=record.message)
            self.is_bound = False
        if record.state.finished:
            self.done = True
            self.outcome = "" if record.state is TaskState.SUCCEEDED else str(record.state)

    def caught_up(self, record: TaskRecord) -> None:
        """After steps were missed: what its present state tells of them."""
        if record.placed_at is not None and record.attempt > self.attempt:
            self.attempt, self.is_bound = record.attempt, False
            self._phase(QUEUE, record.placed_at, events=self.refusals)
            self.refusals = []
        if record.state is not TaskState.PENDING:
            self.changed(record, self.reached_at)

    def _phase(self, name: str, ended_at: float, **more: Any) -> None:
        ended_at = max(ended_at, self.reached_at)  # clocks can be set back
        if len(self.phases) < MOST_PHASES:
            self.phases.append(TaskPhase(name, self.reached_at, ended_at, self.attempt, **more))
        self.reached_at = ended_at


@dataclass(slots=True)
class OpenTrace:
    """`requested_at`: when the request came, None where no client asked or nobody knows any more. `durable_at`: when
    the submission was written."""

    workload: int
    trace: int
    parent: int
    namespace: str
    name: str
    kind: str
    queue: str
    replicas: int
    submitted_at: float
    durable_at: float | None
    requested_at: float | None
    tasks: dict[int, TracedTask]
    ended_at: float | None = None
    outcome: str = ""

    @property
    def identity(self) -> TraceIdentity:
        return TraceIdentity(self.trace, self.parent)

    @property
    def complete(self) -> bool:
        return self.ended_at is not None or all(task.done for task in self.tasks.values())

    @staticmethod
    def of(new: NewWorkload, identity: TraceIdentity, written_at: float, most_tasks: int) -> "OpenTrace":
        return OpenTrace(
            workload=new.id,
            trace=identity.trace,
            parent=identity.parent,
            namespace=new.namespace,
            name=new.name,
            kind=new.kind,
            queue=new.queue or "",
            replicas=new.replicas,
            submitted_at=new.submitted_at,
            durable_at=written_at,
            requested_at=None if new.trace is None else min(new.trace.began_at, new.submitted_at),
            tasks=first_tasks(new.replicas, most_tasks, new.submitted_at),
        )

    def to_json(self) -> str:
        # Whole numbers of 128 bits are text: no JSON library reads them back.
        return orjson.dumps({**asdict(self), "trace": f"{self.trace:x}"}, option=orjson.OPT_NON_STR_KEYS).decode()

    @staticmethod
    def from_json(text: str) -> "OpenTrace":
        fields = orjson.loads(text)
        tasks = {}
        for one in fields.pop("tasks").values():
            phases = [TaskPhase(**{**phase, "events": _moments(phase["events"])}) for phase in one.pop("phases")]
            refusals = _moments(one.pop("refusals"))
            tasks[one["replica"]] = TracedTask(**one, phases=phases, refusals=refusals)
        return OpenTrace(**{**fields, "trace": int(fields["trace"], 16)}, tasks=tasks)


def first_tasks(replicas: int, most_tasks: int, submitted_at: float) -> dict[int, TracedTask]:
    return {replica: TracedTask(replica, submitted_at) for replica in range(min(replicas, most_tasks))}


def _moments(given: list[list[Any]]) -> list[tuple[float, str]]:
    return [(at, words) for at, words in given]
