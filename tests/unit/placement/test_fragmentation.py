"""Against fragments: where tasks go, which device a share gets, and what is kept for those that need it."""

from typing import Any, ClassVar

import numpy as np
import pytest
from tests.unit.placement.scene import choose, cluster_of, pipeline_of, request_for, scored

from dovetail.cluster.devices import Slots
from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.engine.state.workload_mix import ask_of
from dovetail.model.task import TaskId
from dovetail.placement import registry
from dovetail.placement.contract import Request, Score
from dovetail.placement.fragmentation.node_arrays import WORTH_COMPARING
from dovetail.placement.fragmentation.outlook import FIRST_STEPS, Outlook, levelled
from dovetail.placement.fragmentation.typical import Typical
from dovetail.placement.pipeline.profiles import BUILT_IN

PROFILE = BUILT_IN["fragmentation"].model_dump()
T4: dict[str, Any] = {"capacity": {"cpu": 32, "memory": "64GiB", "gpu": 4}, "gpus": [{"count": 4, "model": "T4"}]}
A10: dict[str, Any] = {"capacity": {"cpu": 32, "memory": "64GiB", "gpu": 4}, "gpus": [{"count": 4, "model": "A10"}]}
BARE: dict[str, Any] = {"capacity": {"cpu": 32, "memory": "64GiB"}}


def expecting(cluster: Cluster, *asks: dict[str, Any]) -> Outlook:
    """All of these come equally often."""
    found = [ask_of(request_for(cluster, resources=ask).shape) for ask in asks]
    outlook = Outlook()
    outlook.expect(Typical([ask for ask in found if ask is not None], [1.0] * len(found)))
    return outlook


def request_with(cluster: Cluster, outlook: Outlook, **resources: Any) -> Request:
    request = request_for(cluster, resources={"cpu": 1} | resources)
    request.outlook = outlook
    return request


def take(cluster: Cluster, row: int, task: int, slots: Slots | None = None, **resources: Any) -> None:
    request = request_for(cluster, resources=resources)
    cluster.place(TaskId(task, 0), row, request.column, gpus=request.shape.gpus, slots=slots)


def test_without_an_outlook_all_nodes_are_alike() -> None:
    cluster = cluster_of(T4, BARE)
    request = request_for(cluster, resources={"gpu": 1})
    assert scored("fragmentation", cluster, request) == [0.0, 0.0]
    assert scored("gpu_scarcity", cluster, request) == [0.0, 0.0]


def test_a_task_takes_the_rest_of_a_broken_node_before_it_breaks_a_whole_one() -> None:
    cluster = cluster_of(T4, T4)
    take(cluster, 1, 1, gpu=2)
    outlook = expecting(cluster, {"gpu": 4, "cpu": 4}, {"gpu": 1, "cpu": 1})
    request = request_with(cluster, outlook, gpu=1)
    broken, rest = scored("fragmentation", cluster, request)
    assert broken < 0 < rest
    assert choose(pipeline_of(cluster, **PROFILE), cluster, request, 0).row == 1


def test_work_without_gpus_stays_away_from_the_cpu_that_gpus_need() -> None:
    cluster = cluster_of(T4, BARE)
    outlook = expecting(cluster, {"gpu": 1, "cpu": 8})
    request = request_with(cluster, outlook, cpu=8)
    with_gpus, without = scored("fragmentation", cluster, request)
    assert with_gpus < without == 0
    assert choose(pipeline_of(cluster, **PROFILE), cluster, request, 0).row == 1


def test_a_share_gets_the_device_that_leaves_most_to_use() -> None:
    cluster = cluster_of(T4)
    take(cluster, 0, 1, slots=(0,), gpu="400m")
    take(cluster, 0, 2, slots=(2,), gpu="700m")
    outlook = expecting(cluster, {"gpu": "600m", "cpu": 1})
    # On the first device it would leave 300, which is too little; on the third nothing is lost that was not before.
    choice = choose(pipeline_of(cluster, **PROFILE), cluster, request_with(cluster, outlook, gpu="300m"), 0)
    assert choice.slots == (2,)


def test_the_engine_gives_a_share_the_device_that_was_chosen() -> None:
    cluster = cluster_of(T4)
    outlook = expecting(cluster, {"gpu": "600m", "cpu": 1}, {"gpu": "600m", "cpu": 2})
    request = request_with(cluster, outlook, gpu="300m")
    choice = pipeline_of(cluster, **PROFILE).decide(request, "1.0")
    assert choice.slots is not None
    given = cluster.place(TaskId(1, 0), 0, request.column, gpus=request.shape.gpus, slots=choice.slots)
    assert given == choice.slots


def test_models_that_others_need_more_are_left_to_them() -> None:
    cluster = cluster_of(T4, A10)
    outlook = expecting(cluster, {"gpu": 1, "cpu": 1})
    prices = np.zeros(len(cluster.devices.kind_list))
    prices[cluster.devices.kind_list.index(("T4", 0))] = 0.5
    outlook.price(prices)
    pipeline = pipeline_of(cluster, **PROFILE)
    anywhere = request_with(cluster, outlook, gpu=2)
    assert scored("gpu_scarcity", cluster, anywhere) == [-1.0, 0.0]
    assert choose(pipeline, cluster, anywhere, 0).row == 1
    assert choose(pipeline, cluster, request_with(cluster, outlook, gpu=2, gpu_model="T4"), 1).row == 0


def test_of_a_node_with_several_kinds_the_cheapest_counts_that_will_do() -> None:
    mixed = {"capacity": {"cpu": 32, "gpu": 3}, "gpus": [{"count": 1, "model": "T4"}, {"count": 2, "model": "A10"}]}
    cluster = cluster_of(mixed)
    outlook = Outlook()
    outlook.price(np.array([0.0, 1.0, 0.25]))
    assert scored("gpu_scarcity", cluster, request_with(cluster, outlook, gpu=1)) == [-0.25]
    assert scored("gpu_scarcity", cluster, request_with(cluster, outlook, gpu=1, gpu_model="T4")) == [-1.0]


def test_a_price_that_changes_nothing_is_no_news() -> None:
    outlook = Outlook()
    outlook.price(np.array([0.0, 1.0]))
    epoch = outlook.prices_epoch
    outlook.price(np.array([0.0, 1.0]))
    assert outlook.prices_epoch == epoch


def test_many_nodes_get_the_points_that_each_gets_alone() -> None:
    cluster = cluster_of(*([T4, A10, BARE] * WORTH_COMPARING))
    for row in range(0, cluster.width, 7):
        take(cluster, row, row + 1, cpu=row % 11 + 1)
    outlook = expecting(cluster, {"gpu": 2, "cpu": 9}, {"gpu": "300m", "cpu": 1}, {"gpu": 1, "gpu_model": "T4"})
    request = request_with(cluster, outlook, gpu="200m")
    score = registry.build_score("fragmentation", {})
    together = score.points(request, View(cluster))
    assert not isinstance(together, float)
    for row in range(0, cluster.width, 5):
        assert score.points(request, View(cluster).subset(np.array([row]))) == together[row]


def test_demand_is_levelled_over_the_kinds_that_allow_it() -> None:
    free, pull = np.array([100.0, 100.0]), np.ones(2)
    allowed = np.array([[True, False], [True, True]])
    # Those that need the first take 50 of its 100; the others are all sent to the second.
    load, _ = levelled(free, allowed, np.array([50.0, 150.0]), pull, FIRST_STEPS)
    assert load.tolist() == pytest.approx([1.0, 1.0], abs=0.02)
    load, _ = levelled(free, allowed, np.array([150.0, 50.0]), pull, 200)
    assert load.tolist() == pytest.approx([1.5, 0.5], abs=0.02)


def test_a_kind_of_which_nothing_is_free_is_neither_scarce_nor_in_the_way() -> None:
    load, pull = levelled(np.array([0.0, 10.0]), np.ones((1, 2), dtype=np.bool_), np.array([7.0]), np.ones(2), 20)
    assert load.tolist() == pytest.approx([1.0, 1.0])
    assert np.isfinite(pull).all()


class BadDevices(Score):
    name: ClassVar[str] = "bad_devices"
    reads: ClassVar[frozenset[str]] = frozenset()
    chooses_devices: ClassVar[bool] = True
    answer: ClassVar[Any] = None

    def points(self, request: Request, view: View) -> float:
        return 0.0

    def devices(self, request: Request, view: View) -> Any:
        if self.answer is None:
            raise RuntimeError("no idea")
        return self.answer


@pytest.mark.parametrize("answer", [None, (9,), (0,), (1, 2), ()])
def test_devices_that_cannot_be_had_are_not_insisted_on(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    monkeypatch.setitem(registry.scores(), "bad_devices", BadDevices)
    monkeypatch.setattr(BadDevices, "answer", answer)
    cluster = cluster_of(T4)
    take(cluster, 0, 1, slots=(0,), gpu="800m")
    choice = pipeline_of(cluster, scores={"bad_devices": 1}).decide(request_for(cluster, resources={"gpu": 0.5}), "1.0")
    assert (choice.row, choice.slots) == (0, None)
