"""GPUs of tasks, from what NVML said on a real machine about a process that computes."""

import asyncio
import json
from pathlib import Path

from dovetail.agent.inventory.nvml import GpuProcesses
from dovetail.agent.task_use import UseMeter, with_gpus
from dovetail.backends.contract import MeasuredTask
from dovetail.model.task_use import TaskUse

RECORDED = json.loads((Path(__file__).parent / "recorded" / "h200.json").read_text())


def processes(name: str) -> list[GpuProcesses]:
    """JSON has no numbers as keys."""
    return [
        {
            "uuid": gpu["uuid"],
            "memory_bytes": {int(pid): size for pid, size in gpu["memory_bytes"].items()},
            "shares": None if gpu["shares"] is None else {int(pid): share for pid, share in gpu["shares"].items()},
        }
        for gpu in RECORDED[name]
    ]


TASK = MeasuredTask(TaskUse(cpu_cores=1.0), frozenset({464, 465}))


def test_a_task_has_what_its_processes_use_of_gpus() -> None:
    found = with_gpus(TASK, processes("busy"), shared_by_mps=False)
    assert (found.gpus, found.gpu_memory_bytes, found.cpu_cores) == (0.88, 1476 * 2**20, 1.0)  # as nvidia-smi says


def test_a_task_on_no_gpu_has_no_use_of_one() -> None:
    assert with_gpus(TASK, processes("idle"), shared_by_mps=False) == TASK.use
    assert with_gpus(MeasuredTask(TASK.use, frozenset({1})), processes("busy"), shared_by_mps=False) == TASK.use


def test_under_mps_the_memory_of_a_task_is_known_and_its_time_is_not() -> None:
    client = MeasuredTask(TaskUse(), frozenset({520}))
    found = with_gpus(client, processes("mps"), shared_by_mps=True)
    assert (found.gpus, found.gpu_memory_bytes) == (None, 1476 * 2**20)


def test_use_is_measured_once_an_interval_however_often_reports_are_sent() -> None:
    clock = iter([0.0, 5.0, 10.0])
    meter = UseMeter(10.0, None, lambda: False, lambda: next(clock))
    due = [meter.is_due]
    assert asyncio.run(meter.complete({"1.0.1": TASK})) == {"1.0.1": {"cpu_cores": 1.0}}
    due += [meter.is_due, meter.is_due]
    assert due == [True, False, True]
