"""Jobs of a batch log (Standard Workload Format) as workloads: processors are cores."""

from dovetail.model.workloads.workload import Workload
from dovetail.simulate.swf import BatchJob, BatchLog
from dovetail.simulate.work.arrival import NodeSizes, TimedWork, in_order, workload


def of_log(log: BatchLog, sizes: NodeSizes) -> list[TimedWork]:
    return in_order([(job.submit_s, _workload(job, place, log.source, sizes)) for place, job in enumerate(log.jobs, 1)])


def _workload(job: BatchJob, place: int, source: str, sizes: NodeSizes) -> Workload:
    replicas, cores = sizes.tasks(float(job.processors), sizes.cpu)
    fields = {
        "name": f"job-{place}",
        "namespace": "batch-log",
        "user": job.user,
        "replicas": replicas,
        "resources": {"cpu": round(cores, 3)},
        "deadline": {"run_for": max(job.requested_s, job.run_s, 0.001)},
        "run": {"simulate": {"run_time": max(job.run_s, 0.001)}},
    }
    return workload(source, None, fields | ({"gang": {"min": replicas}} if replicas > 1 else {}))
