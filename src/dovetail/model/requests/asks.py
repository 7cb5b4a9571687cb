"""What a task requires and prefers of nodes and of other work, each part in a form that is cheap to compare and to
hash.
"""

import re
from enum import StrEnum
from typing import NamedTuple

from dovetail.model.device import WHOLE
from dovetail.model.text.listing import count
from dovetail.model.text.quantity import show_bytes
from dovetail.model.workloads.affinity import HOST
from dovetail.model.workloads.constraint import ConstraintKind as Demand
from dovetail.model.workloads.selection import Effect, Operator, Taint, TolerationOperator

_DECIMAL = re.compile(r"0|-?[1-9][0-9]{0,17}")  # as people write whole numbers; fits 64 bits


class Match(NamedTuple):
    """One comparison of a label, in hashable form."""

    key: str
    operator: Operator
    values: tuple[str, ...]

    def __str__(self) -> str:
        if self.operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST):
            return f"{self.key} {self.operator}"
        return f"{self.key} {self.operator} {', '.join(self.values)}"


Term = tuple[Match, ...]


class Tolerance(NamedTuple):
    """A toleration in hashable form: which taints it tolerates."""

    key: str | None
    operator: TolerationOperator
    value: str
    effect: Effect | None
    seconds: float | None = None  # how long a NoExecute taint is tolerated; None: for ever

    def tolerates(self, taint: Taint) -> bool:
        if self.effect is not None and self.effect != taint.effect:
            return False
        if self.key is not None and self.key != taint.key:
            return False
        if self.operator is TolerationOperator.EXISTS:
            return True
        if self.operator is TolerationOperator.EQUAL:
            return self.value == taint.value
        if not (_DECIMAL.fullmatch(self.value) and _DECIMAL.fullmatch(taint.value)):
            return False
        more = int(taint.value) - int(self.value)
        return more > 0 if self.operator is TolerationOperator.GT else more < 0


class Insisted(NamedTuple):
    """A preference that is a requirement until nothing fits; the lowest priority number is given up first."""

    priority: int
    term: Term


class WeightedMatch(NamedTuple):
    weight: int
    term: Term


class ConstraintAsk(NamedTuple):
    """An expression about nodes: a requirement, or a preference with a weight, insisted on while it has a priority."""

    demand: Demand
    text: str
    weight: float = 1.0
    priority: int | None = None
    source: str = ""  # where it comes from, if not from the workload itself: `policy ssd-only`

    @property
    def must_hold(self) -> bool:
        return self.demand is Demand.REQUIRE or self.priority is not None


class Selector(NamedTuple):
    """Selects tasks: all given conditions hold of them. No namespaces: of all namespaces."""

    namespaces: tuple[str, ...]
    workload: str | None = None
    service: str | None = None
    term: Term = ()
    conflict: str | None = None  # a member of this set

    def __str__(self) -> str:
        named = (("workload", self.workload), ("service", self.service), ("conflict set", self.conflict))
        words = [f"{word} {name}" for word, name in named if name is not None]
        return " and ".join([*words, *(f"[{match}]" for match in self.term)])


class Relation(StrEnum):
    NEAR = "near"
    APART = "apart"
    DOMAINS = "domains"


class AffinityRule(NamedTuple):
    """Workload affinity: near to any of the selected tasks or apart from all of them, in a domain of the level or by
    distance; or with them in n domains. A preference if it has a weight, else a requirement."""

    relation: Relation
    whom: tuple[Selector, ...]
    level: str = HOST
    distance: float | None = None
    domains: int = 0
    weight: float | None = None
    but: Selector | None = None  # who of them does not count

    def __str__(self) -> str:
        whom = " or ".join(map(str, self.whom))
        if self.relation is Relation.DOMAINS:
            return f"in {self.domains} domains of {self.level} with {whom}"
        where = f"one {self.level}" if self.distance is None else f"distance {self.distance:g}"
        return f"{self.relation} {'to' if self.relation is Relation.NEAR else 'from'} {whom} within {where}"


class GpuAsk(NamedTuple):
    """Which GPUs one task gets: `count` whole ones or, where that is 0, `share` thousandths of a single one; of one of
    the models (any, if none is named; the first is preferred), each with at least this many bytes of memory."""

    count: int = 0  # type: ignore[assignment]  # tuples have a method of this name, which nobody calls here
    share: int = 0
    models: tuple[str, ...] = ()
    memory: int = 0
    same_island: bool = False

    @property
    def each(self) -> int:
        """Thousandths taken of each device."""
        return WHOLE if self.count else self.share

    @property
    def is_picky(self) -> bool:
        """Does it accept only some GPUs, or only some of them together?"""
        return bool(self.models) or self.memory > 0 or self.same_island

    def __str__(self) -> str:
        words = count(self.count, "GPU") if self.count else f"{self.share / WHOLE:g} of a GPU"
        models = f" of model {' or '.join(self.models)}" if self.models else ""
        memory = f" with {show_bytes(self.memory)} each" if self.memory else ""
        return words + models + memory + (" in one island" if self.same_island else "")


def gpus_in(amount: float) -> GpuAsk | None:
    """The GPUs requested where only an amount is known, in thousandths."""
    if not amount:
        return None
    return GpuAsk(count=int(amount) // WHOLE) if amount >= WHOLE else GpuAsk(share=int(amount))


class Layout(NamedTuple):
    """How the tasks of a gang are placed relative to each other: levels by name, slices as (size, level), large ones
    first."""

    required: str | None = None
    preferred: str | None = None
    slices: tuple[tuple[int, str], ...] = ()
    strategy: str = ""  # empty: whichever suits such work
    bandwidth_mbps: int = 0  # what each task can send to the others at once, across the network

    @property
    def levels(self) -> tuple[str, ...]:
        named = (self.required, self.preferred, *(level for _, level in self.slices))
        return tuple(level for level in named if level is not None)


class SpreadRule(NamedTuple):
    """Spread: at most `max_skew` more of the selected tasks in a domain of the level than in the emptiest one."""

    level: str
    max_skew: int
    whom: tuple[Selector, ...]
    min_domains: int = 1
    weight: float | None = None

    def __str__(self) -> str:
        return f"spread over {self.level} with max_skew {self.max_skew}"


class MarketAsk(NamedTuple):
    """What matters where several places could run a task. The first fields are shares that add up to 1, in the order
    of `PreferenceWeights`. `run_s`: how long it will probably run. `checkpoint_s`: how often it saves its work, 0 if it
    does not. `inputs`: gigabytes that it reads, by place."""

    price: float = 0.0
    start: float = 0.0
    carbon: float = 0.0
    egress: float = 0.0
    risk: float = 0.0
    local: float = 0.0
    run_s: float = 3600.0
    checkpoint_s: float = 0.0
    inputs: tuple[tuple[str, float], ...] = ()

    @property
    def minds_price(self) -> bool:
        """The price matters to it at least as much as an early start or low emissions: it may wait for low prices."""
        return self.price > 0 and self.price >= max(self.start, self.carbon)
