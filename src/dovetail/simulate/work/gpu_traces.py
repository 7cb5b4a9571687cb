"""Public GPU traces: Alibaba's pod lists of 2023 (openb, CSV), and Microsoft's Philly (JSON, or CSV)."""

import csv
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from dovetail.model.device import WHOLE
from dovetail.simulate.work.arrival import NodeSizes, TimedWork, in_order, number, workload, wrong

OPENB_COLUMNS = frozenset({"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"})
PHILLY_COLUMNS = frozenset({"timestamp", "duration", "num_gpus"})
USUAL_GPUS = 8
_PRIORITIES = {"LS": "high", "Guaranteed": "high", "Burstable": "medium", "BE": "batch"}


def read_openb(text: str, source: str) -> list[TimedWork]:
    """One pod a line; a pod without an end runs on. Raises Invalid."""
    found = []
    for line, row in _rows(text):

        def value(name: str, row: Mapping[str, Any] = row, line: int = line) -> float:
            return number(source, line, name, row.get(name))

        gpus, part = int(value("num_gpu")), int(value("gpu_milli"))
        models = [one for one in dict.fromkeys((row.get("gpu_spec") or "").split("|")) if one] if gpus else []
        at = value("creation_time") if row.get("creation_time") else 0.0
        fields: dict[str, Any] = {
            "name": row.get("name") or f"pod-{line}",
            "namespace": "openb",
            "kind": "container",
            "priority": _PRIORITIES.get(row.get("qos") or "", "medium"),
            "resources": {
                "cpu": value("cpu_milli") / 1000,
                "memory": int(value("memory_mib")) * 2**20,
                "gpu": 0 if not gpus else gpus if part == WHOLE else part / WHOLE,
                **({"gpu_model": models} if models else {}),
            },
        }
        if row.get("deletion_time"):
            began = value("scheduled_time") if row.get("scheduled_time") else at
            fields["run"] = {"simulate": {"run_time": max(value("deletion_time") - began, 0.001)}}
        found.append((at, workload(source, line, fields)))
    return in_order(found)


def read_philly_csv(text: str, source: str, sizes: NodeSizes) -> list[TimedWork]:
    """`timestamp,duration,num_gpus` and more. Raises Invalid."""
    found = []
    for line, row in _rows(text):
        at = _moment(source, line, row["timestamp"])
        run_s, gpus = (
            number(source, line, "duration", row["duration"]),
            number(source, line, "num_gpus", row["num_gpus"]),
        )
        found.append((at, _gpu_job(source, line, f"job-{line - 1}", row.get("cluster"), int(gpus), run_s, sizes)))
    return in_order(found)


def read_philly(jobs: Iterable[Any], source: str, sizes: NodeSizes) -> list[TimedWork]:
    """`cluster_job_log` of msr-fiddle/philly-traces. Jobs that never ran are left out. Raises Invalid."""
    found = []
    for place, job in enumerate(jobs, 1):
        where = f"job {place}"
        if not isinstance(job, dict) or not isinstance(job.get("attempts"), list):
            raise wrong(source, None, f"{where}: is no job of the Philly trace: it has no attempts")
        spans = [
            _attempt(source, where, one) for one in job["attempts"] if one.get("start_time") and one.get("end_time")
        ]
        if spans:
            at = _moment(source, None, job.get("submitted_time"))
            gpus, run_s = max(gpus for gpus, _ in spans), sum(run_s for _, run_s in spans)
            tenant = job.get("vc")
            found.append((at, _gpu_job(source, None, f"job-{place}", tenant, gpus, run_s, sizes, job.get("user"))))
    return in_order(found)


def _attempt(source: str, where: str, attempt: Mapping[str, Any]) -> tuple[int, float]:
    gpus = sum(len(machine.get("gpus") or ()) for machine in attempt.get("detail") or ())
    began, ended = (_moment(source, None, attempt[name]) for name in ("start_time", "end_time"))
    if ended < began:
        raise wrong(source, None, f"{where}: an attempt ends before it begins")
    return gpus, ended - began


def _gpu_job(
    source: str, line: int | None, name: str, tenant: Any, gpus: int, run_s: float, sizes: NodeSizes, user: Any = None
) -> Any:
    replicas, each = sizes.tasks(float(gpus), float(sizes.gpus or USUAL_GPUS))
    fields = {
        "name": name,
        "namespace": f"vc-{tenant}" if tenant else "philly",
        "user": f"u-{user}" if user else None,
        "replicas": replicas,
        "resources": {"cpu": max(each, 1), "gpu": int(-(-each // 1))},
        "run": {"simulate": {"run_time": max(run_s, 0.001)}},
    }
    return workload(source, line, fields | ({"gang": {"min": replicas}} if replicas > 1 else {}))


def _rows(text: str) -> Iterable[tuple[int, dict[str, str]]]:
    return enumerate(csv.DictReader(text.splitlines()), 2)


def _moment(source: str, line: int | None, text: Any) -> float:
    try:
        found = datetime.fromisoformat(str(text).removesuffix(" PST").removesuffix(" PDT"))
    except ValueError:
        raise wrong(source, line, f"{text!r} is not a time such as 2017-10-09 07:01:55") from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
