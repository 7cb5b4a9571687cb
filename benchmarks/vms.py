"""VMs: which VM is on which hypervisor is known again soon after a restart, and placing one takes milliseconds.

500 VMs on 20 simulated hypervisors. Restored: from the start of the control plane on its database until every VM is
reported as running on the hypervisor that it was placed on. A decision: from the submission of one VM until it is
placed and that is on disk, once everything beside the control loop has started; VMs are submitted one after the other,
as users do. The control plane runs on the event loop of a server. The rounds of a figure are alike, and its value is
their median: a round in which the host of this machine was busy is seen in the spread.
"""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.harness import Bench, Measured, at_most, benchmark
from benchmarks.measuring import middle, quantile, quiet
from dovetail.cli.program.loop import server_runner
from dovetail.control.loop.garbage import ServerCollector
from dovetail.control.plane import ControlPlane
from dovetail.control.settings import Settings
from dovetail.control.subsystems.runner import RunState
from dovetail.model.task import TaskId, TaskState
from dovetail.model.workloads.workload import Workload

VMS, HYPERVISORS = 500, 20
RESTORED = at_most("vms.restored_500_on_20", 2.0, "s")
DECISION = at_most("vms.decision_p99", 5.0, "ms")
ROUNDS = 5
GIVE_UP_S = 60.0
GROUP = {"prefix": "hv", "count": HYPERVISORS, "capacity": {"cpu": 64, "memory": "256GiB", "disk": "10TiB"}}


@benchmark(RESTORED, DECISION)
def vms_on_hypervisors(bench: Bench) -> Iterator[tuple[str, Measured]]:
    slowest_ms, restored_s = [], []
    for number in range(ROUNDS):
        with bench.folder() as folder, quiet(), server_runner() as runner:
            decisions_s, placed = runner.run(_place(folder))
            if len(placed) != VMS:
                raise RuntimeError(f"{len(placed)} of {VMS} VMs were placed")
            median_ms, p99_ms = (quantile(decisions_s, share) * 1000 for share in (0.5, 0.99))
            slowest_ms.append(p99_ms)
            restored_s.append(runner.run(_restore_s(folder, placed)))
            took = f"decisions {median_ms:.1f} ms (median), {p99_ms:.1f} ms (p99); restored in {restored_s[-1]:.2f} s"
            bench.say(f"round {number + 1} of {ROUNDS}: {took}")
    yield DECISION.name, middle(slowest_ms)
    yield RESTORED.name, middle(restored_s)


def _plane(folder: Path) -> ControlPlane:
    backend = {"kind": "simulated", "groups": [GROUP], "forever": True}
    fields = {"data": str(folder / "data"), "backends": {"hypervisors": backend}, "logging": {"decisions": False}}
    return ControlPlane(Settings.model_validate(fields), ServerCollector())


def _machine(number: int) -> Workload:
    sizes: dict[str, Any] = {"cpu": 1 + number % 4, "memory": f"{1 + number % 8}GiB", "disk": "20GiB"}
    fields = {"name": f"vm-{number}", "kind": "vm", "resources": sizes, "vm": {"image": "debian-12.qcow2"}}
    return Workload.model_validate(fields | {"profile": "least_loaded"})


async def _place(folder: Path) -> tuple[list[float], dict[int, str]]:
    """How long each decision took, and where every VM is."""
    plane = _plane(folder)
    await plane.start()
    await _until_subsystems_run(plane)
    took_s: list[float] = []
    placed: dict[int, str] = {}
    for number in range(VMS):
        began = time.perf_counter()
        (accepted,) = await plane.submit([_machine(number)])
        # A turn of the event loop has nothing to wait for by name.
        while (held := plane.questions.workloads.held(TaskId(accepted.id, 0))) is None:  # noqa: ASYNC110
            await asyncio.sleep(0)
        took_s.append(time.perf_counter() - began)
        placed[accepted.id] = held.node
    await _until_all_run(plane, placed)
    await plane.stop()
    return took_s, placed


async def _restore_s(folder: Path, placed: dict[int, str]) -> float:
    plane = _plane(folder)
    began = time.perf_counter()
    await plane.start()
    await _until_all_run(plane, placed)
    elapsed_s = time.perf_counter() - began
    await plane.stop()
    return elapsed_s


async def _until_subsystems_run(plane: ControlPlane) -> None:
    """They start beside the control loop, on threads that import much."""
    give_up_at = time.monotonic() + GIVE_UP_S
    while unready := [one.name for one in plane.subsystems.health() if one.state is not RunState.RUNNING]:
        if time.monotonic() > give_up_at:
            raise RuntimeError(f"these do not start: {', '.join(unready)}")
        await asyncio.sleep(0.01)


async def _until_all_run(plane: ControlPlane, placed: dict[int, str]) -> None:
    """Until the engine and the backend agree on every VM and its hypervisor."""
    give_up_at = time.monotonic() + GIVE_UP_S
    while time.monotonic() < give_up_at:
        held = {id_: plane.questions.workloads.held(TaskId(id_, 0)) for id_ in placed}
        running = {id_: one.node for id_, one in held.items() if one is not None and one.state is TaskState.RUNNING}
        if running == placed:
            seen = {int((one.seen.key or "0").split(".")[0]): one.seen.node for one in await plane.vms.all()}
            if seen == placed:
                return
        await asyncio.sleep(0.005)
    raise RuntimeError(f"not all of {len(placed)} VMs run where they were placed")
