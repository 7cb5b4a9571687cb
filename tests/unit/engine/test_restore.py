"""What a restart must not change: retries used up, the rows of nodes, their outcomes, whose turn it is.

The engine goes through the same notebook as in the simulations; what the store keeps is the store's contract.
"""

from tests.invariants import check_invariants
from tests.simulation.notebook import Notebook

from dovetail.engine.engine import Engine
from dovetail.engine.settings import EngineSettings
from dovetail.model.batch import Changes
from dovetail.model.command import Bind
from dovetail.model.event import BindFailed, Event, NodeJoined, NodeLeft, Submitted, TaskBound, TaskFinished, Tick
from dovetail.model.node import Node
from dovetail.model.record import Outcomes
from dovetail.model.task import TaskId, TaskState
from dovetail.model.workloads.workload import Workload
from dovetail.queueing.settings import BackoffSettings

IN_TURN = EngineSettings(default_profile="round_robin")


class Restartable:
    """An engine that writes down every change, and starts again from that when asked."""

    def __init__(self, settings: EngineSettings | None = None) -> None:
        self.settings = settings or EngineSettings()
        self.engine = Engine(self.settings)
        self.notebook = Notebook()

    def tell(self, event: Event) -> Changes:
        self.bound = [command for command in self.engine.handle(event, 1.0) if isinstance(command, Bind)]
        if isinstance(event, Submitted):
            self.notebook.submitted(self.engine, event.workload, event.spec, 1.0)
        changes = self.engine.take_changes(1.0)
        self.notebook.write(changes)
        return changes

    def join(self, *names: str) -> None:
        for name in names:
            self.tell(NodeJoined(Node.model_validate({"name": name, "capacity": {"cpu": 64, "memory": "64GiB"}})))

    def leave(self, name: str) -> None:
        self.tell(NodeLeft(name, "sold"))

    def submit(self, id_: int = 1, **more: object) -> None:
        fields = {"name": f"w{id_}", "resources": {"cpu": 1}, **more}
        self.tell(Submitted(id_, Workload.model_validate(fields)))

    def place(self) -> Bind:
        self.tell(Tick(100))
        (bind,) = self.bound
        return bind

    def place_another(self) -> str:
        self.submit(max(self.notebook.specs, default=0) + 1)
        return self.place().node

    def restart(self) -> None:
        self.engine = Engine(self.settings)
        self.engine.restore(self.notebook.snapshot())
        check_invariants(self.engine._state.cluster)

    def state(self) -> TaskState:
        return self.notebook.tasks[TaskId(1, 0)].state


def test_a_restart_gives_a_failing_task_no_more_retries_than_it_asked_for() -> None:
    world = Restartable(EngineSettings(backoff=BackoffSettings(first=0)))
    world.join("n1")
    world.submit(retries=2)
    for _ in range(3):
        bind = world.place()
        world.restart()
        world.tell(TaskFinished(bind.task, bind.key, 1, "exit status 1"))
        world.restart()
    assert world.state() is TaskState.FAILED
    assert world.notebook.tasks[TaskId(1, 0)].failures == 2


def test_a_restart_gives_a_refused_task_no_more_attempts_than_the_settings_allow() -> None:
    world = Restartable(EngineSettings(max_bind_failures=2, backoff=BackoffSettings(first=0)))
    world.join("n1")
    world.submit()
    for expected in (TaskState.PENDING, TaskState.FAILED):
        bind = world.place()
        world.tell(BindFailed(bind.task, bind.key, "no such image"))
        assert world.state() is expected
        world.restart()
    assert "refused it 2 times" in world.notebook.tasks[TaskId(1, 0)].message


def test_refusals_forgiven_before_a_restart_stay_forgiven() -> None:
    world = Restartable(EngineSettings(max_bind_failures=2, backoff=BackoffSettings(first=0)))
    world.join("n1")
    world.submit(retries=1)
    bind = world.place()
    world.tell(BindFailed(bind.task, bind.key, "busy"))
    bind = world.place()
    world.tell(TaskBound(bind.task, bind.key))
    world.tell(TaskFinished(bind.task, bind.key, 1, "exit status 1"))
    world.restart()
    bind = world.place()
    world.tell(BindFailed(bind.task, bind.key, "busy"))
    assert world.state() is TaskState.PENDING


def test_nodes_keep_their_rows_so_ties_go_to_the_same_node() -> None:
    world = Restartable()
    world.join("zoe", "ann", "bob")
    world.restart()
    assert world.engine._state.cluster.rows == {"zoe": 0, "ann": 1, "bob": 2}
    assert world.place_another() == "zoe"


def test_a_node_that_joins_after_a_restart_gets_the_row_it_would_have_got_before() -> None:
    world = Restartable()
    world.join("a", "b", "c", "d", "e")
    for name in ("d", "b", "e"):
        world.leave(name)
    world.restart()
    assert world.engine._state.cluster.rows == {"a": 0, "c": 2}
    world.join("f", "g", "h")
    assert world.engine._state.cluster.rows == {"a": 0, "f": 1, "c": 2, "g": 3, "h": 4}


def test_choosing_in_turn_goes_on_where_it_was() -> None:
    world = Restartable(IN_TURN)
    world.join("a", "b", "c")
    chosen = []
    for _ in range(5):
        chosen.append(world.place_another())
        world.restart()
    assert chosen == ["a", "b", "c", "a", "b"]


def test_choosing_in_turn_goes_on_after_a_node_that_has_left() -> None:
    world = Restartable(IN_TURN)
    world.join("a", "b", "c")
    assert [world.place_another(), world.place_another()] == ["a", "b"]
    world.tell(TaskFinished(TaskId(2, 0), "2.0.1", 0, ""))
    world.leave("b")
    world.restart()
    assert world.place_another() == "c"


def test_a_cursor_is_recorded_only_when_it_moved_and_only_where_nodes_are_chosen_in_turn() -> None:
    world = Restartable(IN_TURN)
    world.join("a", "b")
    world.submit(1)
    assert world.tell(Tick(100)).cursors == {"round_robin": 0}
    assert world.tell(Tick(100)).cursors == {}
    world.submit(2, profile="balanced")
    assert world.tell(Tick(100)).cursors == {}
    world.restart()
    assert not world.engine.take_changes(1.0)


def test_how_tasks_ended_on_a_node_is_remembered_and_counting_goes_on() -> None:
    world = Restartable()
    world.join("a")
    for id_, exit_code in ((1, 0), (2, 7), (3, 0)):
        world.place_another()
        world.tell(TaskFinished(TaskId(id_, 0), f"{id_}.0.1", exit_code, ""))
        world.restart()
        assert not world.engine.take_changes(1.0)
    assert world.engine._state.cluster.outcomes("a")[:2] == (2, 1)


def test_outcomes_of_a_node_that_is_not_there_are_ignored() -> None:
    world = Restartable()
    world.join("a")
    world.notebook.outcomes["b"] = Outcomes(4, 4)
    world.restart()
    assert world.engine._state.cluster.outcomes("a") == Outcomes(0, 0)


def test_the_cursor_of_a_profile_that_is_gone_is_ignored() -> None:
    world = Restartable(EngineSettings.model_validate({"profiles": {"turns": {"select": "round_robin"}}}))
    world.join("a", "b")
    world.submit(1, profile="turns")
    world.place()
    world.tell(TaskFinished(TaskId(1, 0), "1.0.1", 0, ""))
    world.settings = EngineSettings()
    world.restart()
    assert world.engine._state.pipelines["round_robin"].cursor == -1
