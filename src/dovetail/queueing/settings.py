"""User settings of queues, fairness, backfilling and retries.

Guarantees: weights are positive; a queue's maximum is at least its guarantee and the sum of its children's; the
children of a queue with a guarantee are together guaranteed no more than it is. Complaints name the queue and resource.
Left to others: the queue of a workload (`tree`), counting (`usage`), limits (`quota`).
"""

from collections.abc import Mapping
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dovetail.model.resources import Amounts, Capacity, show_amount
from dovetail.model.text.quantity import Count, Duration
from dovetail.model.text.strict import AtField, Name, Strict, shared
from dovetail.model.workloads.selection import LabelValue
from dovetail.model.workloads.workload import Pattern, Priority

Weight = Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)]
Span = Annotated[Duration, Field(ge=1)]
LABEL_PREFIX = "label:"


class Quota(Capacity):
    """Amounts of a queue. A missing resource is not limited; a zero is a limit of zero."""

    slots: Count = 0
    """Tasks: each takes one slot."""

    def amounts(self) -> Amounts:
        counted = super().amounts()
        return {name: counted.get(name, 0) for name in sorted(self.model_fields_set)}


class QueueSettings(Strict):
    """A queue, possibly with child queues; work waits only in leaf queues."""

    weight: Weight = 1.0
    """Its share between siblings, when they compete."""
    guaranteed: Quota = shared(Quota())
    """What its work can always hold: it is reclaimed from queues that borrow it."""
    maximum: Quota = shared(Quota())
    """The most that its work may hold together."""
    user_limits: Quota = shared(Quota())
    """The most that one user may hold in this queue."""
    namespaces: Annotated[list[Pattern], Field(max_length=1000)] = Field(default_factory=list)
    """Workloads of these namespaces wait here if they name no queue; patterns such as `ml-*`."""
    max_workloads: Annotated[Count, Field(ge=1)] | None = None
    """The most workloads that may wait; more are refused at submission. Left out: no limit."""
    queues: "dict[Name, QueueSettings]" = shared({})
    """Its child queues, by name."""

    @cached_property
    def guarantee(self) -> Amounts:
        """Its guarantee: as configured; for other resources the sum over its children."""
        found = _total_guarantee(self.queues)
        return found | self.guaranteed.amounts()

    @model_validator(mode="after")
    def _check_amounts(self) -> Self:
        if self.queues and self.namespaces:
            words = "work waits only in queues without children; give the namespaces to one of: "
            raise AtField(("namespaces",), words + ", ".join(self.queues))
        together = _total_guarantee(self.queues)
        for resource, own in self.guaranteed.amounts().items():
            if together.get(resource, 0) > own:
                words = f"{show_amount(resource, own)} is less than its children are guaranteed together"
                raise AtField(("guaranteed", resource), f"{words}: {_listed(self.queues, resource)}")
        for resource, most in self.maximum.amounts().items():
            least = self.guarantee.get(resource, 0)
            if least > most:
                words = f"{show_amount(resource, most)} is less than the {show_amount(resource, least)} guaranteed"
                raise AtField(("maximum", resource), f"{words}; raise it, or guarantee less")
        return self


class FairSettings(Strict):
    """What a tenant is for the `fair` order, and how long past usage counts."""

    tenant: Annotated[str, Field(max_length=300, pattern=r"^(namespace|user|label:\S+)$")] = "namespace"
    """Who shares: `namespace`, `user`, or a label of workloads, written `label:KEY`."""
    weights: Annotated[dict[LabelValue, Weight], Field(max_length=100_000)] = shared({})
    """The weight of a tenant, by its name; 1 for all others."""
    half_life: Span | None = None
    """The half-life of past use; left out: only present use counts."""
    ageing: Span | None = None
    """The wait that makes up for one priority class, or for holding the whole cluster; left out: none does."""

    def tenant_of(self, namespace: str, user: str | None, labels: Mapping[str, str]) -> str:
        """All work without a user, or without the label, shares one tenant with an empty name."""
        if self.tenant == "namespace":
            return namespace
        if self.tenant == "user":
            return user or ""
        return labels.get(self.tenant.removeprefix(LABEL_PREFIX), "")

    def weight_of(self, tenant: str) -> float:
        return self.weights.get(tenant, 1.0)


def _total_guarantee(queues: Mapping[str, QueueSettings]) -> Amounts:
    found: Amounts = {}
    for child in queues.values():
        for resource, amount in child.guarantee.items():
            found[resource] = found.get(resource, 0) + amount
    return found


def _listed(queues: Mapping[str, QueueSettings], resource: str) -> str:
    parts = [(name, child.guarantee.get(resource, 0)) for name, child in queues.items()]
    return ", ".join(f"{name} {show_amount(resource, amount)}" for name, amount in parts if amount)


class BackfillSettings(Strict):
    """Which work may start while the head of the queue has to wait."""

    mode: Literal["off", "none", "easy", "conservative"] = "easy"
    """`off`: everything that fits starts. `none`: no work overtakes the head of the queue. `easy`: the head is promised
    its earliest start, and work that does not delay it may start before. `conservative`: the first `depth` pending
    workloads are promised a start."""
    candidates: Literal["queue", "arrival"] = "queue"
    """The order in which work behind a waiting head is tried: that of the queue, or by arrival."""
    head: Literal["first", "sticky"] = "first"
    """`first`: the workload that sorts first now. `sticky`: a head stays head until it starts."""
    spare: bool = True
    """Work may use capacity that the head leaves free after its start, not only before it."""
    run_times: Literal["declared", "expected"] = "declared"
    """`declared`: as workloads say. `expected`: corrected by the past run times of their owner."""
    depth: Annotated[int, Field(ge=1, le=1000)] = 100
    """The number of promises in mode `conservative`."""

    @property
    def strict(self) -> bool:
        return self.mode == "none"

    @property
    def promises(self) -> bool:
        return self.mode in ("easy", "conservative")


class BackoffSettings(Strict):
    """The n-th retry waits `first` x 2^(n-1), at most `most`, plus or minus the fraction `jitter`."""

    first: Duration = 1.0
    """The wait before the first retry; each further one waits twice as long."""
    most: Duration = 300.0
    """The longest wait."""
    jitter: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.2
    """The random part of a wait, as a fraction of it, more or less."""


class PromotionSettings(Strict):
    """Every `after` seconds of waiting raise a workload by one priority class, up to `most`."""

    after: Annotated[Duration, Field(gt=0)]
    """Each wait of this length raises a workload by one priority class."""
    most: Priority = Priority.HIGH
    """The highest class that waiting leads to."""


class QuarantineSettings(Strict):
    """After failed placements that no workload is to blame for, a node gets no tasks for `pause`, then one more try.
    The pause doubles each time that try fails, up to `most`. A task that starts there clears the count."""

    failures: Annotated[Count, Field(ge=1, le=1000)] = 5
    """After so many failures that the backend puts down to the node, such as a full disk, it gets no tasks for
    `pause`."""
    workloads: Annotated[Count, Field(ge=2, le=1000)] = 3
    """So do so many different workloads, of two owners or more, that failed there for unknown reasons."""
    window: Annotated[Duration, Field(gt=0)] = 600.0
    """Older failures are forgotten."""
    pause: Annotated[Duration, Field(gt=0)] = 60.0
    """How long, before one more try. It doubles each time that try fails."""
    most: Annotated[Duration, Field(gt=0)] = 3600.0
    """The longest pause."""


def backoff_s(settings: BackoffSettings, failures: int, seed: int, name: str) -> float:
    """How long the `failures`-th retry waits. The jitter follows from a seed and the name of what is retried, so a
    replay retries at the same times."""
    plain: float = min(settings.first * 2.0 ** min(failures - 1, 60), settings.most)
    digest = blake2b(f"{seed}/{name}/{failures}".encode(), digest_size=8).digest()
    chance = int.from_bytes(digest, "big") / 2**64
    return plain * (1.0 + settings.jitter * (2.0 * chance - 1.0))
