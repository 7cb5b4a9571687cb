"""What usually comes is learned from what is submitted, bounded, deterministic, and kept over a restart."""

import json
from typing import Any

import numpy as np
import pytest
from tests.unit.engine.scene import Scene

from dovetail.cluster.state import Cluster
from dovetail.engine.pieces import whole
from dovetail.engine.questions.questions import Questions
from dovetail.engine.state import workload_mix
from dovetail.engine.state.workload_mix import FIRST_MIX, LOOK_EVERY, WorkloadMix, ask_of
from dovetail.model.node import Node
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.shaping import shape_of
from dovetail.model.workloads.workload import Workload
from dovetail.placement.fragmentation.typical import Typical


def cluster_of(**models: int) -> Cluster:
    cluster = Cluster()
    for model, gpus in models.items():
        node = {"name": model.lower(), "capacity": {"cpu": 12 * gpus, "memory": "64GiB", "gpu": gpus}}
        cluster.join(Node.model_validate(node | {"gpus": [{"count": gpus, "model": model}]}))
    return cluster


def shape(**resources: Any) -> Shape:
    spec = Workload.model_validate({"name": "w", "resources": {"cpu": 2, "memory": "1GiB"} | resources})
    return shape_of(spec, "default", "fragmentation")


def typical(mix: WorkloadMix) -> Typical:
    assert mix.outlook.typical is not None
    return mix.outlook.typical


def test_before_anything_was_seen_the_usual_task_has_the_clusters_own_cpu_a_gpu() -> None:
    mix = WorkloadMix(cluster_of(T4=2, A10=6))
    mix.prepare()
    (guess,) = typical(mix).asks
    assert (guess.cpu, guess.memory, guess.gpu) == (12_000, 0, 1000)
    assert len(mix) == 0


def test_without_gpus_nothing_is_typical() -> None:
    cluster = Cluster()
    cluster.join(Node.model_validate({"name": "n", "capacity": {"cpu": 4}}))
    mix = WorkloadMix(cluster)
    mix.prepare()
    assert mix.outlook.typical is None


def test_the_guess_follows_the_cluster_until_work_was_seen() -> None:
    cluster = cluster_of(T4=1)
    mix = WorkloadMix(cluster)
    mix.prepare()
    cluster.join(Node.model_validate({"name": "big", "capacity": {"cpu": 88, "gpu": 1}}))
    mix.prepare()
    assert typical(mix).asks[0].cpu == 50_000


def test_the_mix_is_built_at_the_first_task_and_again_when_it_has_grown_by_half() -> None:
    mix = WorkloadMix(cluster_of(T4=2))
    epochs = []
    for _ in range(110):
        mix.record_submission(shape(gpu=1), 1)
        epochs.append(mix.outlook.typical_epoch)
    built = [seen for seen, (was, now) in enumerate(zip([0, *epochs], epochs, strict=False), 1) if was != now]
    assert built == [FIRST_MIX, 2, 3, 5, 8, 12, 18, 27, 41, 62, 93]


def test_work_without_gpus_is_not_counted() -> None:
    mix = WorkloadMix(cluster_of(T4=2))
    mix.record_submission(shape(), 1000)
    assert mix.outlook.typical is None


def test_tasks_count_not_workloads_and_the_order_of_models_does_not() -> None:
    mix = WorkloadMix(cluster_of(T4=2))
    mix.record_submission(shape(gpu=1, gpu_model=["T4", "A10"]), 30)
    mix.record_submission(shape(gpu=1, gpu_model=["A10", "T4"]), 20)
    mix.record_submission(shape(gpu="500m"), 50)
    found = typical(mix)
    assert [(ask.gpus.models, weight) for ask, weight in zip(found.asks, found.weights.tolist(), strict=True)] == [
        (("A10", "T4"), 0.5),
        ((), 0.5),
    ]
    assert found.volumes.tolist() == pytest.approx([2 / 3, 1 / 3])


def test_the_rarest_asks_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload_mix, "MOST_COUNTED", 10)
    mix = WorkloadMix(cluster_of(T4=2))
    mix.record_submission(shape(gpu=1), 100)
    for cpu in range(1, 60):
        mix.record_submission(shape(gpu=1, cpu=cpu + 0.5), 1)
        assert len(mix.memory()["asks"]) <= 10
    mix.record_submission(shape(gpu=1), 100)
    assert typical(mix).asks[0] == ask_of(shape(gpu=1))


def test_old_work_fades(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload_mix, "MOST_SEEN", 100)
    mix = WorkloadMix(cluster_of(T4=2))
    mix.record_submission(shape(gpu=1), 1000)
    for _ in range(12):
        mix.record_submission(shape(gpu=2), 500)
    old = typical(mix).asks.index(ask_of(shape(gpu=1)) or typical(mix).asks[0])
    assert typical(mix).weights[old] < 0.05


def price_of(mix: WorkloadMix, cluster: Cluster, model: str) -> float:
    return float(mix.outlook.prices[cluster.devices.kind_list.index((model, 0))])


def test_a_model_that_some_work_cannot_do_without_has_its_price() -> None:
    cluster = cluster_of(T4=4, A10=4)
    mix = WorkloadMix(cluster)
    mix.record_submission(shape(gpu=1, gpu_model="T4"), 60)
    mix.record_submission(shape(gpu=1), 40)
    mix.refresh()
    assert price_of(mix, cluster, "T4") > 0
    assert price_of(mix, cluster, "A10") == 0


def test_work_that_may_go_anywhere_makes_nothing_dear() -> None:
    mix = WorkloadMix(cluster_of(T4=4, A10=2))
    mix.record_submission(shape(gpu=1), 500)
    mix.refresh()
    assert not mix.outlook.prices.any()


def test_prices_are_looked_at_every_so_many_arrivals_and_placements() -> None:
    cluster = cluster_of(T4=4, A10=4)
    mix = WorkloadMix(cluster)
    mix.refresh()
    for _ in range(LOOK_EVERY - 1):
        mix.record_submission(shape(gpu=1, gpu_model="T4"), 1)
        mix.refresh()
        assert not mix.outlook.prices.any()
    mix.record_placement()
    mix.refresh()
    assert price_of(mix, cluster, "T4") > 0


GPUS: dict[str, Any] = {"capacity": {"gpu": 4}, "gpus": [{"count": 4, "model": "T4"}]}
OTHERS: dict[str, Any] = {"capacity": {"gpu": 4}, "gpus": [{"count": 4, "model": "A10"}]}
WORK: list[dict[str, Any]] = [{"gpu": 1}, {"gpu": "300m"}, {"gpu": 2}, {"gpu": "700m"}, {"gpu": 1, "gpu_model": "T4"}]


def busy() -> Scene:
    scene = Scene(default_profile="fragmentation")
    for i in range(4):
        scene.join(f"t{i}", cpu=16, **GPUS)
        scene.join(f"a{i}", cpu=16, **OTHERS)
    return scene


def submit(scene: Scene, first: int, last: int) -> None:
    for i in range(first, last):
        scene.submit(f"w{i}", resources={"cpu": 0.25} | WORK[i * 7 % len(WORK)])
        scene.tick()
        if i % 3 == 0:
            scene.cancel(f"w{i}")
            scene.stopped(f"w{i}")


def where(scene: Scene, first: int, last: int) -> list[tuple[list[str], list[tuple[int, ...]]]]:
    found = []
    for i in range(first, last):
        work = scene.engine._state.work.get(scene.ids[f"w{i}"])
        found.append(([], []) if work is None else (scene.on(f"w{i}"), [t.devices for t in work.tasks.values()]))
    return found


def test_the_same_events_lead_to_the_same_places_and_devices() -> None:
    one, other = busy(), busy()
    for scene in (one, other):
        submit(scene, 0, 60)
    assert where(one, 0, 60) == where(other, 0, 60)
    assert one.engine._state.learned.mix.memory() == other.engine._state.learned.mix.memory()


def test_a_restart_keeps_the_mix_and_decides_as_if_nothing_had_happened() -> None:
    steady, restarted = busy(), busy()
    for scene in (steady, restarted):
        submit(scene, 0, 50)
    mix = restarted.engine._state.learned.mix
    restarted.notebook.memory |= json.loads(json.dumps(restarted.engine.memory(0.0)))
    restarted.restart()
    assert restarted.engine._state.learned.mix.memory() == mix.memory()
    assert np.array_equal(restarted.engine._state.learned.mix.outlook.prices, mix.outlook.prices)
    for scene in (steady, restarted):
        submit(scene, 50, 90)
    assert where(steady, 50, 90) == where(restarted, 50, 90)


def test_a_question_changes_nothing_of_it() -> None:
    asked, unasked = busy(), busy()
    for scene in (asked, unasked):
        submit(scene, 0, 20)
    whole(
        Questions(asked.engine).plans.plan(
            Workload.model_validate({"name": "q", "replicas": 40, "resources": {"gpu": "100m"}})
        )
    )
    for scene in (asked, unasked):
        submit(scene, 20, 60)
    assert where(asked, 20, 60) == where(unasked, 20, 60)
