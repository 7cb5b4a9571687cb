"""GPUs as nodes describe them: from what NVML said on a real machine, and for machines that we do not have."""

import json
from pathlib import Path
from typing import Any

import pytest

from dovetail.agent.inventory.gpus import gpus_of, inventory_of, islands_of, model_name
from dovetail.agent.inventory.nvml import GpuReading, NvmlReading, nvml
from dovetail.api.nodes.inventory import inventory_in_words
from dovetail.model.device import devices_of
from dovetail.model.inventory import MachineInventory

RECORDED = json.loads((Path(__file__).parent / "recorded" / "h200.json").read_text())


def gpu(number: int, links: list[dict[str, Any]] | None = None, **more: Any) -> GpuReading:
    found = {"name": "NVIDIA H100 80GB HBM3", "uuid": f"GPU-{number}", "address": f"00000000:{number:02X}:00.0"}
    return {**found, "memory_bytes": 80 * 2**30, "links": links or [], "mig": False, "instances": [], **more}  # type: ignore[typeddict-item]


def to_gpu(number: int) -> dict[str, Any]:
    return {"kind": "gpu", "address": f"00000000:{number:02X}:00.0"}


def reading(*gpus: GpuReading) -> NvmlReading:
    return {"driver": "580.159.04", "cuda": 13000, "gpus": list(gpus)}


SWITCH = {"kind": "switch", "address": "00000000:C1:00.0"}


def test_a_real_h200_is_read_as_it_is() -> None:
    [group] = gpus_of(RECORDED["gpus"])
    assert (group.count, group.model, group.memory, group.islands) == (
        1,
        "H200",
        143771 * 2**20,
        1,
    )  # as nvidia-smi says
    assert group.addresses == ["0000:00:06.0"]
    [shown] = inventory_of(RECORDED["gpus"])
    assert (shown.model, shown.mig, shown.links) == ("NVIDIA H200", "off", {})
    words = inventory_in_words(MachineInventory(driver="580.159.04", cuda="13.0", mps=False, gpus=[shown]))
    assert "GPU 0000:00:06.0: NVIDIA H200, 140.4GiB, no NVLinks, MIG off\n" in words
    assert "GPU driver: 580.159.04, CUDA 13.0; MPS does not run\n" in words


def test_gpus_behind_switches_are_one_island() -> None:
    readings = [gpu(i, [SWITCH] * 18) for i in range(8)]
    assert islands_of(readings) == [0] * 8
    [group] = gpus_of(reading(*readings))
    assert (group.count, group.islands) == (8, 1)
    assert inventory_of(reading(*readings))[0].links == {"switch": 18}


def test_gpus_that_bridges_join_in_pairs_are_islands_and_stand_together() -> None:
    readings = [gpu(0, [to_gpu(2)] * 4), gpu(1, [to_gpu(3)] * 4), gpu(2, [to_gpu(0)] * 4), gpu(3, [to_gpu(1)] * 4)]
    assert islands_of(readings) == [0, 1, 0, 1]
    [group] = gpus_of(reading(*readings), numa_of=lambda address: int(address[5:7], 16) % 2)
    assert (group.islands, group.uuids, group.numa) == (2, ["GPU-0", "GPU-2", "GPU-1", "GPU-3"], [0, 0, 1, 1])
    assert [device.island for device in devices_of([group], 4)] == [0, 0, 1, 1]


def test_gpus_without_links_are_islands_of_their_own() -> None:
    [group] = gpus_of(reading(gpu(0), gpu(1)))
    assert (group.count, group.islands) == (2, 2)


def test_islands_of_several_sizes_and_models_are_several_groups() -> None:
    readings = [gpu(0, [to_gpu(1)]), gpu(1), gpu(2), gpu(3, name="NVIDIA L40S", memory_bytes=48 * 2**30)]
    groups = gpus_of(reading(*readings))
    assert [(group.model, group.count, group.islands) for group in groups] == [
        ("H100", 2, 1), ("H100", 1, 1), ("L40S", 1, 1)
    ]  # fmt: skip


def test_a_gpu_in_mig_mode_is_its_instances() -> None:
    parts = [{"name": "NVIDIA H200 MIG 1g.18gb", "uuid": f"MIG-{i}", "memory_bytes": 16 * 2**30} for i in range(2)]
    readings = [gpu(0, name="NVIDIA H200", mig=True, instances=parts), gpu(1, mig=True)]
    [group] = gpus_of(reading(*readings))
    assert (group.model, group.count, group.islands, group.uuids) == ("H200-1g.18gb", 2, 2, ["MIG-0", "MIG-1"])
    first, second = inventory_of(reading(*readings))
    assert "MIG on: 1g.18gb, 1g.18gb" in inventory_in_words(MachineInventory(gpus=[first]))
    assert "MIG on\n" in inventory_in_words(MachineInventory(gpus=[second]))


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("Tesla V100-PCIE-16GB", "V100"),
        ("NVIDIA GeForce RTX 4090", "GeForce-RTX-4090"),
        ("", "unknown"),
    ],
)
def test_models_have_the_names_that_people_use(told: str, name: str) -> None:
    assert model_name(told) == name


def test_a_machine_without_a_driver_has_no_answer() -> None:
    with nvml() as lib:
        assert lib is None or lib.nvmlDeviceGetCount() >= 0
