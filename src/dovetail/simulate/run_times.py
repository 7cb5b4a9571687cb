"""How long work runs in a simulation that goes on from a snapshot: nobody has measured it yet.

In this order: what the definition says (`run.simulate`); for ever, for services, VMs and tasks that always start again;
what the scheduler learned of the owner's last tasks, and of all tasks; the declared time; an hour. What is not known
exactly is varied from seed to seed: each workload by a factor with a spread of `SPREAD`.
"""

import math
from collections.abc import Mapping
from typing import Any

from dovetail.backends.simulated.rehearsal import chances, normal
from dovetail.model.text.quantity import MAX_DURATION_S
from dovetail.model.workloads.run import SimulatedRun
from dovetail.model.workloads.workload import RestartPolicy, Workload, WorkloadKind
from dovetail.queueing.run_times import RunTimes

UNKNOWN_S = 3600.0
SPREAD = 0.35
SHORTEST_S = 0.001


class RunTimeGuess:
    def __init__(self, learned: Mapping[str, Any], seed: int, spread: float = SPREAD) -> None:
        """`learned`: as in a snapshot."""
        known = learned.get("run_times") or {}
        self._run_times = RunTimes.from_json(known)
        ended = sorted(actual_s for history in known.values() for actual_s, _ in history)
        self._usual_s = ended[len(ended) // 2] if ended else None
        self._seed, self._spread = seed, spread

    def timed(self, spec: Workload, name: str) -> Workload:
        """The same workload, with the run time that the simulated world gives it. `name` identifies the draw."""
        if spec.run.simulate is not None or runs_on(spec):
            return spec
        u, v, *_ = chances(self._seed, f"run time of {name}")
        run_s = self._expected_s(spec) * math.exp(self._spread * normal(u, v))
        if spec.deadline.run_for is not None:
            run_s = min(run_s, spec.deadline.run_for)
        return with_run_time(spec, run_s)

    def _expected_s(self, spec: Workload) -> float:
        declared_s = spec.deadline.run_for
        found = self._run_times.expected_s(f"{spec.namespace}/{spec.user or ''}", declared_s)
        return found if found is not None else declared_s or self._usual_s or UNKNOWN_S


def runs_on(spec: Workload) -> bool:
    """Whether it runs until somebody stops it."""
    if spec.restart is RestartPolicy.ALWAYS or spec.service is not None:
        return True
    return spec.kind is WorkloadKind.VM and spec.deadline.run_for is None


def with_run_time(spec: Workload, run_s: float) -> Workload:
    seconds = round(min(max(run_s, SHORTEST_S), MAX_DURATION_S), 3)
    run = spec.run.model_copy(update={"simulate": SimulatedRun(run_time=seconds)})
    return spec.model_copy(update={"run": run})
