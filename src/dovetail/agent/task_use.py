"""What the tasks of this machine use, for its heartbeats: what the backends measure, and the GPUs as NVML sees them.

GPUs are told apart by the processes on them. Under MPS all work is its server's: memory is known then, time is not.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Any

import psutil

from dovetail.agent.inventory.nvml import GpuProcesses, nvml, read_processes
from dovetail.backends.contract import MeasuredTask
from dovetail.model.task_use import TaskUse


class GpuMeter:
    """Keeps NVML open: that takes longer than to ask it."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._lib: Any = None
        self._opened = False

    def read(self) -> list[GpuProcesses]:
        if not self._opened:
            self._lib, self._opened = self._open.enter_context(nvml()), True
        return [] if self._lib is None else read_processes(self._lib)

    def close(self) -> None:
        self._open.close()


def with_gpus(task: MeasuredTask, gpus: Iterable[GpuProcesses], shared_by_mps: bool) -> TaskUse:
    """The use of the task, with that of the GPUs that its processes are on; without it for a task on none."""
    memory, shares, on_any = 0, 0.0, False
    for gpu in gpus:
        own = task.pids & gpu["memory_bytes"].keys()
        on_any = on_any or bool(own)
        memory += sum(gpu["memory_bytes"][pid] for pid in own)
        shares += sum(share for pid, share in (gpu["shares"] or {}).items() if pid in task.pids)
    if not on_any:
        return task.use
    return task.use.model_copy(update={"gpu_memory_bytes": memory, "gpus": None if shared_by_mps else round(shares, 4)})


class UseMeter:
    """`every_s`: a rate over a shorter time says little, and is not measured."""

    def __init__(
        self,
        every_s: float,
        gpus: GpuMeter | None,
        shared_by_mps: Callable[[], bool],
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._every_s, self._gpus, self._shared_by_mps = every_s, gpus, shared_by_mps
        self._monotonic_s = monotonic_s
        self._measured_at: float | None = None

    @property
    def is_due(self) -> bool:
        return self._measured_at is None or self._monotonic_s() - self._measured_at >= 0.9 * self._every_s

    async def complete(self, tasks: Mapping[str, MeasuredTask]) -> dict[str, dict[str, Any]]:
        """By key, as heartbeats carry it."""
        self._measured_at = self._monotonic_s()
        gpus = await asyncio.to_thread(self._gpus.read) if self._gpus is not None and tasks else []
        found = {}
        for key, task in tasks.items():
            whole = await asyncio.to_thread(_with_children, task) if gpus else task
            found[key] = with_gpus(whole, gpus, self._shared_by_mps()).model_dump(exclude_none=True)
        return found

    def close(self) -> None:
        if self._gpus is not None:
            self._gpus.close()


def _with_children(task: MeasuredTask) -> MeasuredTask:
    """A backend may know only the first process of a task."""
    found = set(task.pids)
    for pid in task.pids:
        try:
            found.update(child.pid for child in psutil.Process(pid).children(recursive=True))
        except psutil.Error:
            continue
    return MeasuredTask(task.use, frozenset(found))
