"""What a supervisor is told: the time between SIGTERM and SIGKILL, and the GPUs that its command may see."""

from pathlib import Path
from typing import Any

import pytest

from dovetail.backends.contract import Assignment
from dovetail.backends.local.enforcement import Enforcement
from dovetail.backends.local.order import Surroundings, write_order
from dovetail.backends.local.supervisor.run_files import unpack
from dovetail.model.device import Device
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload


@pytest.mark.parametrize(("disruption", "grace_s"), [({}, "10.0"), ({"grace": "2m"}, "120.0"), ({"grace": 0}, "0.0")])
def test_the_grace_period_of_a_workload_counts_before_the_usual_one(disruption: dict[str, Any], grace_s: str) -> None:
    spec = Workload.model_validate({"name": "w", "run": {"command": ["true"]}, "disruption": disruption})
    around = Surroundings(Enforcement("rlimit"), 10)
    order = write_order(Assignment("1.0.1", TaskId(1, 0), "here", spec), Path("/runs/1.0.1"), around)
    assert unpack(order)["grace_s"] == [grace_s]


@pytest.mark.parametrize(
    ("slots", "devices", "seen"),
    [
        ((0, 2), (), "0,2"),
        ((1,), (Device(uuid="GPU-a"), Device(uuid="GPU-b")), "GPU-b"),
        ((0, 1), (Device(uuid="GPU-a"), Device()), "0,1"),
        ((), (Device(uuid="GPU-a"),), None),
    ],
)
def test_a_command_sees_the_gpus_it_was_given_by_uuid_where_all_are_known(
    slots: tuple[int, ...], devices: tuple[Device, ...], seen: str | None
) -> None:
    spec = Workload.model_validate({"name": "w", "run": {"command": ["true"]}})
    assignment = Assignment("1.0.1", TaskId(1, 0), "here", spec, slots)
    order = unpack(write_order(assignment, Path("/runs/1.0.1"), Surroundings(Enforcement("rlimit"), 10, devices)))
    told = dict(pair.split("=", 1) for pair in order["env"])
    assert told.get("CUDA_VISIBLE_DEVICES") == told.get("NVIDIA_VISIBLE_DEVICES") == seen
