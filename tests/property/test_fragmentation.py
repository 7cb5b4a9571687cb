"""The score `fragmentation` against one node in plain Python; and ranking caches against deciding afresh, while what is
typical and what is scarce change."""

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.reference_fragments import Gpu, GpuNode, Usual, gained, unusable

from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.engine.state.workload_mix import WorkloadMix, ask_of
from dovetail.model.node import Node
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.shaping import shape_of
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload
from dovetail.placement.contract import Request
from dovetail.placement.fragmentation.node_arrays import of_view
from dovetail.placement.fragmentation.outlook import Outlook
from dovetail.placement.fragmentation.typical import Typical
from dovetail.placement.fragmentation.unusable import unusable as unusable_of
from dovetail.placement.pipeline.pipeline import Pipeline
from dovetail.placement.pipeline.profiles import BUILT_IN
from dovetail.placement.scores.fragmentation import FragmentationScore

MIB = 2**20
DEVICES: list[list[dict[str, Any]]] = [
    [],
    [{"count": 4, "model": "A", "memory": "16GiB"}],
    [{"count": 8, "model": "B", "memory": "40GiB"}],
    [{"count": 2}],
    [{"count": 2, "model": "A", "memory": "16GiB"}, {"count": 3, "model": "B", "memory": "80GiB"}],
]
ASKED: list[dict[str, Any]] = [
    {},
    {"gpu": 1},
    {"gpu": 2},
    {"gpu": 4},
    {"gpu": "250m"},
    {"gpu": "600m"},
    {"gpu": 1, "gpu_model": ["A"]},
    {"gpu": 2, "gpu_model": ["B", "A"]},
    {"gpu": "300m", "gpu_model": ["B"]},
    {"gpu": 1, "gpu_memory": "32GiB"},
]


def a_cluster(r: Random) -> Cluster:
    cluster = Cluster()
    for i in range(r.randint(1, 12)):
        groups = r.choice(DEVICES)
        capacity = {"cpu": r.choice([4, 16, 64]), "memory": "64GiB", "gpu": sum(group["count"] for group in groups)}
        cluster.join(Node.model_validate({"name": f"n{i}", "capacity": capacity, "gpus": groups}))
    return cluster


def a_shape(r: Random, gpu: bool = False) -> Shape:
    asked = {"cpu": r.choice([0.5, 1, 4, 9]), "memory": f"{r.choice([128, 1024, 9000])}MiB"}
    spec = Workload.model_validate({"name": "w", "resources": asked | r.choice(ASKED[1:] if gpu else ASKED)})
    return shape_of(spec, "default", "tried")


def a_request(cluster: Cluster, shape: Shape, outlook: Outlook) -> Request:
    needs = {name: float(amount) for name, amount in shape.amounts}
    return Request(shape, cluster.resources.vector(needs), needs, outlook=outlook)


def an_outlook(r: Random) -> tuple[Outlook, list[Usual]]:
    counts: dict[Any, int] = {}
    for _ in range(r.randint(1, 8)):
        counts[ask_of(a_shape(r, gpu=True))] = r.randint(1, 9)
    outlook = Outlook()
    outlook.expect(Typical(list(counts), list(counts.values())))
    usual = [
        Usual(often, ask.cpu, ask.memory, ask.gpus.count, ask.gpus.share, ask.gpus.models, ask.gpus.memory)
        for ask, often in counts.items()
    ]
    return outlook, usual


def fill(r: Random, cluster: Cluster, outlook: Outlook) -> None:
    pipeline = Pipeline("tried", BUILT_IN["random"], cluster, r.randint(0, 99))
    for replica in range(r.randint(0, 30)):
        request = a_request(cluster, a_shape(r), outlook)
        choice = pipeline.decide(request, str(replica))
        if choice.row is not None:
            cluster.place(TaskId(1, replica), choice.row, request.column, gpus=request.shape.gpus)


def as_plain(cluster: Cluster, row: int) -> GpuNode:
    free = cluster.resources.free[:, row]
    devices = cluster.devices
    gpus = [
        Gpu(device.model, device.memory, int(devices.free[row, slot]))
        for slot, device in enumerate(devices.devices(row))
    ]
    index = cluster.resources.index
    return GpuNode(int(free[index["cpu"]]), int(free[index["memory"]]), tuple(gpus))


@examples(150, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_what_is_unusable_is_what_one_node_in_plain_python_says(seed: int) -> None:
    r = Random(seed)
    cluster = a_cluster(r)
    outlook, usual = an_outlook(r)
    fill(r, cluster, outlook)
    assert outlook.typical is not None
    found = unusable_of(outlook.typical, cluster.devices.kind_list, of_view(View(cluster)))
    expected = [unusable(as_plain(cluster, row), usual) for row in range(cluster.width)]
    assert found.tolist() == pytest.approx(expected, abs=1e-6)


@examples(150, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_points_and_devices_are_what_one_node_in_plain_python_says(seed: int) -> None:
    r = Random(seed)
    cluster = a_cluster(r)
    outlook, usual = an_outlook(r)
    fill(r, cluster, outlook)
    score, shape = FragmentationScore(), a_shape(r)
    request = a_request(cluster, shape, outlook)
    points = np.broadcast_to(score.points(request, View(cluster)), cluster.width)
    amounts, gpus = dict(shape.amounts), shape.gpus
    asked = Usual(1, amounts["cpu"], amounts["memory"])
    if gpus is not None:
        asked = Usual(1, amounts["cpu"], amounts["memory"], gpus.count, gpus.share, gpus.models, gpus.memory)
    for row in range(cluster.width):
        node = as_plain(cluster, row)
        expected = gained(node, asked, usual)
        if expected is None or node.cpu < asked.cpu or node.memory < asked.memory:
            continue
        assert points[row] == pytest.approx(expected[0] / 1000, abs=1e-9)
        if asked.share:
            chosen = score.devices(request, View(cluster).subset(np.array([row])))
            assert chosen is None or chosen[0] in expected[1]


@examples(40, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_a_kept_standing_decides_as_afresh_while_the_mix_and_the_prices_change(seed: int) -> None:
    r = Random(seed)
    cluster = a_cluster(r)
    mix = WorkloadMix(cluster)
    profile = BUILT_IN["fragmentation"]
    kept, afresh = (Pipeline("tried", profile, cluster) for _ in range(2))
    shapes = [a_shape(r) for _ in range(r.randint(1, 6))]
    placed: list[TaskId] = []
    for replica in range(80):
        shape = r.choice(shapes)
        mix.record_submission(shape, r.choice([1, 1, 20]))
        mix.prepare()
        mix.refresh()
        request = a_request(cluster, shape, mix.outlook)
        task = TaskId(1, replica)
        one = kept.decide(request, str(task), repeats=True)
        other = Pipeline("tried", profile, cluster).decide(request, str(task)) if r.random() < 0.3 else None
        fresh = afresh.decide(request, str(task), repeats=False) if other is None else other
        assert (one.row, one.slots) == (fresh.row, fresh.slots)
        assert one.explanation == fresh.explanation
        if one.row is not None:
            cluster.place(task, one.row, request.column, gpus=shape.gpus, slots=one.slots)
            kept.placed(request, one.row)
            placed.append(task)
            mix.record_placement()
        if placed and r.random() < 0.2:
            cluster.remove(placed.pop(r.randrange(len(placed))))
