"""Live work: unfinished workloads, their tasks, and the groups in which tasks start together or not at all.

A task that was never touched has no entry: it is pending, attempt 0. So a workload of ten thousand replicas costs
nothing until they are placed.

A workload with `gang.min` is a group of its own, with one member (`is_solo`). Workloads of one namespace that name the
same `gang.group` are one group, whatever each of them asks for. While too few of its tasks have a node, one member
stands in the queue for the whole group, and the others are tried along with it. Once enough run, each member continues
by itself. Tasks that succeeded still count after their workload has finished.

Guarantees: bookkeeping only. Leaves to others: placing (`group_placing`), and what follows when a group loses tasks
(`task_lifecycle`).
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from dovetail.engine.state.live_task import LiveTask
from dovetail.engine.state.recoveries import Recovery
from dovetail.model.record import WorkloadRecord
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.task_identity import TaskIdentity, identity_of, known_as, pod_identity
from dovetail.model.requests.terms import Terms
from dovetail.model.task import FINISHED, HOLDING, MOVES, TaskState, WorkloadState
from dovetail.model.workloads.workload import Condition
from dovetail.placement.market.elsewhere import Elsewhere
from dovetail.queueing.usage import Held


class ForbiddenMove(AssertionError):
    """A task was asked to make a move that its state machine does not have: a bug in the engine."""


class QueuePlace(StrEnum):
    """Where a workload waits: in one place at a time."""

    NOWHERE = "nowhere"
    QUEUED = "queued"  # to be looked at
    PARKED = "parked"  # nothing fits it now
    OVER_QUOTA = "over_quota"


@dataclass(slots=True)
class Ending:
    """All tasks of a workload end, in order of their replicas. `state`: of those that are pending. Those that hold a
    node are stopped."""

    state: TaskState
    reason: str
    message: str
    next_replica: int = 0


class CheaperWait(NamedTuple):
    """Until then it refuses every node that would be launched for it, as long as no other kinds are offered."""

    until: float
    kinds_offered: int


@dataclass(slots=True)
class Work:
    id: int
    namespace: str
    name: str
    rank: int  # of its priority, as it is now: waiting may raise it
    replicas: int
    terms: Terms
    queue: int
    submitted_at: float
    tasks: dict[int, LiveTask] = field(default_factory=dict)
    waiting: list[int] = field(default_factory=list)  # replicas that want a node, as a heap: a restart finds this order
    delayed: dict[int, float] = field(default_factory=dict)  # replicas that failed: when they may be tried again
    after: dict[int, Condition] = field(default_factory=dict)  # workloads it still waits for
    queue_place: QueuePlace = QueuePlace.NOWHERE
    holding: int = 0  # tasks that hold a node
    started: int = 0  # of those, running or told to stop
    stopping: int = 0  # of those, told to stop
    done: int = 0  # tasks that are finished
    succeeded: int = 0  # of those
    failed: int = 0  # likewise
    reason: str = ""
    message: str = ""
    started_at: float | None = None
    preemption_searched_at: int = -1  # the last news at which it looked for victims
    displacing: bool = False  # others were preempted for it
    failed_preemptions: int = 0  # how often that came to nothing
    preemption_backoff_until: float = 0.0  # before this it displaces nobody again
    cancelled: bool = False
    elsewhere: tuple[float, float] | None = None  # what its nodes save it, and when it has to go to dearer ones
    choices: tuple[int, tuple[Elsewhere, ...]] | None = None  # what it would cost elsewhere, by the kinds offered then
    waits: "CheaperWait | None" = None  # it waits for cheaper nodes, as of its last refusal
    nominated: str = ""  # the node where somebody expects its next task
    nominations: dict[int, str] | None = None  # by replica: the node found with its application; None: not searched yet
    application: str = ""  # in words, what its application gains by that
    terminal_reason: str = ""  # why no task of it may start any more
    ending: Ending | None = None  # its tasks are being ended, some at a time
    group: "Group | None" = None  # the tasks that start together with its own; None: each starts by itself
    recovery: Recovery | None = None  # a gang that lost tasks and keeps the nodes of the others
    last_record: WorkloadRecord | None = None  # the last record that was handed over
    shape: Shape = field(init=False)  # as asked for, with what policies add to it
    identity: TaskIdentity = field(init=False)

    def __post_init__(self) -> None:
        self.set_shape(self.terms.shape)

    def set_shape(self, shape: Shape) -> None:
        """What placement looks at from now on. What waits must not be in its place meanwhile: that follows from it."""
        self.shape = shape
        known_by = (self.namespace, known_as(self.name, self.terms.labels), shape.service, self.terms.labels)
        if shape.kubernetes is not None:
            talk = shape.traffic, shape.bandwidth_mbps
            self.identity = pod_identity(self.namespace, self.terms.labels, shape.kubernetes, *talk)
        else:
            self.identity = identity_of(*known_by, shape.workload_affinity, shape.traffic, shape.bandwidth_mbps)

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name

    @property
    def known_as(self) -> str:
        """The name by which affinity, spread and traffic of others know its tasks: its own, or that of its service."""
        return self.name if self.is_pod else self.identity.workload

    @property
    def is_pod(self) -> bool:
        return self.shape.kubernetes is not None

    @property
    def shown_name(self) -> str:
        """As messages name it. The name of a pod has a number behind it, which is nobody's business but ours."""
        return f"pod {self.namespace}/{self.name.partition('/')[0]}" if self.is_pod else self.name

    @property
    def held(self) -> Held:
        """What one of its tasks that hold a node is charged with."""
        return Held(self.queue, self.terms.user, dict(self.terms.shape.amounts))

    @property
    def pending(self) -> int:
        """Tasks without a node that are not finished."""
        return self.replicas - self.holding - self.done

    @property
    def stopped(self) -> int:
        """Tasks that were cancelled, by a user or because others failed."""
        return self.done - self.succeeded - self.failed

    @property
    def gang_short(self) -> int:
        """How many tasks like its own must find a node together; 0 where each may start by itself."""
        return 0 if self.group is None else self.group.short_of(self)

    @property
    def at_limit(self) -> bool:
        """No more of its tasks may run at once."""
        return bool(self.terms.concurrency) and self.holding >= self.terms.concurrency

    @property
    def disruptions_left(self) -> int:
        """How many more of its tasks its disruption budget lets others stop; negative if too many are missing."""
        return self.terms.max_unavailable - len(self.waiting) - len(self.delayed) - self.stopping

    @property
    def at_once(self) -> int:
        """How many of its waiting tasks could start at the same time."""
        limit = self.terms.concurrency
        return min(len(self.waiting), limit - self.holding) if limit else len(self.waiting)

    @property
    def can_start(self) -> bool:
        """Some task may be looked at now: it is ready, and stands in line for its group if it is in one."""
        return self.is_ready and (self.group is None or self.group.may_queue(self))

    @property
    def is_ready(self) -> bool:
        """Not too many run, and it waits for no other workload."""
        return (
            bool(self.waiting)
            and not self.after
            and not self.at_limit
            and not self.terminal_reason
            and self.ending is None
            and self.recovery is None
        )

    def task(self, replica: int) -> LiveTask:
        found = self.tasks.get(replica)
        if found is None:
            found = self.tasks[replica] = LiveTask()
        return found

    def move(self, live: LiveTask, state: TaskState, reason: str, message: str = "") -> None:
        """One step of a task's life, and what follows from it for the counts."""
        if (live.state, state) not in MOVES:
            raise ForbiddenMove(f"{live.state} → {state} ({reason})")
        self.count(live.state, -1)
        self.count(state, 1)
        live.state, live.reason, live.message = state, reason, message

    def count(self, state: TaskState, more: int) -> None:
        """So many more of its tasks are in this state. Those that are pending are all that are in no other."""
        if state in HOLDING:
            self.holding += more
            if state is TaskState.RUNNING or state is TaskState.STOPPING:
                self.started += more
            if state is TaskState.STOPPING:
                self.stopping += more
        elif state in FINISHED:
            self.done += more
            if state is TaskState.SUCCEEDED:
                self.succeeded += more
            elif state is TaskState.FAILED:
                self.failed += more

    def record(self, now: float) -> WorkloadRecord:
        """From its counts: a step that changes one task of ten thousand looks at no other."""
        state = _workload_state(self)
        reason, message = _end_words(self, state) if state.finished else (self.reason, self.message)
        return WorkloadRecord(
            id=self.id,
            state=state,
            reason=reason,
            message=message,
            pending=self.pending,
            active=self.holding,
            succeeded=self.succeeded,
            failed=self.failed,
            cancelled=self.stopped,
            started_at=self.started_at,
            finished_at=now if state.finished else None,
        )


def _workload_state(work: Work) -> WorkloadState:
    if work.holding:
        return WorkloadState.RUNNING if work.started else WorkloadState.STARTING
    if work.pending:
        return WorkloadState.PENDING
    if work.cancelled and work.stopped:
        return WorkloadState.CANCELLED
    failed = work.failed or (work.terminal_reason and work.stopped)
    return WorkloadState.FAILED if failed else WorkloadState.SUCCEEDED


def _end_words(work: Work, state: WorkloadState) -> tuple[str, str]:
    """The reason and the message of finished work."""
    if state is not WorkloadState.FAILED:
        return str(state), work.message if state is WorkloadState.CANCELLED else ""
    for replica, task in work.tasks.items():
        if task.state is TaskState.FAILED:
            return task.reason, f"task {replica}: {task.message}"
    return work.terminal_reason, work.message


class GroupPart(NamedTuple):
    """The tasks of one member that have to start with the others."""

    work: Work
    replicas: list[int]


@dataclass(slots=True)
class Group:
    """`id` is that of its first member; `name` is empty for a group of one workload. `gone_*`: tasks of members that
    are finished and forgotten."""

    id: int
    namespace: str
    name: str
    members: dict[int, Work] = field(default_factory=dict)
    tasks: int = 0  # of all members, finished ones included
    gone_succeeded: int = 0
    gone_lost: int = 0
    gone_failed: int = 0
    gone_tasks: int = 0
    seeks_replacements: bool = False  # for tasks lost with their nodes; the others stay meanwhile

    def join(self, work: Work) -> None:
        self.members[work.id] = work
        self.tasks += work.replicas
        work.group = self

    def leave(self, work: Work) -> None:
        """The member is finished."""
        del self.members[work.id]
        self.gone_succeeded += work.succeeded
        self.gone_tasks += work.replicas
        lost = work.done - work.succeeded
        self.gone_lost += lost
        self.gone_failed += 0 if work.cancelled else lost

    @property
    def key(self) -> int | tuple[str, str]:
        return self.id if self.is_solo else (self.namespace, self.name)

    @property
    def is_solo(self) -> bool:
        """Is it the gang of one workload, which no other can join?"""
        return not self.name

    def _counts(self) -> tuple[int, int, bool]:
        """Tasks it needs, tasks that run or succeeded, and whether it is loose: in one pass, as it is called often."""
        least, fulfilled, loose = 0, self.gone_succeeded, True
        for work in self.members.values():
            terms = work.terms
            fulfilled += work.holding - work.stopping + work.succeeded
            loose = loose and terms.loose
            if not work.cancelled:
                least = max(least, terms.gang_min or terms.group_min)
        return least, fulfilled, loose

    @property
    def least(self) -> int:
        """How many tasks it needs."""
        return self._counts()[0]

    @property
    def firm(self) -> int:
        """Tasks that hold a node and stay there."""
        return sum([work.holding - work.stopping for work in self.members.values()])

    @property
    def lost(self) -> int:
        """Tasks that ended without success."""
        return self.gone_lost + sum([work.done - work.succeeded for work in self.members.values()])

    @property
    def failed(self) -> int:
        """Lost tasks of members that nobody cancelled."""
        members = self.members.values()
        return self.gone_failed + sum([work.done - work.succeeded for work in members if not work.cancelled])

    @property
    def short(self) -> int:
        """How many tasks must find a node together; 0 where each may start by itself."""
        least, fulfilled, loose = self._counts()
        return 0 if fulfilled and loose else max(0, least - fulfilled)

    @property
    def slack(self) -> int:
        """How many tasks it can lose without falling below its least."""
        least, fulfilled, _ = self._counts()
        return max(0, fulfilled - least)

    @property
    def needed(self) -> int:
        """How many tasks must hold a node for it to go on: its least, without those that succeeded."""
        least, fulfilled, _ = self._counts()
        return least - (fulfilled - self.firm)

    @property
    def is_loose(self) -> bool:
        """Does it hold together only until it has started?"""
        return self._counts()[2]

    @property
    def places_together(self) -> bool:
        """Are its next tasks placed all at once? The only task of one workload is placed like any other task."""
        return self.short > (1 if self.is_solo else 0)

    @property
    def leader(self) -> Work | None:
        """The member that stands in the queue for all, if enough tasks could start."""
        if self.tasks < self.least:
            return None
        ready = [work for work in self.members.values() if work.is_ready]
        enough = sum([work.at_once for work in ready]) >= self.short
        return ready[0] if ready and enough else None

    def may_queue(self, work: Work) -> bool:
        """May this member stand in the queue?"""
        if self.tasks < self.members[work.id].terms.group_min:  # by far the quickest answer while members arrive
            return False
        return not self.short or self.leader is work

    def parts(self) -> list[GroupPart]:
        """The tasks that have to start together now, in order of rank."""
        left = self.short
        found = []
        for work in self.members.values():
            if left and work.is_ready:
                replicas = sorted(work.waiting)[: min(left, work.at_once)]
                left -= len(replicas)
                found.append(GroupPart(work, replicas))
        return found

    def short_of(self, work: Work) -> int:
        """How many tasks with the shape of this member must find a node together."""
        short = self.short
        if not short or self.is_solo:
            return short
        return sum([len(part.replicas) for part in self.parts() if part.work.shape == work.shape])

    def notes(self) -> list[int]:
        """What a restart has to know."""
        return [self.gone_tasks, self.gone_succeeded, self.gone_lost, self.gone_failed]

    def recall(self, notes: list[int]) -> None:
        """The inverse of `notes`; every member carries them."""
        self.tasks += notes[0] - self.gone_tasks
        self.gone_tasks, self.gone_succeeded, self.gone_lost, self.gone_failed = notes
