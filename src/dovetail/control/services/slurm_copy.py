"""A snapshot of a Slurm cluster: its nodes, and the jobs of all users, as work that our engine could place.

A job is a workload with one task a node. What Slurm decides by priorities, QOS and fair shares is not copied: those
that wait do so in the order of their submission.
"""

import re
import time
from typing import Any

from dovetail.backends.batch.driver import BatchFault
from dovetail.backends.slurm.queued_jobs import BACKEND, QueuedJob, SlurmState, slurm_state
from dovetail.backends.slurm.settings import SlurmSettings
from dovetail.engine.settings import EngineSettings
from dovetail.model.task import TaskState, WorkloadState
from dovetail.model.workloads.workload import Workload
from dovetail.snapshots.document import (
    FORMAT,
    VERSION,
    SnapshotDocument,
    SnapshotNode,
    SnapshotSource,
    SnapshotTask,
    SnapshotWorkload,
)

NAMESPACE = "slurm"
_WORDS = re.compile(r"[A-Za-z0-9]+")


class SlurmUnreadable(Exception):
    """Slurm's commands cannot be run, or do not answer; says why."""


async def slurm_snapshot(conf: str | None = None) -> SnapshotDocument:
    """`conf`: its slurm.conf, if not where Slurm's commands look for it. Raises SlurmUnreadable."""
    try:
        state = await slurm_state(SlurmSettings(conf=conf))
    except BatchFault as error:
        raise SlurmUnreadable(str(error)) from None
    return document_of_slurm(state, time.time())


def document_of_slurm(state: SlurmState, now: float) -> SnapshotDocument:
    there = {node.name for node, _ in state.nodes}
    nodes = [
        SnapshotNode(node=node, row=row, cordoned=bool(why), reason=why) if why else SnapshotNode(node=node, row=row)
        for row, (node, why) in enumerate(state.nodes)
    ]
    return SnapshotDocument(
        format=FORMAT,
        version=VERSION,
        taken_at=now,
        source=SnapshotSource(kind="slurm"),
        left_out=["scripts, environments and accounts of jobs", "priorities, QOS and fair shares of Slurm"],
        settings=EngineSettings(),
        nodes=nodes,
        workloads=[_workload(job, state, there) for job in sorted(state.jobs, key=lambda job: job.id)],
        next_workload=max((job.id for job in state.jobs), default=0) + 1,
    )


def _workload(job: QueuedJob, state: SlurmState, there: set[str]) -> SnapshotWorkload:
    hosts = [state.places.get(host, host) for host in job.hosts]
    known = [host for host in hosts if host in there]
    replicas = len(known) or job.nodes
    each = max(1, len(job.hosts) or job.nodes)
    fields: dict[str, Any] = {
        "name": f"{_name(job.name)}-{job.id}",
        "namespace": NAMESPACE,
        "user": _name(job.user) if job.user else None,
        "replicas": replicas,
        "resources": {"cpu": job.cpus / each, "memory": job.memory_bytes // each, "gpu": job.gpus // each},
        "node_selector": {f"slurm.partition/{job.partition}": "true"} if job.partition else {},
    }
    if replicas > 1:
        fields["gang"] = {"min": replicas}
    if job.limit_s:
        fields["deadline"] = {"run_for": job.limit_s}
    tasks = [
        SnapshotTask(
            replica=replica,
            state=TaskState.RUNNING,
            attempt=1,
            node=node,
            backend=BACKEND,
            placed_at=job.started_s,
            started_at=job.started_s,
        )
        for replica, node in enumerate(known)
    ]
    running = {"state": WorkloadState.RUNNING, "started_at": job.started_s, "tasks": tasks} if tasks else {}
    return SnapshotWorkload(
        id=job.id, definition=Workload.model_validate(fields), submitted_at=job.submitted_s, **running
    )


def _name(text: str) -> str:
    words = "-".join(_WORDS.findall(text))[:60]
    return words if words[:1].isalpha() else f"job-{words}".rstrip("-")
