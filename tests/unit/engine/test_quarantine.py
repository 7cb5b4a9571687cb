"""Nodes on which placements keep failing get nothing for a while, say so, and are tried again. What a workload causes
counts against the workload, never against a node."""

from typing import Any

import pytest
from tests.unit.engine.scene import Scene

from dovetail.model.command import attempt_key
from dovetail.model.event import BindFailed, NodeCordoned, TaskBound, TaskFinished
from dovetail.model.failure_cause import FailureCause
from dovetail.model.task import TaskId, TaskState, WorkloadState

QUARANTINE: dict[str, Any] = {
    "quarantine": {"failures": 3, "pause": 60, "most": 150},
    "max_bind_failures": 100,
    "backoff": {"first": 0.1, "most": 0.1, "jitter": 0},
}


NODE, UNKNOWN, WORKLOAD, BACKEND = (
    FailureCause.NODE,
    FailureCause.UNKNOWN,
    FailureCause.WORKLOAD,
    FailureCause.BACKEND,
)


def refuse(scene: Scene, name: str, replica: int = 0, cause: FailureCause = NODE, words: str = "disk full") -> None:
    task = TaskId(scene.ids[name], replica)
    scene.hear(BindFailed(task, attempt_key(task, scene.work(name).task(replica).attempt), words, cause))


def fail_on(scene: Scene, name: str, times: int, cause: FailureCause = NODE) -> None:
    for _ in range(times):
        assert scene.tick(0.2) == [f"{name}.0"]
        refuse(scene, name, cause=cause)


def test_a_node_on_which_placements_keep_failing_gets_nothing_for_a_while_and_says_so() -> None:
    scene = Scene(**QUARANTINE)
    scene.join("bad")
    scene.submit("w")
    fail_on(scene, "w", 3)
    words = "quarantined for 1m: 3 placements of default/w failed there, last: disk full"
    assert scene.notebook.nodes["bad"].reason == words
    assert scene.tick(1) == []
    assert "1 quarantined" in scene.why("w")[1] or "quarantine" in scene.why("w")[1]
    assert scene.tick(58) == []
    assert scene.tick(1.2) == ["w.0"]
    assert scene.notebook.nodes["bad"].reason == ""


def test_a_node_that_fails_its_probe_goes_back_for_longer_each_time_up_to_the_most() -> None:
    scene = Scene(**QUARANTINE)
    scene.join("bad")
    scene.submit("w")
    fail_on(scene, "w", 3)
    for pause_s, words in ((60, "1m"), (120, "2m"), (150, "2m30s"), (150, "2m30s")):
        assert f"quarantined for {words}:" in scene.notebook.nodes["bad"].reason
        assert scene.tick(pause_s - 1) == []
        assert scene.tick(2) == ["w.0"]
        refuse(scene, "w")


def test_a_placement_that_holds_lifts_the_suspicion() -> None:
    scene = Scene(**QUARANTINE)
    scene.join("n1")
    scene.submit("w")
    fail_on(scene, "w", 2)
    scene.submit("good")
    scene.tick(0.2)
    scene.started("good")
    scene.started("w")
    scene.end("w", code=0)
    scene.submit("again")
    fail_on(scene, "again", 2)
    assert scene.notebook.nodes["n1"].reason == ""
    fail_on(scene, "again", 1)
    assert "quarantined for 1m" in scene.notebook.nodes["n1"].reason


def test_work_goes_elsewhere_while_a_node_is_in_quarantine() -> None:
    scene = Scene(**QUARANTINE)
    scene.join("bad")
    scene.submit("w")
    fail_on(scene, "w", 3)
    scene.join("good")
    assert scene.tick(0.2) == ["w.0"]
    assert scene.on("w") == ["good"]


def test_a_success_on_a_node_in_quarantine_lifts_it_at_once() -> None:
    scene = Scene(**QUARANTINE)
    scene.join("n1")
    scene.submit("slow")
    scene.tick()
    scene.submit("w")
    fail_on(scene, "w", 3)
    assert scene.notebook.nodes["n1"].reason
    scene.started("slow")
    assert scene.notebook.nodes["n1"].reason == ""
    assert scene.tick(0.2) == ["w.0"]


def test_a_node_that_left_takes_its_quarantine_with_it() -> None:
    scene = Scene(**QUARANTINE)
    scene.join("n1")
    scene.submit("w")
    fail_on(scene, "w", 3)
    scene.leave("n1")
    scene.join("n1")
    assert scene.tick(0.2) == ["w.0"]
    scene.tick(1000)


def test_uncordon_ends_a_quarantine_at_once() -> None:
    scene = Scene(**QUARANTINE)
    scene.join("bad")
    scene.submit("w")
    fail_on(scene, "w", 3)
    assert scene.tick(1) == []
    scene.hear(NodeCordoned("bad", False, ""))
    assert scene.tick(0.2) == ["w.0"]
    refuse(scene, "w")
    assert scene.tick(0.2) == ["w.0"], "one more failure is the first of a new count"


# --- whose fault it is -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cause", [WORKLOAD, BACKEND, UNKNOWN])
def test_one_workload_cannot_take_a_node_from_the_others(cause: FailureCause) -> None:
    scene = Scene(**QUARANTINE)
    scene.join("n1", cpu=10)
    scene.submit("typo", replicas=5)
    for _ in range(20):
        for task in scene.tick(10):
            refuse(scene, "typo", int(task.rpartition(".")[2]), cause)
    assert scene.notebook.nodes["n1"].reason == ""
    scene.submit("other", namespace="neighbours")
    assert "other.0" in scene.tick(10)


def test_one_owner_with_many_workloads_cannot_take_a_node_from_the_others() -> None:
    scene = Scene(**QUARANTINE)
    scene.join("n1", cpu=20)
    for number in range(10):
        scene.submit(f"typo-{number}", namespace="careless")
    for _ in range(4):
        for task in scene.tick(10):
            refuse(scene, task.removesuffix(".0"), cause=UNKNOWN)
    assert scene.notebook.nodes["n1"].reason == ""


def test_what_workloads_of_several_owners_meet_counts_against_the_node() -> None:
    scene = Scene(**QUARANTINE)
    scene.join("bad", cpu=20)
    for name, namespace in (("a", "one"), ("b", "one"), ("c", "two")):
        assert scene.notebook.nodes["bad"].reason == ""
        scene.submit(name, namespace=namespace)
        scene.tick(0.01)
        refuse(scene, name, cause=UNKNOWN, words="oci runtime error")
    words = "quarantined for 1m: 3 placements of two/c, one/b, one/a failed there, last: oci runtime error"
    assert scene.notebook.nodes["bad"].reason == words


def test_failures_of_unknown_cause_do_not_count_where_others_start() -> None:
    scene = Scene(**QUARANTINE)
    scene.join("n1", cpu=20)
    for name, namespace in (("a", "one"), ("b", "two"), ("c", "three"), ("d", "four"), ("e", "five")):
        scene.submit(name, namespace=namespace)
        scene.tick(0.01)
        refuse(scene, name, cause=UNKNOWN)
        scene.run(f"fine-{name}", namespace=namespace)
    assert scene.notebook.nodes["n1"].reason == ""


def test_a_bind_alone_does_not_show_that_a_node_works() -> None:
    """Backends that accept first and refuse later: the node has to be found out all the same."""
    scene = Scene(**QUARANTINE)
    scene.join("bad", cpu=20)
    scene.submit("w")
    for _ in range(3):
        assert scene.tick(0.2) == ["w.0"]
        task = TaskId(scene.ids["w"], 0)
        scene.hear(TaskBound(task, attempt_key(task, scene.work("w").task(0).attempt)))
        refuse(scene, "w")
    assert "quarantined" in scene.notebook.nodes["bad"].reason


def test_a_task_that_its_node_could_not_start_counts_however_the_backend_reports_it() -> None:
    scene = Scene(**QUARANTINE)
    scene.join("bad", cpu=20)
    scene.submit("w", replicas=3)
    for task in sorted(scene.tick()):
        id_ = TaskId(scene.ids["w"], int(task.rpartition(".")[2]))
        scene.hear(TaskFinished(id_, attempt_key(id_, 1), 126, "its limits could not be applied", NODE))
    assert "3 placements of default/w failed there" in scene.notebook.nodes["bad"].reason


def test_old_failures_are_forgotten() -> None:
    scene = Scene(**(QUARANTINE | {"quarantine": {"failures": 3, "window": 100}}))
    scene.join("n1")
    scene.submit("w")
    fail_on(scene, "w", 2)
    scene.now += 101
    fail_on(scene, "w", 2)
    assert scene.notebook.nodes["n1"].reason == ""
    fail_on(scene, "w", 1)
    assert "quarantined" in scene.notebook.nodes["n1"].reason


# --- what the workload gets ------------------------------------------------------------------------------------


def test_a_workload_that_is_refused_for_its_own_fault_backs_off_and_fails_as_a_whole() -> None:
    scene = Scene(backoff={"first": 1, "jitter": 0}, max_bind_failures=3)
    for number in range(4):
        scene.join(f"n{number}", cpu=1)
    scene.submit("typo", replicas=6)
    words, binds = "image reg/x:typo does not exist; correct run.image", 0
    while scene.ids["typo"] in scene.engine._state.work:
        for task in scene.tick(1):
            binds += 1
            refuse(scene, "typo", int(task.rpartition(".")[2]), WORKLOAD, words)
            if scene.ids["typo"] not in scene.engine._state.work:
                break
    record = scene.record("typo")
    assert record.state is WorkloadState.FAILED
    assert record.message == f"task 0: registered refused it 3 times: {words}"
    assert binds <= 3 * 6
    assert {live.state for live in scene.notebook.tasks.values()} <= {TaskState.FAILED, TaskState.CANCELLED}
    assert all(scene.notebook.nodes[f"n{number}"].reason == "" for number in range(4))


def test_tasks_that_run_are_not_stopped_because_another_of_the_workload_is_refused() -> None:
    scene = Scene(backoff={"first": 1, "jitter": 0}, max_bind_failures=2)
    scene.join("n1", cpu=1)
    scene.submit("w", replicas=2)
    scene.tick()
    scene.started("w")
    scene.join("n2", cpu=1)
    for _ in range(2):
        assert scene.tick(5) == ["w.1"]
        refuse(scene, "w", 1, WORKLOAD)
    assert scene.work("w").task(0).state is TaskState.RUNNING
    assert scene.work("w").task(1).state is TaskState.FAILED


def test_what_passes_by_itself_is_waited_out_however_often_it_comes() -> None:
    scene = Scene(backoff={"first": 1, "most": 300, "jitter": 0}, max_bind_failures=3)
    scene.join("n1")
    scene.submit("w")
    for _ in range(12):
        assert scene.tick(8.1) == ["w.0"], "it waits no longer than 8 s"
        refuse(scene, "w", cause=BACKEND, words="the controller restarts")
    assert scene.why("w") == ("bind_failed", "the controller restarts; tried again in 8.0 s")
    assert scene.tick(8.1) == ["w.0"]
    scene.started("w")
    assert scene.work("w").task(0).state is TaskState.RUNNING


def test_failures_of_workloads_do_not_count_in_the_history_of_a_node() -> None:
    scene = Scene()
    scene.join("n1")
    for cause, failed in ((WORKLOAD, 0), (UNKNOWN, 1)):
        scene.run(cause)
        task = TaskId(scene.ids[cause], 0)
        scene.hear(TaskFinished(task, attempt_key(task, 1), 127, "command not found", cause))
        assert scene.engine._state.cluster.outcomes("n1").failed == pytest.approx(failed)
