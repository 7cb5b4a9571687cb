"""The engine as a state machine: each test feeds events and looks at commands and changes."""

import pytest
from tests.invariants import check_invariants

from dovetail.engine.engine import Engine
from dovetail.engine.settings import EngineSettings, SchedulerSettings
from dovetail.engine.state.work import ForbiddenMove
from dovetail.model.batch import Changes
from dovetail.model.command import Bind, Command, Stop, Wake
from dovetail.model.event import (
    BackendHealthChanged,
    BindFailed,
    CancelAsked,
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
from dovetail.model.record import Outcomes
from dovetail.model.reservation import Reservation
from dovetail.model.resources import Capacity, ResourceRequest
from dovetail.model.task import TaskId, TaskState, WorkloadState
from dovetail.model.workloads.workload import Priority, Workload
from dovetail.placement.pipeline.profiles import UnknownProfile


def node(name: str, cpu: float = 4, **more: object) -> Node:
    return Node.model_validate({"name": name, "capacity": Capacity(cpu=cpu, memory=8 * 2**30), **more})


def work(name: str = "w", cpu: float = 1, **more: object) -> Workload:
    return Workload.model_validate({"name": name, "resources": ResourceRequest(cpu=cpu), **more})


def engine_with(*nodes: Node, settings: EngineSettings | None = None) -> Engine:
    engine = Engine(settings)
    for one in nodes:
        engine.handle(NodeJoined(one), 0.0)
    engine.take_changes(0.0)
    return engine


def tick(engine: Engine, now: float = 1.0, limit: int = 100) -> list[Command]:
    commands = engine.handle(Tick(limit), now)
    check_invariants(engine._state.cluster)
    return commands


def binds(commands: list[Command]) -> list[Bind]:
    return [command for command in commands if isinstance(command, Bind)]


def busy(engine: Engine) -> bool:
    return engine.busy


def submitted(engine: Engine, *specs: Workload) -> None:
    for id_, spec in enumerate(specs, start=1):
        engine.handle(Submitted(id_, spec), 0.0)


def state_of(changes: Changes, workload: int) -> WorkloadState:
    return next(record.state for record in changes.workloads if record.id == workload)


def test_a_submitted_workload_is_placed_bound_run_and_finished() -> None:
    engine = engine_with(node("n1"))
    submitted(engine, work())
    (bind,) = binds(tick(engine))
    assert (bind.node, bind.backend, bind.key) == ("n1", "registered", "1.0.1")
    changes = engine.take_changes(1.0)
    assert state_of(changes, 1) is WorkloadState.STARTING
    assert changes.decisions[0].node == "n1"
    engine.handle(TaskBound(bind.task, bind.key), 2.0)
    engine.handle(TaskStarted(bind.task, bind.key), 3.0)
    assert state_of(engine.take_changes(3.0), 1) is WorkloadState.RUNNING
    engine.handle(TaskFinished(bind.task, bind.key, 0, "exit status 0"), 9.0)
    changes = engine.take_changes(9.0)
    assert state_of(changes, 1) is WorkloadState.SUCCEEDED
    assert (changes.tasks[0].started_at, changes.tasks[0].finished_at) == (3.0, 9.0)
    assert not engine._state.work
    assert not engine._state.cluster.placements.by_task


def test_reports_may_repeat_and_stale_ones_are_ignored() -> None:
    engine = engine_with(node("n1"))
    submitted(engine, work(retries=1))
    (bind,) = binds(tick(engine))
    for _ in range(2):
        engine.handle(TaskStarted(bind.task, bind.key), 2.0)
    engine.handle(TaskFinished(bind.task, bind.key, 1, "exit status 1"), 3.0)
    engine.handle(TaskFinished(bind.task, bind.key, 1, "exit status 1"), 3.0)
    (again,) = binds(tick(engine, 4.0))
    assert again.key == "1.0.2"
    engine.handle(TaskFinished(bind.task, bind.key, 0, "late"), 5.0)
    assert engine._state.work[1].tasks[0].state is TaskState.PLACED


def test_what_fits_nowhere_waits_with_a_reason_and_goes_when_there_is_room() -> None:
    engine = engine_with(node("n1", cpu=2))
    submitted(engine, work("a", cpu=2), work("b", cpu=2))
    assert [bind.task.workload for bind in binds(tick(engine))] == [1]
    changes = engine.take_changes(1.0)
    waiting = next(record for record in changes.workloads if record.id == 2)
    assert waiting.reason == "insufficient_resources"
    assert "cpu short by 2" in waiting.message
    assert not busy(engine)
    engine.handle(TaskFinished(TaskId(1, 0), "1.0.1", 0, ""), 5.0)
    assert busy(engine)
    assert [bind.task.workload for bind in binds(tick(engine, 5.0))] == [2]


def test_a_waiting_workload_is_not_recorded_again_while_nothing_changes() -> None:
    engine = engine_with(node("n1", cpu=1))
    submitted(engine, work("a", cpu=2))
    tick(engine)
    assert engine.take_changes(1.0).decisions
    engine.handle(NodeJoined(node("n2", cpu=1)), 2.0)
    tick(engine, 2.0)
    assert not engine.take_changes(2.0).decisions


def test_urgent_work_goes_first_and_equals_go_in_order_of_arrival() -> None:
    engine = engine_with(node("n1", cpu=2))
    submitted(
        engine,
        work("low", priority=Priority.LOW),
        work("first", priority=Priority.HIGH),
        work("second", priority=Priority.HIGH),
    )
    assert [bind.task.workload for bind in binds(tick(engine))] == [2, 3]


def test_fifo_order_is_a_matter_of_the_profile() -> None:
    settings = EngineSettings.model_validate({"profiles": {"auto": {"order": "fifo", "scores": {}}}})
    engine = engine_with(node("n1", cpu=1), settings=settings)
    submitted(engine, work("low", priority=Priority.LOW), work("high", priority=Priority.HIGH))
    assert [bind.task.workload for bind in binds(tick(engine))] == [1]


def test_a_slice_makes_at_most_so_many_decisions() -> None:
    engine = engine_with(node("n1", cpu=64))
    submitted(engine, work(replicas=10))
    assert len(binds(tick(engine, limit=4))) == 4
    assert engine.busy
    assert len(binds(tick(engine, limit=100))) == 6


def test_cancelling_ends_what_waits_and_stops_what_runs() -> None:
    engine = engine_with(node("n1", cpu=2))
    submitted(engine, work(cpu=1, replicas=3))
    assert len(binds(tick(engine))) == 2
    stops = engine.handle(CancelAsked(1, "enough"), 2.0)
    assert [stop.key for stop in stops if isinstance(stop, Stop)] == ["1.0.1", "1.1.1"]
    assert len(engine._state.cluster.placements.by_task) == 2, "capacity is free only when the backend says so"
    for replica in (0, 1):
        engine.handle(TaskFinished(TaskId(1, replica), f"1.{replica}.1", None, "stopped"), 3.0)
    assert state_of(engine.take_changes(3.0), 1) is WorkloadState.CANCELLED
    assert not engine.busy


def test_cancelling_twice_asks_the_backend_once() -> None:
    engine = engine_with(node("n1"))
    submitted(engine, work())
    tick(engine)
    assert engine.handle(CancelAsked(1, "enough"), 2.0)
    assert not engine.handle(CancelAsked(1, "really"), 2.0)
    assert not engine.handle(CancelAsked(99, "unknown"), 2.0)


def test_a_drained_node_gives_its_work_to_others() -> None:
    engine = engine_with(node("n1"), node("n2"))
    submitted(engine, work())
    (bind,) = binds(tick(engine))
    (stop,) = engine.handle(NodeDrained(bind.node, "maintenance"), 2.0)
    assert isinstance(stop, Stop)
    assert not binds(tick(engine, 2.0)), "it must not run twice: wait until it is stopped"
    engine.handle(TaskFinished(bind.task, bind.key, None, "stopped"), 3.0)
    (again,) = binds(tick(engine, 3.0))
    assert again.node != bind.node
    assert again.key == "1.0.2"
    assert engine._state.cluster.record(bind.node).drained


def test_cancelling_what_is_being_drained_ends_it() -> None:
    engine = engine_with(node("n1"))
    submitted(engine, work())
    (bind,) = binds(tick(engine))
    engine.handle(NodeDrained("n1", "maintenance"), 2.0)
    engine.handle(CancelAsked(1, "enough"), 2.0)
    engine.handle(TaskFinished(bind.task, bind.key, None, "stopped"), 3.0)
    assert state_of(engine.take_changes(3.0), 1) is WorkloadState.CANCELLED


def test_a_node_that_left_loses_its_tasks_to_others_and_is_told_to_stop_them() -> None:
    engine = engine_with(node("n1"))
    submitted(engine, work())
    (bind,) = binds(tick(engine))
    (stop,) = engine.handle(NodeLeft("n1", "removed"), 2.0)
    assert isinstance(stop, Stop)
    assert stop.key == bind.key
    engine.handle(NodeJoined(node("n2")), 3.0)
    (again,) = binds(tick(engine, 3.0))
    assert (again.node, again.key) == ("n2", "1.0.2")
    assert engine.take_changes(3.0).nodes_gone == ["n1"]


def test_how_tasks_ended_is_counted_for_the_node_they_ran_on_and_reported_once() -> None:
    engine = engine_with(node("n1"), node("n2", cpu=1))
    submitted(engine, work(cpu=2, retries=1))
    (first,) = binds(tick(engine))
    for _ in range(2):
        engine.handle(TaskFinished(first.task, first.key, 1, "exit status 1"), 2.0)
    assert engine.take_changes(2.0).outcomes == {"n1": Outcomes(0, 1)}
    (second,) = binds(tick(engine, 3.0))
    assert engine.take_changes(3.0).outcomes == {}
    engine.handle(TaskFinished(second.task, second.key, 0, ""), 4.0)
    assert engine.take_changes(4.0).outcomes == {"n1": Outcomes(1, 1)}
    assert engine._state.cluster.outcomes("n2") == Outcomes(0, 0)


def test_a_task_that_was_stopped_or_refused_does_not_count_for_its_node() -> None:
    engine = engine_with(node("n1"))
    submitted(engine, work("stopped"), work("refused"))
    stopped, refused = binds(tick(engine))
    engine.handle(CancelAsked(1, "enough"), 2.0)
    engine.handle(TaskFinished(stopped.task, stopped.key, None, "stopped"), 3.0)
    engine.handle(BindFailed(refused.task, refused.key, "no"), 3.0)
    assert engine.take_changes(3.0).outcomes == {}
    assert engine._state.cluster.outcomes("n1") == Outcomes(0, 0)


def test_a_node_that_leaves_and_comes_back_starts_its_outcomes_from_nothing() -> None:
    engine = engine_with(node("n1"))
    submitted(engine, work())
    (bind,) = binds(tick(engine))
    engine.handle(TaskFinished(bind.task, bind.key, 0, ""), 2.0)
    engine.take_changes(2.0)
    engine.handle(NodeLeft("n1", "removed"), 3.0)
    engine.handle(NodeJoined(node("n1")), 3.0)
    changes = engine.take_changes(3.0)
    assert (changes.nodes_gone, changes.outcomes) == ([], {"n1": Outcomes(0, 0)})


def test_a_silent_node_keeps_its_tasks_but_gets_no_new_ones() -> None:
    engine = engine_with(node("n1"))
    submitted(engine, work("a"))
    tick(engine)
    engine.handle(NodeHealthChanged("n1", False, "silent for 30 s"), 2.0)
    engine.handle(Submitted(2, work("b")), 2.0)
    assert not binds(tick(engine, 2.0))
    assert engine._state.work[2].reason == "no_available_nodes"
    assert engine._state.work[1].tasks[0].state is TaskState.PLACED
    engine.handle(NodeHealthChanged("n1", True, ""), 3.0)
    assert [bind.task.workload for bind in binds(tick(engine, 3.0))] == [2]


def test_a_backend_that_does_not_answer_is_the_reason_given() -> None:
    engine = engine_with(node("n1"))
    engine.handle(BackendHealthChanged("registered", False, "timeout"), 1.0)
    submitted(engine, work())
    tick(engine)
    assert engine._state.work[1].reason == "backend_unavailable"
    engine.handle(BackendHealthChanged("registered", True, ""), 2.0)
    assert binds(tick(engine, 2.0))


def test_uncordoning_wakes_what_waited() -> None:
    engine = engine_with(node("n1"))
    engine.handle(NodeCordoned("n1", True, "upgrade"), 0.0)
    submitted(engine, work())
    assert not binds(tick(engine))
    assert "the only node is cordoned; dovetail uncordon NODE lets it take work again" in engine._state.work[1].message
    engine.handle(NodeCordoned("n1", False, ""), 2.0)
    assert binds(tick(engine, 2.0))


def test_a_failed_task_is_retried_as_often_as_asked_and_then_fails() -> None:
    engine = engine_with(node("n1"))
    submitted(engine, work(retries=2))
    for attempt in (1, 2, 3):
        (bind,) = binds(tick(engine, 10.0 * attempt))
        assert bind.key == f"1.0.{attempt}"
        engine.handle(TaskFinished(bind.task, bind.key, 7, "exit status 7"), 10.0 * attempt + 0.5)
    changes = engine.take_changes(9.0)
    assert state_of(changes, 1) is WorkloadState.FAILED
    assert changes.workloads[0].message == "task 0: exit status 7"
    assert changes.tasks[0].exit_code == 7


def test_a_task_that_the_backend_keeps_refusing_fails_with_its_words() -> None:
    engine = engine_with(node("n1"), settings=EngineSettings(max_bind_failures=2))
    submitted(engine, work())
    for moment in (1.0, 10.0):
        (bind,) = binds(tick(engine, moment))
        engine.handle(BindFailed(bind.task, bind.key, "no such image"), moment)
    changes = engine.take_changes(3.0)
    assert state_of(changes, 1) is WorkloadState.FAILED
    assert "refused it 2 times: no such image" in changes.tasks[0].message


def test_a_reservation_holds_capacity_until_its_time_is_over() -> None:
    engine = engine_with(node("n1", cpu=2))
    commands = engine.handle(
        ReservationMade(1, Reservation(node="n1", resources=ResourceRequest(cpu=2), duration=10.0)), 0.0
    )
    assert commands == [Wake(10.0)]
    submitted(engine, work(cpu=1))
    assert not binds(tick(engine, 1.0))
    assert binds(tick(engine, 10.0))
    assert engine.take_changes(10.0).reservations_gone == [1]


def test_a_released_reservation_frees_its_capacity() -> None:
    engine = engine_with(node("n1", cpu=2))
    engine.handle(ReservationMade(1, Reservation(node="n1", resources=ResourceRequest(cpu=2), duration=10.0)), 0.0)
    submitted(engine, work(cpu=1))
    assert not binds(tick(engine, 1.0))
    engine.handle(ReservationReleased(1), 2.0)
    engine.handle(ReservationReleased(1), 2.0)
    assert binds(tick(engine, 2.0))


def test_schedulers_serve_their_namespaces_on_their_nodes() -> None:
    settings = EngineSettings(
        schedulers={
            "gpu": SchedulerSettings(profile="best_fit", namespaces=["ml-*"], node_selector={"pool": "gpu"}),
        }
    )
    engine = engine_with(node("n1"), node("n2", labels={"pool": "gpu"}), settings=settings)
    submitted(engine, work("a", namespace="ml-research"), work("b", namespace="web", node_selector={"pool": "none"}))
    placed = binds(tick(engine))
    assert [(bind.task.workload, bind.node) for bind in placed] == [(1, "n2")]
    assert engine._state.work[1].shape.profile == "best_fit"
    assert engine._state.work[2].shape.scheduler == "default"


def test_an_unknown_profile_is_refused_by_name() -> None:
    engine = engine_with(node("n1"))
    with pytest.raises(UnknownProfile, match="Did you mean 'best_fit'"):
        engine.handle(Submitted(1, work(profile="best-fit")), 0.0)
    assert not engine._state.work


def test_a_task_cannot_make_a_move_that_its_table_lacks() -> None:
    engine = engine_with()
    submitted(engine, work())
    a_work = engine._state.work[1]
    with pytest.raises(ForbiddenMove, match="pending → running"):
        a_work.move(a_work.task(0), TaskState.RUNNING, "magic")


def test_ten_thousand_waiting_replicas_have_no_task_records() -> None:
    engine = engine_with()
    submitted(engine, work(replicas=10_000))
    tick(engine)
    changes = engine.take_changes(1.0)
    assert not changes.tasks
    assert changes.workloads[0].pending == 10_000
