"""A synthetic stream of work for several tenants: seeded, endless if wanted, the same every time.

Workloads arrive as a Poisson process; each is drawn from a recipe. A small share requests what no ordinary cluster has,
so that some work waits and can be explained. Simulation and demo use the same stream.
"""

from collections.abc import Iterator
from random import Random
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from dovetail.model.text.quantity import Count, Duration
from dovetail.model.text.strict import AtField, Name, Strict, closest
from dovetail.model.workloads.workload import Workload
from dovetail.simulate.recipe import RECIPES

Weight = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]

DEFAULT_TENANTS = {"research": 4.0, "vision": 2.0, "serving": 3.0, "analytics": 2.0, "students": 1.0}
DEFAULT_MIX = {"pretraining": 0.02, "finetuning": 0.28, "inference": 0.08, "batch": 0.45, "notebook": 0.17}
SERVICES = ("chat", "search", "vision-api", "embeddings", "rerank", "speech")

#: Requests that never fit: too many GPUs for a node, an unknown model, too much memory.
WISHES: dict[str, dict[str, Any]] = {
    "sixteen-gpus": {"resources": {"cpu": 64, "memory": "512GiB", "gpu": 16}},
    "newest-gpu": {"resources": {"cpu": 8, "memory": "64GiB", "gpu": 1}, "node_selector": {"gpu-model": "next-year"}},
    "much-memory": {"resources": {"cpu": 4, "memory": "6TiB"}},
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
