"""GPUs one by one in the engine: who gets which, that a restart gives them back, and who has to make room."""

from typing import Any

from tests.unit.engine.scene import Scene

from dovetail.engine.pieces import whole
from dovetail.engine.questions.questions import Questions
from dovetail.model.command import Bind
from dovetail.model.event import Tick
from dovetail.model.workloads.workload import Workload


def gpus(**asked: Any) -> dict[str, Any]:
    return {"resources": {"cpu": "10m", **asked}}


def slots(scene: Scene, name: str) -> list[tuple[int, ...]]:
    return [live.devices for _, live in sorted(scene.work(name).tasks.items()) if live.state.holds_node]


def test_the_command_and_the_record_say_which_gpus() -> None:
    scene = Scene()
    scene.join("n1", gpus=[{"count": 4}])
    scene.submit("pair", **gpus(gpu=2))
    (bind,) = [command for command in scene.hear(Tick(100)) if isinstance(command, Bind)]
    assert bind.devices == (0, 1)
    assert slots(scene, "pair") == [(0, 1)]
    (decision,) = scene.decisions
    assert decision.explanation.notes == ("gpu 0, 1 of n1",)


def test_after_a_restart_shares_are_on_the_very_same_gpus() -> None:
    scene = Scene()
    scene.join("n1", gpus=[{"count": 3}])
    for name, share in (("first", 0.6), ("second", 0.5), ("third", 0.3), ("fourth", 1)):
        scene.run(name, **gpus(gpu=share))
    scene.end("first")
    scene.tick()
    before = {name: slots(scene, name) for name in ("second", "third", "fourth")}
    assert before == {"second": [(1,)], "third": [(0,)], "fourth": [(2,)]}
    free = scene.engine._state.cluster.devices.free.copy()
    scene.restart()
    assert {name: slots(scene, name) for name in before} == before
    assert (scene.engine._state.cluster.devices.free == free).all()
    scene.run("fifth", **gpus(gpu=0.7))
    assert slots(scene, "fifth") == [(0,)], "as it would have been without the restart"


def test_a_task_that_is_retried_has_no_gpu_while_it_waits() -> None:
    scene = Scene()
    scene.join("n1", gpus=[{"count": 1}])
    scene.run("flaky", retries=3, **gpus(gpu=1))
    scene.end("flaky", code=1)
    assert scene.work("flaky").task(0).devices == ()
    assert scene.engine._state.cluster.devices.whole[0] == 1.0


def test_a_gang_finds_its_gpus_together_or_waits() -> None:
    scene = Scene()
    scene.join("n1", gpus=[{"count": 2, "model": "A"}, {"count": 1, "model": "B"}])
    scene.submit("gang", replicas=2, gang={"min": 2}, **gpus(gpu=1, gpu_model="B"))
    assert scene.tick() == []
    scene.join("n2", gpus=[{"count": 1, "model": "B"}])
    assert scene.tick() == ["gang.0", "gang.1"]
    assert scene.on("gang") == ["n1", "n2"]
    assert sorted(slots(scene, "gang")) == [(0,), (2,)]


def test_nobody_gives_way_for_room_that_would_be_in_pieces() -> None:
    scene = Scene()
    scene.join("n1", gpus=[{"count": 2, "model": "A"}])
    for number, urgency in enumerate(("critical", "low", "critical", "low")):
        scene.run(f"share{number}", priority=urgency, **gpus(gpu=0.5))
    assert [slots(scene, f"share{number}") for number in range(4)] == [[(0,)], [(0,)], [(1,)], [(1,)]]
    scene.submit("whole", priority="high", **gpus(gpu=1))
    scene.tick()
    assert scene.stops == [], "two halves of two GPUs would not help"
    scene.join("n2", gpus=[{"count": 1, "model": "A"}])
    assert scene.tick() == ["whole.0"]


def test_others_give_way_on_another_node_where_the_first_would_be_in_pieces() -> None:
    scene = Scene()
    scene.join("n1", gpus=[{"count": 2, "model": "A"}])
    for number, urgency in enumerate(("critical", "low", "critical", "low")):
        scene.run(f"share{number}", priority=urgency, **gpus(gpu=0.5))
    scene.join("n2", gpus=[{"count": 1, "model": "A"}])
    scene.run("young", priority="low", **gpus(gpu=1))
    scene.submit("whole", priority="high", **gpus(gpu=1))
    scene.tick()
    assert scene.stopping() == ["young.0"]
    scene.stopped()
    assert scene.tick() == ["whole.0"]


def test_others_give_way_for_a_model_that_only_they_have() -> None:
    scene = Scene()
    scene.join("n1", gpus=[{"count": 1, "model": "A"}])
    scene.join("n2", gpus=[{"count": 1, "model": "B"}])
    scene.run("holder", priority="low", **gpus(gpu=1, gpu_model="B"))
    scene.submit("urgent", priority="critical", **gpus(gpu=1, gpu_model="B"))
    scene.tick()
    assert scene.stopping() == ["holder.0"]
    scene.stopped()
    assert scene.tick() == ["urgent.0"]
    assert scene.on("urgent") == ["n2"]


def spec(**asked: Any) -> Workload:
    return Workload.model_validate({"name": "asked", **gpus(**asked)})


def test_capacity_counts_gpus_one_by_one() -> None:
    scene = Scene()
    scene.join("n1", cpu=64, gpus=[{"count": 2}])
    scene.run("share", **gpus(gpu=0.4))
    questions = Questions(scene.engine)
    assert whole(questions.plans.capacity(spec(gpu=1))).total == 1
    assert whole(questions.plans.capacity(spec(gpu=0.6))).total == 2
    assert whole(questions.plans.capacity(spec(gpu=0.3))).total == 5


def test_why_it_waits_names_the_gpus_and_what_would_help() -> None:
    scene = Scene()
    scene.join("n1", gpus=[{"count": 2, "model": "A100"}])
    questions = Questions(scene.engine)
    found = whole(questions.plans.impasse(spec(gpu=1, gpu_model="H100")))
    assert [member.requirement for member in found.core] == ["1 GPU of model H100"]
    assert found.core[0].field == "resources.gpu_model"
    assert [(one.words, one.patch) for one in found.suggestions] == [
        ("allow GPU model A100", {"resources": {"gpu_model": ["H100", "A100"]}})
    ]


def test_gpus_in_pieces_are_a_want_of_room() -> None:
    scene = Scene()
    scene.join("n1", gpus=[{"count": 2}])
    scene.run("one", **gpus(gpu=0.6))
    scene.run("other", **gpus(gpu=0.5))
    scene.run("third", **gpus(gpu=0.4))
    scene.end("third")
    scene.tick()
    found = whole(Questions(scene.engine).plans.impasse(spec(gpu=0.7)))
    assert [member.field for member in found.core] == ["resources.gpu"]
    assert {"resources": {"gpu": "500m"}} in [one.patch for one in found.suggestions]


def test_a_plan_places_gpus_as_deciding_would() -> None:
    scene = Scene()
    scene.join("n1", gpus=[{"count": 1, "model": "A"}, {"count": 1, "model": "B"}])
    planned = whole(
        Questions(scene.engine).plans.plan(
            Workload.model_validate({"name": "asked", "replicas": 2, **gpus(gpu=1, gpu_model="B")})
        )
    )
    assert [task.node for task in planned] == ["n1", None]
