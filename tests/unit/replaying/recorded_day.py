"""A day of a real server, recorded: gangs, a preemption, node failures, a drain, cancelled work, and a restart."""

from pathlib import Path
from typing import Any

from tests.patience import wait_for
from tests.unit.api.server import serving, settings_in

from dovetail.client import Client
from dovetail.control.settings import Settings

TWO_RACKS = [
    {
        "prefix": f"r{rack}",
        "count": 3,
        "capacity": {"cpu": 8, "memory": "32GiB", "gpu": 4},
        "labels": {"rack": f"r{rack}"},
    }
    for rack in (1, 2)
]


def day_settings(folder: Path, **changes: Any) -> Settings:
    failing = {"mean_time_between": "4s", "repair_time": "1s"}
    backend = {
        "kind": "simulated",
        "groups": TWO_RACKS,
        "node_failures": failing,
        "seed": 7,
        "run_time": {"median": "1s"},
    }
    return settings_in(folder, backends={"sim": backend}, **changes)


def job(name: str, run_time: str = "300ms", **more: Any) -> dict[str, Any]:
    return {"name": name, "retries": 2, "run": {"simulate": {"run_time": run_time}}, **more}


def a_morning(url: str, tag: str) -> None:
    with Client(url) as client:
        for index in range(12):
            gpus = {"cpu": 1, "gpu": 1 + index % 4}
            work = [job(f"{tag}-one-{index}", f"{100 + index * 37 % 400}ms", resources=gpus)]
            work.append(job(f"{tag}-wide-{index}", replicas=4, resources={"cpu": 2}, namespace="batch", priority="low"))
            if index % 3 == 0:
                ring: dict[str, Any] = {"resources": {"cpu": 1, "gpu": 2}, "gang": {"min": 3}, "replicas": 3}
                work.append(job(f"{tag}-ring-{index}", **ring, after=[{"workload": f"{tag}-one-{index}"}]))
            client.submit(work)
        low = {"priority": "low", "namespace": "batch"}
        client.submit([job(f"{tag}-fills", "20s", replicas=24, resources={"cpu": 1, "gpu": 1}, **low)])
        client.submit([job(f"{tag}-urgent", "200ms", replicas=2, resources={"cpu": 1, "gpu": 4}, priority="critical")])
        client.drain("r1-2", reason="firmware")
        wait_for(lambda: client.workload(f"{tag}-urgent")["finished_at"], "the urgent work ends")
        client.uncordon("r1-2")
        client.cancel(f"{tag}-fills", namespace="batch")
        wait_for(lambda: not client.workloads(unfinished=True)["items"], "all work ends")


def record_a_day(folder: Path, restart: bool = True) -> Path:
    """The folder with its recordings."""
    settings = day_settings(folder)
    for tag in ("early", "late") if restart else ("early",):
        with serving(settings) as url:
            a_morning(url, tag)
    return folder / "recordings"
