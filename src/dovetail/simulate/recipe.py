"""The kinds of work that a synthetic stream is made of: what GPU clusters are shared for.

A recipe is data: pools to pick from and a lognormal run time. Drawing from it takes whatever generator it is given.
"""

import math
from dataclasses import dataclass
from random import Random
from typing import Any

from dovetail.model.workloads.workload import WorkloadKind

MINUTE_S, HOUR_S = 60.0, 3600.0


@dataclass(frozen=True, slots=True)
class Recipe:
    """One kind of work. CPU and memory come with each GPU, or for themselves where there is none."""

    kind: WorkloadKind
    priorities: tuple[str, ...]
    replicas: tuple[int, ...]
    gpus: tuple[float, ...]  # below 1: a share of one
    cpu: tuple[int, ...]
    memory_gib: tuple[int, ...]
    median_s: float
    sigma: float
    retries: int = 0
    serves: bool = False  # belongs to a service, and likes to be near its own

    @property
    def mean_gpu_seconds(self) -> float:
        """Of one workload, on average: what decides how much of a cluster a stream keeps busy."""
        mean_run_s = self.median_s * math.exp(self.sigma**2 / 2)
        return _mean(self.replicas) * _mean(self.gpus) * mean_run_s

    def draw(self, chance: Random, run_time_scale: float) -> dict[str, Any]:
        """The fields of one workload, all but its name and its tenant."""
        gpus = chance.choice(self.gpus)
        times = max(1, int(gpus))
        resources: dict[str, Any] = {
            "cpu": chance.choice(self.cpu) * times,
            "memory": f"{chance.choice(self.memory_gib) * times}GiB",
        }
        if gpus:
            resources["gpu"] = gpus
        run_time_s = self.median_s * run_time_scale * math.exp(self.sigma * chance.gauss(0.0, 1.0))
        return {
            "kind": self.kind,
            "priority": chance.choice(self.priorities),
            "replicas": chance.choice(self.replicas),
            "resources": resources,
            "retries": self.retries,
            "run": {"simulate": {"run_time": round(max(run_time_s, 0.001), 3)}},
        }


def _mean(pool: tuple[float, ...]) -> float:
    return sum(pool) / len(pool)


RECIPES: dict[str, Recipe] = {
    "pretraining": Recipe(
        WorkloadKind.JOB, ("high",), (8, 16, 32), (8,), (12,), (96,), median_s=4 * HOUR_S, sigma=0.4, retries=2
    ),
    "finetuning": Recipe(
        WorkloadKind.JOB,
        ("medium",),
        (1, 2, 4),
        (1, 2, 4, 8),
        (8, 12),
        (64,),
        median_s=45 * MINUTE_S,
        sigma=0.8,
        retries=1,
    ),
    "inference": Recipe(
        WorkloadKind.CONTAINER,
        ("critical", "high"),
        (2, 4, 8),
        (1, 2),
        (8,),
        (48,),
        median_s=6 * HOUR_S,
        sigma=0.5,
        retries=5,
        serves=True,
    ),
    "batch": Recipe(
        WorkloadKind.JOB,
        ("low", "batch"),
        (1, 4, 16, 64),
        (0,),
        (1, 2, 4),
        (2, 4, 8),
        median_s=10 * MINUTE_S,
        sigma=1.0,
    ),
    "notebook": Recipe(WorkloadKind.CONTAINER, ("low",), (1,), (0, 1), (4,), (16, 32), median_s=2 * HOUR_S, sigma=0.6),
}
