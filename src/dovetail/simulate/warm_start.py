"""Warm start: the workloads of a stream that would still run at time zero.

Every workload that arrived within the window before and has not ended is included with its remaining run time, so the
first moment looks like any later one.
"""

from dovetail.model.workloads.workload import SimulatedRun, Workload
from dovetail.simulate.stream import Stream


def still_running(stream: Stream, seed: int, window_s: float, most_gpus: int) -> list[Workload]:
    """Workloads in order of arrival, with their remaining run times; together they ask for `most_gpus` at most."""
    endless = stream.model_copy(update={"duration": window_s, "count": None, "hopeless": 0.0})
    found: list[Workload] = []
    gpus = 0.0
    for at_s, spec in endless.arrivals(seed):
        left_s = at_s + _run_time_s(spec) - window_s
        asked = spec.replicas * spec.resources.gpu
        if left_s > 0 and gpus + asked <= most_gpus:
            gpus += asked
            rehearsal = SimulatedRun(run_time=round(left_s, 3) + 0.001)
            found.append(spec.model_copy(update={"run": spec.run.model_copy(update={"simulate": rehearsal})}))
    return found


def _run_time_s(spec: Workload) -> float:
    rehearsal = spec.run.simulate
    return rehearsal.run_time if rehearsal is not None and rehearsal.run_time is not None else 0.0
