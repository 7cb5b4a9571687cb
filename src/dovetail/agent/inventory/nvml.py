"""What NVML says about the GPUs of this machine, as plain data: identity, memory, links, MIG, and who computes on them.

Needs nvidia-ml-py (extra `gpu`) and the driver; without either there is no answer (None). What a GPU does not support
is left out. `gpus` makes nodes' GPUs of the answer. Nothing else of Dovetail is imported here: the module also records
answers for tests.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from typing_extensions import TypedDict

_REMOTES = {0: "gpu", 1: "npu", 2: "switch"}


class LinkReading(TypedDict):
    """An NVLink that is up. `kind`: gpu, switch, npu or unknown."""

    kind: str
    address: str | None


class MigReading(TypedDict):
    name: str
    uuid: str
    memory_bytes: int


class GpuReading(TypedDict):
    """`mig` None: the GPU has no such mode."""

    name: str
    uuid: str
    address: str
    memory_bytes: int
    links: list[LinkReading]
    mig: bool | None
    instances: list[MigReading]


class NvmlReading(TypedDict):
    """`cuda`: 13000 is 13.0."""

    driver: str
    cuda: int
    gpus: list[GpuReading]


class GpuProcesses(TypedDict):
    """`memory_bytes`: by process. `shares`: which share of the GPU's time each process had lately; None: not told."""

    uuid: str
    memory_bytes: dict[int, int]
    shares: dict[int, float] | None


@contextmanager
def nvml() -> Iterator[Any]:
    """The library, ready to be asked; None where it is missing or has no driver."""
    try:
        import pynvml  # type: ignore[import-untyped]

        pynvml.nvmlInit()
    except Exception:  # not installed, no driver, a driver of another version: all mean that it cannot be asked
        yield None
        return
    try:
        yield pynvml
    finally:
        pynvml.nvmlShutdown()


def read_gpus(lib: Any) -> NvmlReading:
    handles = [lib.nvmlDeviceGetHandleByIndex(index) for index in range(lib.nvmlDeviceGetCount())]
    return {
        "driver": lib.nvmlSystemGetDriverVersion(),
        "cuda": lib.nvmlSystemGetCudaDriverVersion_v2(),
        "gpus": [_gpu(lib, handle) for handle in handles],
    }


def read_processes(lib: Any) -> list[GpuProcesses]:
    """Of each GPU."""
    found: list[GpuProcesses] = []
    for index in range(lib.nvmlDeviceGetCount()):
        handle = lib.nvmlDeviceGetHandleByIndex(index)
        running: list[Any] = []
        for ask in (lib.nvmlDeviceGetComputeRunningProcesses_v3, lib.nvmlDeviceGetMPSComputeRunningProcesses_v3):
            running += _or(lib, [], ask, handle)
        samples = _or(lib, None, lib.nvmlDeviceGetProcessUtilization, handle, 0)
        latest = {one.pid: one for one in sorted(samples or [], key=lambda one: one.timeStamp)}
        found.append(
            {
                "uuid": lib.nvmlDeviceGetUUID(handle),
                "memory_bytes": {one.pid: one.usedGpuMemory or 0 for one in running},
                "shares": None if samples is None else {pid: one.smUtil / 100 for pid, one in latest.items()},
            }
        )
    return found


def _gpu(lib: Any, handle: Any) -> GpuReading:
    mode = _or(lib, None, lib.nvmlDeviceGetMigMode, handle)
    return {
        "name": lib.nvmlDeviceGetName(handle),
        "uuid": lib.nvmlDeviceGetUUID(handle),
        "address": lib.nvmlDeviceGetPciInfo(handle).busId,
        "memory_bytes": lib.nvmlDeviceGetMemoryInfo(handle).total,
        "links": [link for number in range(lib.NVML_NVLINK_MAX_LINKS) for link in _link(lib, handle, number)],
        "mig": None if mode is None else mode[0] == lib.NVML_DEVICE_MIG_ENABLE,
        "instances": _instances(lib, handle) if mode is not None and mode[0] else [],
    }


def _link(lib: Any, handle: Any, number: int) -> list[LinkReading]:
    """Empty for a link that is down or not there."""
    if not _or(lib, 0, lib.nvmlDeviceGetNvLinkState, handle, number):
        return []
    remote = _or(lib, None, lib.nvmlDeviceGetNvLinkRemoteDeviceType, handle, number)
    pci = _or(lib, None, lib.nvmlDeviceGetNvLinkRemotePciInfo, handle, number)
    return [{"kind": _REMOTES.get(remote, "unknown"), "address": None if pci is None else pci.busId}]


def _instances(lib: Any, handle: Any) -> list[MigReading]:
    found: list[MigReading] = []
    for index in range(_or(lib, 0, lib.nvmlDeviceGetMaxMigDeviceCount, handle)):
        one = _or(lib, None, lib.nvmlDeviceGetMigDeviceHandleByIndex, handle, index)
        if one is not None:
            name, uuid = lib.nvmlDeviceGetName(one), lib.nvmlDeviceGetUUID(one)
            found.append({"name": name, "uuid": uuid, "memory_bytes": lib.nvmlDeviceGetMemoryInfo(one).total})
    return found


def _or(lib: Any, otherwise: Any, ask: Callable[..., Any], *about: Any) -> Any:
    """The answer, or this where the GPU has none."""
    try:
        return ask(*about)
    except lib.NVMLError:
        return otherwise
