"""`topology` of a workload: what may be written, and what becomes of it."""

from typing import Any

import pytest

from dovetail.model.requests.asks import Layout
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.shaping import shape_of
from dovetail.model.text.complaint import Invalid
from dovetail.model.workloads.reading import read_workloads
from dovetail.model.workloads.workload import Workload


def shape(**fields: Any) -> Shape:
    return shape_of(Workload.model_validate({"name": "w", "replicas": 2, **fields}), "main", "balanced")


@pytest.mark.parametrize(
    ("written", "mbps"), [("200Gbps", 200_000), ("1.5Tbps", 1_500_000), ("50GBps", 400_000), ("1Mbps", 1)]
)
def test_bandwidth_is_a_rate_with_a_unit(written: str, mbps: int) -> None:
    assert shape(topology={"bandwidth": written}).bandwidth_mbps == mbps


def test_bandwidth_alone_says_enough_and_is_left_out_where_nobody_says_it() -> None:
    assert shape(topology={"bandwidth": "1Gbps"}).layout == Layout(bandwidth_mbps=1000)
    assert shape(topology={"required": "leaf"}).bandwidth_mbps == shape().bandwidth_mbps == 0


@pytest.mark.parametrize(
    ("topology", "replicas", "words"),
    [
        ("{bandwidth: 200}", 2, "topology.bandwidth: 200 has no unit"),
        ("{bandwidth: 0Gbps}", 2, "topology.bandwidth"),
        ("{bandwidth: -1Gbps}", 2, "topology.bandwidth"),
        ("{bandwidth: 2000Tbps}", 2, "topology.bandwidth"),
        (
            "{bandwidth: 1Gbps}",
            1,
            "topology.bandwidth: is what each task can send to the others, and there is only one",
        ),
        ("{}", 2, "is empty; give required, preferred, slices, strategy or bandwidth"),
    ],
)
def test_what_makes_no_sense_is_refused_at_its_field(topology: str, replicas: int, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_workloads(f"name: w\nreplicas: {replicas}\ntopology: {topology}\n", "w.yaml")
    assert words in str(refused.value)


def test_one_task_of_a_group_has_others_to_send_to() -> None:
    assert shape(replicas=1, gang={"min": 1, "group": "g"}, topology={"bandwidth": "1Gbps"}).bandwidth_mbps == 1000


@pytest.mark.parametrize(
    "layout",
    [
        Layout("spine", "leaf", ((4, "rack"),), "spread", 200_000),
        Layout(bandwidth_mbps=1),
        Layout("spine"),
    ],
)
def test_a_layout_survives_being_written_down(layout: Layout) -> None:
    one = Shape((("cpu", 1),), shape().kind, "main", "balanced", "", layout=layout)
    assert Shape.from_json(one.to_json()) == one


def test_a_layout_that_was_written_down_before_there_was_bandwidth_is_read() -> None:
    written = shape(topology={"required": "leaf"}).to_json()
    older = written.replace('["leaf",null,[],"",0]', '["leaf",null,[],""]')
    assert older != written
    assert Shape.from_json(older) == shape(topology={"required": "leaf"})
