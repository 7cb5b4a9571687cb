"""A small stage for tests of the engine: nodes and workloads by name, a clock that is turned by hand, a notebook.

After every event the tables must agree and no workload may be lost between the places where it can wait; a test of much
work checks that when it wants to. Backends do what a test says: nothing starts, stops or ends by itself.
"""

from typing import Any

from tests.invariants import check_invariants, check_work
from tests.simulation.notebook import Notebook

from dovetail.engine.engine import Engine
from dovetail.engine.settings import EngineSettings
from dovetail.engine.state.live_task import LiveTask
from dovetail.engine.state.work import Work
from dovetail.model.command import Bind, Command, Stop, Wake, attempt_key
from dovetail.model.event import (
    CancelAsked,
    Event,
    NodeJoined,
    NodeLeft,
    Submitted,
    TaskBound,
    TaskFinished,
    TaskStarted,
    Tick,
)
from dovetail.model.node import Node
from dovetail.model.record import AttemptRecord, Decision, WorkloadRecord
from dovetail.model.task import TaskId, TaskState
from dovetail.model.workloads.workload import Condition, Workload


class Scene:
    def __init__(self, **settings: Any) -> None:
        self.settings = EngineSettings.model_validate(settings)
        self.engine = Engine(self.settings)
        self.notebook = Notebook()
        self.now = 0.0
        self.ids: dict[str, int] = {}
        self.decisions: list[Decision] = []
        self.attempts: list[AttemptRecord] = []
        self.stops: list[Stop] = []
        self.wakes: list[float] = []
        self.checks_after_events = True

    # --- what happens ----------------------------------------------------------------------------------------

    def hear(self, event: Event) -> list[Command]:
        commands = self.engine.handle(event, self.now)
        if self.checks_after_events:
            self.check()
        if isinstance(event, Submitted):
            self.notebook.submitted(self.engine, event.workload, event.spec, self.now)
        changes = self.engine.take_changes(self.now)
        self.notebook.write(changes)
        self.decisions += changes.decisions
        self.attempts += changes.attempts
        self.stops += [command for command in commands if isinstance(command, Stop)]
        self.wakes += [command.at for command in commands if isinstance(command, Wake)]
        return commands

    def join(self, name: str, cpu: float = 4, **more: Any) -> None:
        capacity = {"cpu": cpu, "memory": "64GiB"} | more.pop("capacity", {})
        self.hear(NodeJoined(Node.model_validate({"name": name, "capacity": capacity, **more})))

    def leave(self, name: str) -> None:
        self.hear(NodeLeft(name, "sold"))

    def submit(self, name: str, cpu: float = 1, after: dict[str, str] | None = None, **fields: Any) -> int:
        """Not decided yet."""
        spec = {"name": name, "resources": {"cpu": cpu}, "after": [{"workload": n} for n in after or {}]} | fields
        id_ = self.ids[name] = len(self.ids) + 1
        live = [(self.ids[n], Condition(c)) for n, c in (after or {}).items() if self.ids[n] in self.engine._state.work]
        self.hear(Submitted(id_, Workload.model_validate(spec), tuple(live)))
        return id_

    def tick(self, seconds: float = 0.0) -> list[str]:
        """Time passes and everything is decided that can be; what was placed, as `name.replica`."""
        self.now += seconds
        commands = self.hear(Tick(10_000))
        for _ in range(1000):
            if not self.engine.busy:
                return [self.name_of(command.task) for command in commands if isinstance(command, Bind)]
            commands += self.hear(Tick(10_000))
        raise AssertionError("it never comes to rest")

    def run(self, name: str, cpu: float = 1, **fields: Any) -> None:
        """Submitted, placed whole and running."""
        self.submit(name, cpu, **fields)
        placed = self.tick()
        assert len(placed) == self.work(name).replicas, f"only {placed} of {name} were placed"
        self.started(name)

    def started(self, name: str) -> None:
        for task, live in self._tasks(name):
            if live.state in (TaskState.PLACED, TaskState.BOUND):
                self.hear(TaskBound(task, attempt_key(task, live.attempt)))
                self.hear(TaskStarted(task, attempt_key(task, live.attempt)))

    def end(self, name: str, replica: int = 0, code: int | None = 0) -> None:
        task = TaskId(self.ids[name], replica)
        live = self.work(name).task(replica)
        reason = "lost" if code is None else f"exit status {code}"
        self.hear(TaskFinished(task, attempt_key(task, live.attempt), code, reason))

    def end_all(self, name: str, code: int | None = 0) -> None:
        for task, live in self._tasks(name):
            if live.state.holds_node:
                self.end(name, task.replica, code)

    def stopped(self, *names: str) -> None:
        """Those that were told to stop have done so; everybody's if nobody is named."""
        for name in names or [work.name for work in self.engine._state.work.values()]:
            for task, live in self._tasks(name):
                if live.state is TaskState.STOPPING:
                    self.hear(TaskFinished(task, attempt_key(task, live.attempt), None, "stopped"))

    def cancel(self, name: str) -> None:
        self.hear(CancelAsked(self.ids[name], "changed my mind"))

    def restart(self) -> None:
        self.engine = Engine(self.settings)
        self.engine.restore(self.notebook.snapshot())
        self.check()

    def check(self) -> None:
        check_invariants(self.engine._state.cluster)
        check_work(self.engine._state.work.values())

    # --- what can be seen ------------------------------------------------------------------------------------

    def work(self, name: str) -> Work:
        return self.engine._state.work[self.ids[name]]

    def record(self, name: str) -> WorkloadRecord:
        """What was last written down about it."""
        return self.notebook.workloads[self.ids[name]]

    def why(self, name: str) -> tuple[str, str]:
        return self.record(name).reason, self.record(name).message

    def on(self, name: str) -> list[str]:
        """The nodes that its tasks hold, sorted."""
        return sorted(live.node for _, live in self._tasks(name) if live.state.holds_node and live.node is not None)

    def stopping(self) -> list[str]:
        return sorted(self.name_of(task) for task in self.engine._state.stopping)

    def name_of(self, task: TaskId) -> str:
        return f"{next(name for name, id_ in self.ids.items() if id_ == task.workload)}.{task.replica}"

    def _tasks(self, name: str) -> list[tuple[TaskId, LiveTask]]:
        work = self.engine._state.work.get(self.ids[name])
        if work is None:
            return []
        return [(TaskId(work.id, replica), live) for replica, live in sorted(work.tasks.items())]
