"""An engine, a backend that may misbehave in every way its contract allows, and a store, on a virtual clock.

The backend is honest: it never says that something ended while it runs. But it answers late, in any order between
keys, more than once, and forgets to say things until it is asked again after a restart.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.invariants import check_invariants, check_work
from tests.simulation.notebook import Notebook

from dovetail.engine.engine import Engine
from dovetail.engine.questions.questions import Questions
from dovetail.engine.settings import EngineSettings
from dovetail.model.command import Bind, Command, Stop, attempt_key
from dovetail.model.event import (
    BackendHealthChanged,
    BindFailed,
    CancelAsked,
    Event,
    NodeCordoned,
    NodeDrained,
    NodeHealthChanged,
    NodeJoined,
    NodeLeft,
    ReservationMade,
    ReservationReleased,
    Submitted,
    TaskBound,
    TaskFinished,
    TaskStarted,
    Tick,
)
from dovetail.model.node import Node
from dovetail.model.reason import Outcome
from dovetail.model.reservation import Reservation
from dovetail.model.resources import ResourceRequest
from dovetail.model.task import TaskId, TaskState
from dovetail.model.workloads.workload import Workload

BACKENDS = ("alpha", "beta")
MOST_TICKS = 500
NODES = tuple(f"n{index}" for index in range(8))


@dataclass
class Attempt:
    """What the backend has under a key."""

    task: TaskId
    node: str
    state: str = "asked"  # asked, bound, running, ended
    end: TaskFinished | BindFailed | None = None


@dataclass
class FaultyWorld:
    settings: EngineSettings = field(default_factory=EngineSettings)
    now: float = 1000.0

    def __post_init__(self) -> None:
        self.engine = Engine(self.settings)
        self.notebook = Notebook()
        self.attempts: dict[str, Attempt] = {}
        self.down: set[str] = set()
        self.cancelled: set[int] = set()
        self.commands: list[tuple[float, Command]] = []
        self.heard: list[tuple[float, Event]] = []
        self.next_workload = 1
        self.next_reservation = 1
        self.capacity_may_shrink = False

    # --- events in, commands out -----------------------------------------------------------------------------

    def tell(self, *events: Event) -> None:
        """One turn of a control loop: events, what they lead to, and what changed, written down."""
        for event in events:
            self.heard.append((self.now, event))
            self._carry_out(self.engine.handle(event, self.now))
            if isinstance(event, Submitted):
                self.notebook.submitted(self.engine, event.workload, event.spec, self.now)
            self.check()
        self.notebook.write(self.engine.take_changes(self.now))
        self.check()

    def decide(self) -> None:
        for _ in range(MOST_TICKS):
            if not self.engine.busy:
                return
            self.tell(Tick(1000))
        raise AssertionError("it decides for ever and comes to nothing")

    def _carry_out(self, commands: list[Command]) -> None:
        for command in commands:
            self.commands.append((self.now, command))
            if isinstance(command, Bind):
                assert command.task.workload not in self.cancelled, f"{command.task} starts after it was cancelled"
                assert command.key not in self.attempts, f"{command.key} is bound twice"
                assert not self._alive(command.task), f"{command.task} would run twice"
                self.attempts[command.key] = Attempt(command.task, command.node)
            elif isinstance(command, Stop):
                self._stop(command)

    def _alive(self, task: TaskId) -> list[str]:
        return [key for key, found in self.attempts.items() if found.task == task and found.state != "ended"]

    def _stop(self, command: Stop) -> None:
        """The backend ends it at once; when it says so is another matter."""
        found = self.attempts[command.key]
        if found.end is None:
            found.end = TaskFinished(found.task, command.key, None, command.reason)
        found.state = "ended"

    # --- what the backend does -------------------------------------------------------------------------------

    def live(self) -> list[str]:
        return [key for key, found in self.attempts.items() if found.end is None]

    def go_on(self, key: str) -> None:
        """One step of an attempt: accepted, started, or ended well."""
        found = self.attempts[key]
        if found.state == "asked":
            found.state = "bound"
            self.tell(TaskBound(found.task, key))
        elif found.state == "bound":
            found.state = "running"
            self.tell(TaskStarted(found.task, key))
        elif found.state == "running":
            self.end(key, 0)

    def end(self, key: str, exit_code: int | None) -> None:
        found = self.attempts[key]
        found.end = TaskFinished(
            found.task, key, exit_code, "lost" if exit_code is None else f"exit status {exit_code}"
        )
        found.state = "ended"
        self.tell(found.end)

    def refuse(self, key: str) -> None:
        found = self.attempts[key]
        if found.state == "asked":
            found.end, found.state = BindFailed(found.task, key, "no"), "ended"
            self.tell(found.end)

    def say_again(self, key: str) -> None:
        """Whatever it last knew of an attempt, old or new."""
        found = self.attempts[key]
        if found.end is not None:
            self.tell(found.end)
        elif found.state == "running":
            self.tell(TaskStarted(found.task, key), TaskBound(found.task, key))

    def settle(self) -> None:
        """Everybody answers, everything that can run does, until nothing moves any more."""
        for backend in BACKENDS:
            self.answers(backend, True)
        for name in list(self.engine._state.cluster.rows):
            self.tell(NodeHealthChanged(name, True, ""), NodeCordoned(name, False, ""))
        for _ in range(10_000):
            self.decide()
            unsaid = [key for key, found in self.attempts.items() if found.end is not None and self._waits_for(key)]
            moving = unsaid or self.live()
            if not moving:
                later = self.engine._state.timers.next
                if later is None:
                    self.check()
                    return
                self.now = max(self.now, later)
                self.tell(Tick(1000))
            for key in moving:
                self.say_again(key) if unsaid else self.go_on(key)
        raise AssertionError("it never settles")

    def _waits_for(self, key: str) -> bool:
        """The engine still thinks that this attempt holds a node."""
        found = self.attempts[key]
        work = self.engine._state.work.get(found.task.workload)
        live = work.tasks.get(found.task.replica) if work is not None else None
        return live is not None and live.state.holds_node and attempt_key(found.task, live.attempt) == key

    # --- what people do --------------------------------------------------------------------------------------

    def submit(self, spec: Workload) -> None:
        if (spec.namespace, spec.name) in self.engine._state.cluster.placements.directory:
            return
        self.tell(Submitted(self.next_workload, spec))
        self.next_workload += 1

    def cancel(self, id_: int) -> None:
        if id_ in self.engine._state.work:
            self.cancelled.add(id_)
        self.tell(CancelAsked(id_, "changed my mind"))

    def join(self, node: Node) -> None:
        self.capacity_may_shrink |= node.name in self.engine._state.cluster.rows
        self.tell(NodeJoined(node))

    def leave(self, name: str) -> None:
        self.tell(NodeLeft(name, "sold"))

    def health(self, name: str, online: bool) -> None:
        self.tell(NodeHealthChanged(name, online, "" if online else "silent"))

    def cordon(self, name: str, on: bool) -> None:
        self.tell(NodeCordoned(name, on, "maintenance"))

    def drain(self, name: str) -> None:
        self.tell(NodeDrained(name, "maintenance"))

    def answers(self, backend: str, available: bool) -> None:
        (self.down.discard if available else self.down.add)(backend)
        self.tell(BackendHealthChanged(backend, available, ""))

    def reserve(self, name: str, cpu: int, seconds: float) -> None:
        wanted = Reservation(node=name, resources=ResourceRequest(cpu=cpu / 1000), duration=seconds, holder="ops")
        self.tell(ReservationMade(self.next_reservation, wanted))
        self.next_reservation += 1

    def release(self, id_: int) -> None:
        self.tell(ReservationReleased(id_))

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.tell(Tick(1000))

    def restart(self) -> None:
        """A new process: all it knows is what was written down; backends tell it what they have."""
        self.engine = Engine(self.settings)
        self.engine.restore(self.notebook.snapshot())
        self.check()
        for backend in sorted(self.down):
            self.tell(BackendHealthChanged(backend, False, ""))
        for key in [key for key in self.attempts if self._waits_for(key)]:
            self.say_again(key)

    # --- what must hold --------------------------------------------------------------------------------------

    def check(self) -> None:
        """The tables agree; each task is waiting, on a node, or ended, and only where its attempt is."""
        state = self.engine._state
        check_invariants(state.cluster, within_capacity=not self.capacity_may_shrink)
        check_work(state.work.values())
        for work in state.work.values():
            queued, parked = work.id in state.pending.queue_of(work), work.id in state.pending.blocked["default"]
            shelved = any(work.id in over for over in state.pending.over_quota.values())
            assert queued + parked + shelved <= 1, f"{work.id} stands in line twice"
            assert work.can_start == (queued or parked or shelved), f"{work.id} is lost: {work.waiting=}"
            assert work.holding == sum(live.state.holds_node for live in work.tasks.values())
            assert work.done == sum(live.state.finished for live in work.tasks.values())
            for replica in range(work.replicas):
                live = work.tasks.get(replica)
                task_state = live.state if live is not None else TaskState.PENDING
                waits = replica in work.waiting or replica in work.delayed
                assert waits == (task_state is TaskState.PENDING), f"{work.id}.{replica}"
                placement = state.cluster.placements.by_task.get(TaskId(work.id, replica))
                assert (placement is not None) == task_state.holds_node
                if live is not None and placement is not None:
                    assert state.cluster.names[placement.row] == live.node

    def check_settled(self) -> None:
        """Every accepted workload has ended, or waits, says why, and truly fits nowhere; ended ones hold nothing."""
        questions = Questions(self.engine)
        for id_ in self.notebook.specs:
            record = self.notebook.workloads[id_]
            if record.state.finished:
                assert (id_ in self.cancelled) or str(record.state) != "cancelled"
                assert all(task.state.finished for task in self.notebook.tasks_of(id_)), id_
            else:
                assert record.pending, f"{id_} neither ended nor waits: {record}"
                assert record.reason, f"{id_} waits without a reason"
                assert record.active == 0
                shape = self.engine._state.work[id_].shape
                assert questions.explanations.explain(shape).outcome != Outcome.PLACED, (
                    f"{id_} waits though there is room"
                )
        assert not self.live()
        assert not self.engine._state.cluster.placements.by_task


GPUS: list[list[dict[str, Any]]] = [
    [],
    [{"count": 2, "model": "A"}],
    [{"count": 2, "model": "A", "islands": 2}, {"count": 1, "model": "B"}],
]
GPU_ASKS: list[dict[str, Any]] = [
    *({"gpu": amount} for amount in (1, 0.3, "600m")),
    {"gpu": 2, "gpu_island": "same"},
    {"gpu": 1, "gpu_model": ["B", "A"]},
    {"gpu": 0.5, "gpu_model": "A"},
]


def some_node(chance: Random, name: str) -> Node:
    capacity = {"cpu": chance.choice([2, 4, 8]), "memory": "16GiB", "slots": chance.choice([3, 110])}
    labels = {"rack": chance.choice("ab")}
    gpus = chance.choice(GPUS)
    return Node.model_validate(
        {"name": name, "backend": chance.choice(BACKENDS), "capacity": capacity, "labels": labels, "gpus": gpus}
    )


def some_work(chance: Random, number: int) -> Workload:
    fields = {
        "name": f"w{number}",
        "priority": chance.choice(["critical", "high", "medium", "batch"]),
        "replicas": chance.choice([1, 1, 2, 5, 12]),
        "resources": {"cpu": chance.choice(["500m", 1, 2, 5, 9]), "memory": chance.choice(["1GiB", "4GiB"])}
        | (chance.choice(GPU_ASKS) if not chance.randrange(3) else {}),
        "retries": chance.choice([0, 0, 1, 3]),
        "service": chance.choice([None, None, "web"]),
        "node_selector": chance.choice([{}, {}, {}, {"rack": "a"}]),
    }
    return Workload.model_validate(fields)
