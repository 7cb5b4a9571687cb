"""What a node says of its GPUs, and what a task asks for of them."""

from typing import Any

import pytest
from pydantic import ValidationError

from dovetail.model.device import Device, Gpus, describe_gpus, devices_of
from dovetail.model.node import Node
from dovetail.model.requests.asks import GpuAsk
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.shaping import gpus_of, shape_of
from dovetail.model.reservation import Reservation
from dovetail.model.resources import ResourceRequest, write_amount
from dovetail.model.workloads.workload import Workload, WorkloadKind


def node(**fields: Any) -> Node:
    return Node.model_validate({"name": "n1", **fields})


def test_the_capacity_of_a_node_is_the_number_of_its_gpus() -> None:
    found = node(gpus=[{"count": 4, "model": "H100"}, {"count": 2}], capacity={"cpu": 8})
    assert found.capacity.gpu == 6
    assert found.capacity.amounts()["gpu"] == 6000
    assert Node.model_validate_json(found.model_dump_json()) == found


def test_a_node_that_says_two_numbers_of_gpus_is_told_both() -> None:
    with pytest.raises(ValidationError, match="is 8, but gpus describes 4"):
        node(capacity={"gpu": 8}, gpus=[{"count": 4}])
    assert node(capacity={"gpu": 4}, gpus=[{"count": 4}]).capacity.gpu == 4


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ({"count": 8, "islands": 3}, "cannot be divided evenly into 3 islands"),
        ({"count": 2, "uuids": ["GPU-1"]}, "has 1 entries for 2 GPUs"),
        ({"count": 2, "uuids": ["GPU-1", "GPU-1"]}, "names a GPU twice"),
        ({"count": 0}, "greater than or equal to 1"),
        ({"count": 1, "model": "H 100"}, "write it without spaces"),
        ({"count": 5000}, "less than or equal to 1024"),
    ],
)
def test_gpus_that_cannot_be_are_refused_with_a_reason(group: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        node(gpus=[group])


def test_a_node_has_no_more_gpus_than_books_are_kept_for() -> None:
    with pytest.raises(ValidationError, match="at most 1024"):
        node(capacity={"gpu": 1025})


def test_groups_are_taken_apart_and_islands_counted_on() -> None:
    groups = [
        Gpus(count=4, model="H100", memory=80 * 2**30, islands=2, numa=[0, 0, 1, 1]),
        Gpus(count=1, uuids=["GPU-x"], addresses=["0000:41:00.0"]),
    ]
    found = devices_of(groups, 5)
    assert [device.island for device in found] == [0, 0, 1, 1, 2]
    assert [device.numa for device in found] == [0, 0, 1, 1, None]
    assert found[4] == Device("", 0, 2, None, "0000:41:00.0", "GPU-x")
    assert devices_of([], 2) == (Device(), Device())
    assert describe_gpus(groups, 5) == "4 x H100 (80GiB) in 2 islands and 1 x unknown model"


@pytest.mark.parametrize(
    ("written", "thousandths"), [(8, 8000), (0.25, 250), ("250m", 250), ("2", 2000), (1.0, 1000), ("1000m", 1000)]
)
def test_gpus_are_asked_for_whole_or_as_a_share_of_one(written: object, thousandths: int) -> None:
    asked = ResourceRequest.model_validate({"gpu": written})
    assert asked.amounts()["gpu"] == thousandths
    assert ResourceRequest.model_validate_json(asked.model_dump_json()) == asked
    assert ResourceRequest.model_validate({"gpu": write_amount("gpu", thousandths)}) == asked


@pytest.mark.parametrize("written", [1.5, "1500m", "2.25"])
def test_more_than_one_gpu_is_whole_or_an_error_that_says_why(written: object) -> None:
    with pytest.raises(ValidationError, match="neither whole nor a share of one GPU"):
        ResourceRequest.model_validate({"gpu": written})


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"gpu_model": "H100"}, "says which GPU, but none is asked for"),
        ({"gpu_memory": "40GiB"}, "says which GPU, but none is asked for"),
        ({"gpu": 1, "gpu_model": ["H100", "H100"]}, "names a model twice"),
        ({"gpu": 1, "gpu_island": "any"}, "Input should be 'same'"),
        ({"gpu": 0.0001}, "below the smallest share"),
    ],
)
def test_what_is_asked_of_gpus_must_make_sense(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        ResourceRequest.model_validate(asked)


def test_the_shape_knows_which_gpus_are_asked_for() -> None:
    spec = Workload.model_validate(
        {
            "name": "w",
            "resources": {"gpu": 4, "gpu_model": ["H100", "A100"], "gpu_memory": "40GiB", "gpu_island": "same"},
        }
    )
    shape = shape_of(spec, "default", "balanced")
    assert shape.gpus == GpuAsk(4, 0, ("H100", "A100"), 40 * 2**30, True)
    assert str(shape.gpus) == "4 GPUs of model H100 or A100 with 40GiB each in one island"
    assert Shape.from_json(shape.to_json()) == shape
    assert shape != shape_of(spec.model_copy(update={"resources": ResourceRequest(gpu=4)}), "default", "balanced")


def test_a_single_gpu_is_in_one_island_anyway() -> None:
    assert gpus_of(ResourceRequest.model_validate({"gpu": 1, "gpu_island": "same"})) == GpuAsk(count=1)
    assert gpus_of(ResourceRequest.model_validate({"gpu": 0.5, "gpu_model": "A"})) == GpuAsk(share=500, models=("A",))
    assert gpus_of(ResourceRequest(cpu=1)) is None


def test_a_shape_from_before_gpus_were_told_apart_asks_for_any() -> None:
    text = '{"amounts":{"gpu":2000,"slots":1},"kind":"job","scheduler":"default","profile":"balanced","namespace":""}'
    assert Shape.from_json(text).gpus == GpuAsk(count=2)
    assert Shape((("cpu", 1000),), WorkloadKind.JOB, "default", "balanced", "").gpus is None


def test_single_gpus_cannot_be_reserved() -> None:
    with pytest.raises(ValidationError, match="amounts are held, not single GPUs"):
        Reservation.model_validate({"node": "n1", "duration": "1h", "resources": {"gpu": 1, "gpu_model": "H100"}})
