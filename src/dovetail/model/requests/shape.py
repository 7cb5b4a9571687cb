"""Shape: everything about a task that placement looks at, and nothing else.

Tasks of equal shape are interchangeable for the scheduler, which is what lets one evaluation serve thousands of
them. A shape is hashable, and `to_json`/`from_json` are inverse, so that a restart needs no other definition.
"""

import json
from dataclasses import dataclass, field, replace
from typing import Any

from dovetail.model.requests.asks import (
    AffinityRule,
    ConstraintAsk,
    GpuAsk,
    Insisted,
    Layout,
    SpreadRule,
    Term,
    Tolerance,
    WeightedMatch,
    gpus_in,
)
from dovetail.model.requests.asks_json import company_from, selector_from, term_from
from dovetail.model.requests.pod_ask import PodAsk, pod_ask_from
from dovetail.model.resources import GPU
from dovetail.model.workloads.constraint import ConstraintKind as Demand
from dovetail.model.workloads.selection import (
    Effect,
    TolerationOperator,
)
from dovetail.model.workloads.workload import WorkloadKind

_OPTIONAL = (
    *("service", "node_selector", "required", "preferred", "avoided", "tolerations", "backends", "near", "insisted"),
    *("wants", "company", "spread", "traffic", "layout", "gpus", "image", "kubernetes"),
)


@dataclass(frozen=True, slots=True)
class Shape:
    amounts: tuple[tuple[str, int], ...]
    kind: WorkloadKind
    scheduler: str
    profile: str
    namespace: str
    service: str | None = None
    node_selector: tuple[tuple[str, str], ...] = ()
    required: tuple[Term, ...] = ()
    preferred: tuple[WeightedMatch, ...] = ()
    avoided: tuple[WeightedMatch, ...] = ()
    tolerations: tuple[Tolerance, ...] = ()
    backends: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    insisted: tuple[Insisted, ...] = ()
    wants: tuple[ConstraintAsk, ...] = ()
    company: tuple[AffinityRule, ...] = ()
    spread: tuple[SpreadRule, ...] = ()
    traffic: tuple[tuple[str, int], ...] = ()  # workloads it talks to, by name, and how much in Mbps
    layout: Layout | None = None
    gpus: GpuAsk | None = None  # None only if it asks for no GPU
    image: str = ""  # only where its profile looks at which node has it
    kubernetes: PodAsk | None = None  # what only Kubernetes has; of pods alone
    digest: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        if self.gpus is None:
            object.__setattr__(self, "gpus", gpus_in(next((a for name, a in self.amounts if name == GPU), 0)))
        # Shapes are dictionary keys on the hottest path: hash the long tuples once, not at every lookup.
        whole = (
            self.amounts,
            self.kind,
            self.scheduler,
            self.profile,
            self.namespace,
            self.service,
            self.node_selector,
            self.required,
            self.preferred,
            self.avoided,
            self.tolerations,
            self.backends,
            self.near,
            self.insisted,
            self.wants,
            self.company,
            self.spread,
            self.traffic,
            self.layout,
            self.gpus,
            self.image,
            self.kubernetes,
        )
        object.__setattr__(self, "digest", hash(whole))

    @property
    def service_key(self) -> tuple[str, str] | None:
        """Namespace and name of the service its tasks count for."""
        return None if self.service is None else (self.namespace, self.service)

    @property
    def bandwidth_mbps(self) -> int:
        """What each of its tasks must be able to send to the others of its gang; 0: nothing is said of it."""
        return 0 if self.layout is None else self.layout.bandwidth_mbps

    def __hash__(self) -> int:
        return self.digest

    def to_json(self) -> str:
        found: dict[str, Any] = {
            "amounts": dict(self.amounts),
            "kind": self.kind,
            "scheduler": self.scheduler,
            "profile": self.profile,
            "namespace": self.namespace,
        }
        for name in _OPTIONAL:
            if value := getattr(self, name):
                found[name] = value
        return json.dumps(found, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> "Shape":
        found = json.loads(text)
        return Shape(
            amounts=tuple(found["amounts"].items()),
            kind=WorkloadKind(found["kind"]),
            scheduler=found["scheduler"],
            profile=found["profile"],
            namespace=found["namespace"],
            service=found.get("service"),
            node_selector=tuple((key, value) for key, value in found.get("node_selector", ())),
            required=tuple(term_from(term) for term in found.get("required", ())),
            preferred=tuple(WeightedMatch(weight, term_from(term)) for weight, term in found.get("preferred", ())),
            avoided=tuple(WeightedMatch(weight, term_from(term)) for weight, term in found.get("avoided", ())),
            tolerations=tuple(_tolerance_from(*parts) for parts in found.get("tolerations", ())),
            backends=tuple(found.get("backends", ())),
            near=tuple(found.get("near", ())),
            insisted=tuple(Insisted(priority, term_from(term)) for priority, term in found.get("insisted", ())),
            wants=tuple(ConstraintAsk(Demand(demand), *rest) for demand, *rest in found.get("wants", ())),
            company=tuple(company_from(parts) for parts in found.get("company", ())),
            spread=tuple(_even_from(*parts) for parts in found.get("spread", ())),
            traffic=tuple((to, mbps) for to, mbps in found.get("traffic", ())),
            layout=None if "layout" not in found else _layout_from(*found["layout"]),
            gpus=None if "gpus" not in found else _gpus_from(*found["gpus"]),
            image=found.get("image", ""),
            kubernetes=None if "kubernetes" not in found else pod_ask_from(found["kubernetes"]),
        )

    @property
    def insists(self) -> bool:
        """Some wish is a demand until nothing fits."""
        return bool(self.insisted) or any(want.priority is not None for want in self.wants)

    def eased(self) -> "tuple[Shape, tuple[str, ...]]":
        """Without insisting on the wishes of the lowest priority number, and which those were."""
        lowest = min([w.priority for w in self.insisted] + [w.priority for w in self.wants if w.priority is not None])
        terms = [" and ".join(map(str, wish.term)) for wish in self.insisted if wish.priority == lowest]
        texts = [want.text for want in self.wants if want.priority == lowest]
        eased = replace(
            self,
            insisted=tuple(wish for wish in self.insisted if wish.priority != lowest),
            wants=tuple(w._replace(priority=None) if w.priority == lowest else w for w in self.wants),
        )
        return eased, (*terms, *texts)

    @property
    def least(self) -> "Shape":
        """What it cannot do without: nothing is insisted on that is a wish."""
        if not self.insists:
            return self
        return replace(self, insisted=(), wants=tuple(w._replace(priority=None) for w in self.wants))


def _gpus_from(count: int, share: int, models: list[str], memory: int, same_island: bool) -> GpuAsk:
    return GpuAsk(count, share, tuple(models), memory, same_island)


def _layout_from(
    required: str | None, preferred: str | None, slices: list[Any], strategy: str, bandwidth_mbps: int = 0
) -> Layout:
    return Layout(required, preferred, tuple((size, level) for size, level in slices), strategy, bandwidth_mbps)


def _even_from(level: str, max_skew: int, whom: list[Any], min_domains: int, weight: float | None) -> SpreadRule:
    return SpreadRule(level, max_skew, tuple(map(selector_from, whom)), min_domains, weight)


def _tolerance_from(
    key: str | None, operator: str, value: str, effect: str | None, seconds: float | None = None
) -> Tolerance:
    return Tolerance(key, TolerationOperator(operator), value, None if effect is None else Effect(effect), seconds)
