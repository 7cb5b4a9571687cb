"""The identity of a task: what affinity rules of other work select it by, and which work it repels.

All tasks of a workload have the same identity.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from dovetail.model.requests.asks import AffinityRule, Relation
from dovetail.model.requests.pod_ask import PodAsk
from dovetail.model.workloads.roles import GROUP_LABEL, SERVICE_LABEL
from dovetail.model.workloads.workload import Workload

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class TaskIdentity:
    namespace: str
    workload: str
    service: str | None = None
    labels: Labels = ()
    conflicts: frozenset[str] = frozenset()
    repels: tuple[AffinityRule, ...] = ()  # its required anti-affinity rules, which are symmetric
    talks: tuple[tuple[str, int], ...] = ()  # (workload in its namespace, Mbps)
    bandwidth_mbps: int = 0  # required bandwidth to the others of its gang
    volumes: tuple[tuple[str, str], ...] = ()  # (driver, volume) that its node has to attach for it
    digest: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        # Computed once: it is looked up in dictionaries at every placement.
        object.__setattr__(self, "digest", hash((self.namespace, self.workload, self.service, self.labels)))

    def __hash__(self) -> int:
        return self.digest

    @property
    def gang(self) -> tuple[str, str]:
        """The tasks it communicates with: those of its group, or of its workload without a group."""
        group = next((value for key, value in self.labels if key == GROUP_LABEL), None)
        return self.namespace, self.workload if group is None else f"{GROUP_LABEL} {group}"


def known_as(name: str, labels: Iterable[tuple[str, str]]) -> str:
    """The name by which affinity, spread and traffic know the tasks of a workload: its own, or that of its service."""
    return next((value for key, value in labels if key == SERVICE_LABEL), name)


def labels_of(spec: Workload) -> tuple[tuple[str, str], ...]:
    """Its labels, and a label for its group."""
    if spec.gang is not None and spec.gang.group is not None:
        return tuple(sorted((*spec.labels.items(), (GROUP_LABEL, spec.gang.group))))
    return tuple(sorted(spec.labels.items())) if spec.labels else ()


def identity_of(
    namespace: str,
    workload: str,
    service: str | None,
    labels: Labels,
    rules: tuple[AffinityRule, ...],
    talks: tuple[tuple[str, int], ...] = (),
    bandwidth_mbps: int = 0,
) -> TaskIdentity:
    conflicts = frozenset(whom.conflict for rule in rules for whom in rule.whom if whom.conflict is not None)
    repels = tuple(rule for rule in rules if rule.relation is Relation.APART and rule.weight is None)
    return TaskIdentity(namespace, workload, service, labels, conflicts, repels, talks, bandwidth_mbps)


#: The label that names the workload of a pod: the first one present; an annotation, then common labels.
POD_WORKLOAD = ("dovetail/workload", "app.kubernetes.io/name", "app")


def pod_identity(
    namespace: str,
    labels: Labels,
    ask: PodAsk,
    talks: tuple[tuple[str, int], ...] = (),
    bandwidth_mbps: int = 0,
) -> TaskIdentity:
    """The identity of a pod, without its own name: pods of one template share one identity."""
    volumes = () if ask.volumes is None else ask.volumes.attached
    named = {key: value for key, value in labels if key in POD_WORKLOAD}
    workload = next((named[key] for key in POD_WORKLOAD if key in named), "")
    return TaskIdentity(
        *(namespace, workload, None, labels),
        repels=ask.repels,
        talks=talks,
        bandwidth_mbps=bandwidth_mbps,
        volumes=volumes,
    )
