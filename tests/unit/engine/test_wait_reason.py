"""Work that waits outside the pending queue says what holds it back, and the cause that is named is the true one."""

from typing import Any

from tests.unit.engine.scene import Scene

from dovetail.engine.pieces import whole
from dovetail.engine.questions.questions import Questions
from dovetail.engine.suggestions.suggestions import Impasse, impasse
from dovetail.model.workloads.workload import Workload

QUEUES: dict[str, Any] = {"queues": {"team": {"maximum": {"cpu": 16}}}}


def waiting(scene: Scene, name: str) -> tuple[int | None, str, str]:
    questions = Questions(scene.engine).queues
    found = next(one for one in questions.pending(100, scene.now) if one.name == name)
    assert questions.wait_reason(scene.ids[name], scene.now) == (found.reason, found.message)
    return found.position, found.reason, found.message


def test_work_at_its_own_limit_is_listed_and_names_the_limit() -> None:
    scene = Scene()
    scene.join("n1", cpu=8)
    scene.submit("w", replicas=6, concurrency=2)
    assert len(scene.tick()) == 2
    words = "its own limit of 2 running tasks is reached (concurrency: 2)"
    assert waiting(scene, "w") == (None, "concurrency", words)
    assert Questions(scene.engine).queues.total == 1


def test_work_that_waits_for_its_next_try_says_when() -> None:
    scene = Scene(backoff={"first": 30, "most": 30, "jitter": 0})
    scene.join("n1", cpu=8)
    scene.run("w", retries=3)
    scene.end("w", code=1)
    scene.tick(10)
    message = "1 task failed and will be tried again, the next in 20 s"
    assert waiting(scene, "w") == (None, "retry_delayed", message)


def test_a_group_that_is_not_complete_says_what_is_missing() -> None:
    scene = Scene()
    scene.join("n1", cpu=8)
    scene.submit("w", gang={"group": "g", "min": 3})
    scene.tick()
    message = "group g has 1 of the 3 tasks that start together; submit the others"
    assert waiting(scene, "w") == (None, "group_incomplete", message)


def test_work_that_does_not_wait_has_no_reason() -> None:
    scene = Scene()
    scene.join("n1", cpu=8)
    scene.run("w")
    assert Questions(scene.engine).queues.wait_reason(scene.ids["w"], scene.now) is None


# --- nodes or queue --------------------------------------------------------------------------------------------


def asked(scene: Scene, **fields: Any) -> Impasse:
    spec = Workload.model_validate({"name": "w", "queue": "team", **fields})
    return whole(impasse(scene.engine._state, spec, None, scene.now))


def test_nodes_are_named_where_they_stop_it_before_its_queue_does() -> None:
    scene = Scene(**QUEUES)
    for name in ("n1", "n2"):
        scene.join(name, cpu=8, capacity={"gpu": 1})
    found = asked(scene, replicas=8, resources={"cpu": 4, "gpu": 1})
    assert found.waits_for == "free capacity for more: 2 of 8 tasks fit at once"


def test_the_queue_is_named_where_it_stops_it_and_can_be_waited_for() -> None:
    scene = Scene(**QUEUES)
    for number in range(4):
        scene.join(f"n{number}", cpu=8)
    found = asked(scene, replicas=8, resources={"cpu": 4})
    assert found.waits_for == "queue team: cpu 16 of 16 in use, 4 asked"


def test_a_plan_over_its_quota_names_the_nodes_that_refuse_it_too() -> None:
    scene = Scene(**QUEUES)
    scene.join("n1", cpu=20)
    scene.run("other", cpu=16, queue="team")
    plans = Questions(scene.engine).plans
    spec = {"name": "w", "queue": "team", "resources": {"cpu": 8}}
    [task] = whole(plans.plan(Workload.model_validate(spec)))
    assert task.explanation.outcome == "over_quota"
    assert task.explanation.message.startswith("cpu short by 4 on n1, the only node")
    assert task.explanation.message.endswith("; and queue team: cpu 16 of 16 in use, 8 asked")
    [task] = whole(plans.plan(Workload.model_validate(spec | {"resources": {"cpu": 2}})))
    assert task.explanation.message == "queue team: cpu 16 of 16 in use, 2 asked"
