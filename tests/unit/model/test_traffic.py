"""What a workload may say of the traffic it has with others, and what of it becomes part of its shape."""

from typing import Any

import pytest
from pydantic import ValidationError

from dovetail.model.requests.shape import Shape
from dovetail.model.requests.shaping import shape_of
from dovetail.model.text.validation_errors import complaints_of
from dovetail.model.workloads.workload import Workload


def spec(*traffic: dict[str, Any]) -> Workload:
    return Workload.model_validate({"name": "trainer", "traffic": list(traffic)})


@pytest.mark.parametrize(
    ("written", "mbps"), [(4000, 4000), ("4000", 4000), ("4Gbps", 4000), ("500MBps", 4000), (0.6, 1), ("1.5Gbps", 1500)]
)
def test_a_rate_is_megabits_a_second_or_says_its_unit(written: object, mbps: int) -> None:
    assert spec({"to": "server", "mbps": written}).traffic[0].mbps == mbps


@pytest.mark.parametrize("written", [0, -3, True, "fast", "4GiB", None, [4], 1e10])
def test_what_is_no_rate_is_refused_at_its_field(written: object) -> None:
    with pytest.raises(ValidationError) as raised:
        spec({"to": "server", "mbps": written})
    assert [one.field for one in complaints_of(raised.value, Workload)] == ["traffic[0].mbps"]


def test_each_workload_is_named_once() -> None:
    with pytest.raises(ValidationError) as raised:
        spec({"to": "server", "mbps": 1}, {"to": "server", "mbps": 2})
    assert "traffic[1].to" in str(complaints_of(raised.value, Workload)[0])


def test_the_shape_holds_the_traffic_in_one_order_and_survives_a_restart() -> None:
    one = shape_of(spec({"to": "b", "mbps": 1}, {"to": "a", "mbps": 2}), "default", "network")
    other = shape_of(spec({"to": "a", "mbps": 2}, {"to": "b", "mbps": 1}), "default", "network")
    assert one == other
    assert one.traffic == (("a", 2), ("b", 1))
    assert one.namespace == "default"
    assert Shape.from_json(one.to_json()) == one
    assert one != shape_of(spec(), "default", "network")


def test_a_definition_survives_being_written_and_read() -> None:
    whole = spec({"to": "server", "mbps": "4Gbps"})
    assert Workload.model_validate_json(whole.model_dump_json()) == whole
