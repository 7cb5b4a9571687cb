"""The network layout of a workload's tasks: in one domain of a level, in slices, with a bandwidth."""

from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Self

from pydantic import Field, model_validator

from dovetail.model.text.quantity import Bandwidth, Count
from dovetail.model.text.strict import AtField, Name, Strict, shared
from dovetail.model.workloads.affinity import Level


class GangSlice(Strict):
    """Every `size` consecutive ranks must be in one domain of a level."""

    size: Annotated[Count, Field(ge=2)]
    within: Level


class StrategyName(StrEnum):
    """How a domain and the nodes in it are chosen."""

    BALANCED = "balanced"
    PACK = "pack"
    SPREAD = "spread"
    LATENCY = "latency"
    BANDWIDTH = "bandwidth"
    FRAGMENTATION = "fragmentation"


class Arrangement(Strict):
    """All tasks in one domain of `required`; if possible in one of `preferred`, a narrower level; each slice in one
    domain of its level. `bandwidth`: what every task can send to the others at the same time."""

    required: Level | None = None
    preferred: Level | None = None
    slices: Annotated[list[GangSlice], Field(max_length=5)] = shared([])
    strategy: StrategyName | Name | None = None
    bandwidth: Annotated[Bandwidth, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _check_not_empty(self) -> Self:
        said = (self.required, self.preferred, self.strategy, self.bandwidth)
        if not self.slices and all(one is None for one in said):
            raise ValueError("is empty; give required, preferred, slices, strategy or bandwidth")
        if self.required is not None and self.required == self.preferred:
            raise AtField(("preferred",), "is the required level already; give a narrower one")
        sizes = [one.size for one in self.slices]
        if sizes != sorted(sizes, reverse=True) or any(larger % smaller for larger, smaller in pairwise(sizes)):
            raise AtField(("slices",), "come from large to small, each a multiple of the next")
        return self
