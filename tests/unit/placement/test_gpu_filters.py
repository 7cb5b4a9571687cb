"""Which nodes have the GPUs a task wants, now or ever; and which of those it would rather have."""

import numpy as np
from tests.unit.placement.scene import choose, cluster_of, masked, occupy, pipeline_of, request_for, scored

from dovetail.cluster.change_log import DEVICES, LABELS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction
from dovetail.model.task import TaskId
from dovetail.placement.filters.gpus import FreeGpusFilter, GpuModelFilter
from dovetail.placement.pipeline.evaluation import Evaluator
from dovetail.placement.pipeline.profiles import ProfileSettings
from dovetail.placement.pipeline.refusal import refusals

A100 = {"gpus": [{"count": 4, "model": "A100", "memory": "40GiB"}]}
H100 = {"gpus": [{"count": 4, "model": "H100", "memory": "80GiB", "islands": 2}]}
UNKNOWN = {"capacity": {"cpu": 4, "memory": "4GiB", "gpu": 4}}
NONE: dict[str, object] = {}


def test_a_node_without_an_allowed_model_never_does() -> None:
    cluster = cluster_of(A100, H100, UNKNOWN, NONE)
    assert masked("gpu_model", cluster, request_for(cluster, resources={"gpu": 1, "gpu_model": "H100"})) == [
        *(False, True, False, False)
    ]
    either = request_for(cluster, resources={"gpu": 0.5, "gpu_model": ["H100", "A100"]})
    assert masked("gpu_model", cluster, either) == [True, True, False, False]
    assert masked("gpu_model", cluster, request_for(cluster, resources={"gpu": 9})) == [True] * 4, "a matter of amounts"


def test_memory_and_islands_are_of_each_gpu_and_of_all_together() -> None:
    cluster = cluster_of(A100, H100)
    assert masked("gpu_model", cluster, request_for(cluster, resources={"gpu": 1, "gpu_memory": "64GiB"})) == [
        False,
        True,
    ]
    three = request_for(cluster, resources={"gpu": 3, "gpu_island": "same"})
    assert masked("gpu_model", cluster, three) == [True, False]


def test_the_refusal_says_what_is_wanted_and_what_is_there() -> None:
    cluster = cluster_of(A100, UNKNOWN, NONE)
    request = request_for(cluster, resources={"gpu": 2, "gpu_model": "H100"})
    said = [GpuModelFilter().refuse(request, View(cluster), position).message for position in range(3)]
    assert said == [
        "needs 2 GPUs of model H100, has 4 x A100 (40GiB)",
        "needs 2 GPUs of model H100, has 4 GPUs of unknown model",
        "needs 2 GPUs of model H100, has no GPU",
    ]


def test_half_of_two_gpus_is_no_whole_one() -> None:
    cluster = cluster_of({"gpus": [{"count": 2}]}, {"gpus": [{"count": 2}]})
    occupy(cluster, 0, TaskId(1, 0), gpu=0.6)
    occupy(cluster, 0, TaskId(1, 1), gpu=0.6)
    request = request_for(cluster, resources={"gpu": 1})
    assert masked("gpus", cluster, request) == [True, True], "0.8 is less than 1: the amounts say so already"
    cluster.remove(TaskId(1, 1))
    occupy(cluster, 0, TaskId(1, 1), gpu=0.4)
    occupy(cluster, 1, TaskId(1, 2), gpu=0.5)
    assert [placement.slots for placement in cluster.placements.by_task.values()] == [(0,), (0,), (0,)]
    cluster.remove(TaskId(1, 1))
    cluster.place(TaskId(1, 1), 0, request_for(cluster, resources={"gpu": 0.4}).column, slots=(1,))
    assert masked("gpus", cluster, request) == [False, True]
    refused = FreeGpusFilter().refuse(request, View(cluster), 0)
    assert refused.message == "needs 1 GPU; 1 free, of GPUs that suit it: 0.6, 0.4"
    assert refused.eviction is Eviction.HELPS
    assert [one.filter for one in refusals(request, pipeline_of(cluster).evaluator, cluster, 0)] == ["gpus"]


def test_what_is_in_pieces_everywhere_is_told_as_that() -> None:
    cluster = cluster_of({"gpus": [{"count": 2}]})
    for number, slot in ((0, 0), (1, 1)):
        cluster.place(TaskId(5, number), 0, request_for(cluster, resources={"gpu": 0.5}).column, slots=(slot,))
    explanation = choose(pipeline_of(cluster), cluster, request_for(cluster, resources={"gpu": 1}), 0).explanation
    assert explanation.outcome == "gpus_in_pieces"
    assert explanation.eviction is Eviction.HELPS
    assert "needs 1 GPU; 1 free, of GPUs that suit it: 0.5, 0.5, such as on n0" in explanation.message


def test_a_share_fits_where_one_gpu_has_so_much_left() -> None:
    cluster = cluster_of({"gpus": [{"count": 1}]}, {"gpus": [{"count": 1}]})
    occupy(cluster, 0, gpu=0.7)
    pipeline = pipeline_of(cluster, scores={"best_fit": 1})
    request = request_for(cluster, resources={"gpu": 0.5})
    rows = [choose(pipeline, cluster, request, replica, repeats=True).row for replica in range(3)]
    assert rows == [1, 1, None]


def test_a_plain_request_reads_nothing_of_devices_that_it_need_not() -> None:
    cluster = cluster_of(A100)
    evaluator = Evaluator("tried", ProfileSettings())
    assert evaluator.reads_of(GpuModelFilter(), request_for(cluster, resources={"gpu": 1})) == frozenset()
    picky = request_for(cluster, resources={"gpu": 1, "gpu_model": "A100"})
    assert evaluator.reads_of(GpuModelFilter(), picky) == {LABELS}
    assert evaluator.reads_of(FreeGpusFilter(), request_for(cluster, resources={"cpu": 1})) == frozenset()
    assert DEVICES in evaluator.reads_of(FreeGpusFilter(), request_for(cluster, resources={"gpu": 1}))
    assert FreeGpusFilter().mask(request_for(cluster, resources={"gpu": 1}), View(cluster)) is True, (
        "amounts tell it all"
    )


def test_gpus_are_not_given_out_twice_where_amounts_are() -> None:
    cluster = cluster_of({"gpus": [{"count": 1}]}, overcommit={"gpu": 2.0})
    request = request_for(cluster, resources={"gpu": 1})
    pipeline = pipeline_of(cluster)
    assert [choose(pipeline, cluster, request, replica).row for replica in range(2)] == [0, None]


def test_models_named_earlier_are_worth_more() -> None:
    cluster = cluster_of(A100, H100, UNKNOWN)
    wish = request_for(cluster, resources={"gpu": 1, "gpu_model": ["H100", "A100"]})
    assert scored("gpu_model_preference", cluster, wish) == [0.5, 1.0, 0.0]
    assert scored("gpu_model_preference", cluster, request_for(cluster, resources={"gpu": 1})) == [0.0] * 3


def test_the_preferred_model_decides_between_nodes_that_are_equal_otherwise() -> None:
    cluster = cluster_of(A100, {**H100, "gpus": [{"count": 4, "model": "H100"}]})
    pipeline = pipeline_of(cluster, scores={"gpu_packing": 0.01, "gpu_model_preference": 0.001})
    wish = request_for(cluster, resources={"gpu": 1, "gpu_model": ["H100", "A100"]})
    assert choose(pipeline, cluster, wish, 0).row == 1
    assert np.array_equal(cluster.devices.whole[:2], [4.0, 3.0])
