"""A synthetic stream of work for several tenants: seeded, endless if wanted, the same every time.

Workloads arrive as a Poisson process; each is drawn from a recipe: pools to pick from and a lognormal run time. A small
share requests what no ordinary cluster has, so that some work waits and can be explained. Simulation and demo use the
same stream.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from dovetail.model.text.quantity import Count, Duration
from dovetail.model.text.strict import AtField, Name, Strict, closest
from dovetail.model.workloads.run import SimulatedRun
from dovetail.model.workloads.workload import Workload, WorkloadKind

Weight = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]

MINUTE_S, HOUR_S = 60.0, 3600.0

DEFAULT_TENANTS = {"research": 4.0, "vision": 2.0, "serving": 3.0, "analytics": 2.0, "students": 1.0}
DEFAULT_MIX = {"pretraining": 0.02, "finetuning": 0.28, "inference": 0.08, "batch": 0.45, "notebook": 0.17}
SERVICES = ("chat", "search", "vision-api", "embeddings", "rerank", "speech")

#: Requests that never fit: too many GPUs for a node, an unknown model, too much memory.
WISHES: dict[str, dict[str, Any]] = {
    "sixteen-gpus": {"resources": {"cpu": 64, "memory": "512GiB", "gpu": 16}},
    "newest-gpu": {"resources": {"cpu": 8, "memory": "64GiB", "gpu": 1}, "node_selector": {"gpu-model": "next-year"}},
    "much-memory": {"resources": {"cpu": 4, "memory": "6TiB"}},
}


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


class Stream(Strict):
    """`rate` workloads a virtual second, for `duration` or until there were `count`."""

    rate: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False, description="workloads a second")]
    duration: Duration | None = None
    count: Count | None = None
    tenants: dict[Name, Weight] = Field(default=DEFAULT_TENANTS, min_length=1, max_length=1000)
    mix: dict[str, Weight] = Field(default=DEFAULT_MIX, min_length=1, description="how much of each kind of work")
    hopeless: Share = Field(default=0.005, description="share of workloads that no node can take")
    run_time_scale: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] = 1.0
    prefix: Annotated[Name, Field(max_length=40)] | None = Field(default=None, description="put before every name")

    @model_validator(mode="after")
    def _some_of_everything(self) -> Self:
        for kind in self.mix:
            if kind not in RECIPES:
                words = f"unknown kind of work {kind!r}.{closest(kind, RECIPES)} Known: {', '.join(RECIPES)}"
                raise AtField(("mix", kind), words)
        for field, weights in (("tenants", self.tenants), ("mix", self.mix)):
            if not sum(weights.values()):
                raise AtField((field,), "every weight is 0; give one of them more")
        return self

    @property
    def endless(self) -> bool:
        return self.duration is None and self.count is None

    @property
    def mean_gpu_seconds(self) -> float:
        """Of one workload, on average."""
        total = sum(self.mix.values())
        mean = sum(RECIPES[kind].mean_gpu_seconds * weight for kind, weight in self.mix.items()) / total
        return mean * self.run_time_scale * (1.0 - self.hopeless)

    def arrivals(self, seed: int) -> Iterator[tuple[float, Workload]]:
        """(virtual second, workload), in order of arrival."""
        chance = Random(f"{seed}/stream")  # noqa: S311 (made-up work needs no secrets)
        at_s, number = 0.0, 0
        while self.count is None or number < self.count:
            at_s += chance.expovariate(self.rate)
            if self.duration is not None and at_s > self.duration:
                return
            number += 1
            yield at_s, self._workload(chance, number)

    def _workload(self, chance: Random, number: int) -> Workload:
        tenant = chance.choices(list(self.tenants), list(self.tenants.values()))[0]
        kind = chance.choices(list(self.mix), list(self.mix.values()))[0]
        recipe = RECIPES[kind]
        fields = recipe.draw(chance, self.run_time_scale)
        if recipe.serves:
            fields["service"] = chance.choice(SERVICES)
        if chance.random() < self.hopeless:
            kind = "wish"
            fields |= {"replicas": 1, "priority": "medium"} | chance.choice(list(WISHES.values()))
        name = f"{kind}-{number}"
        fields["name"] = f"{self.prefix}-{name}" if self.prefix else name
        return Workload.model_validate(fields | {"namespace": tenant, "user": f"{tenant}-{chance.randrange(1, 9)}"})


def still_running(stream: Stream, seed: int, window_s: float, most_gpus: int) -> list[Workload]:
    """A warm start: the workloads of the last `window_s` that would still run at time zero, in order of arrival, with
    their remaining run times, so the first moment looks like any later one. They ask for `most_gpus` at most."""
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
