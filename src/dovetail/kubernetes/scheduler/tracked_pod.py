"""What the scheduler remembers of one pod."""

from dataclasses import dataclass

from dovetail.kubernetes.objects.pods import PodMeaning
from dovetail.kubernetes_client.objects import Json, NamespacedName

_FROM_NODE = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")


@dataclass(slots=True)
class TrackedPod:
    """`id`: its workload in the engine, 0 if it has none. `node`: its node in the API; `chosen`: the node that we
    decided on."""

    namespace: str
    name: str
    uid: str
    id: int = 0
    meaning: PodMeaning | None = None
    node: str = ""
    chosen: str = ""
    scheduler: str = ""
    pod: Json | None = None  # as it was read, while it waits: it may have to be read again
    nominated: str = ""  # its nominated node, as the engine was told
    gang: NamespacedName | None = None
    least: int = 0  # of its gang
    since: str | None = None  # when it began on its node
    controlled: bool = False  # it has a controller, which wants to know why it ended

    @property
    def place(self) -> NamespacedName:
        return self.namespace, self.name

    @property
    def waits(self) -> bool:
        """The engine looks for a node for it."""
        return bool(self.id) and not self.node and not self.chosen


def counts_the_same(before: PodMeaning, after: PodMeaning) -> bool:
    """Does the pod request the same, and look the same to other pods? Binding adds labels with the node's region and
    zone, which no selector can match without knowing the node."""
    if before.terms.shape.amounts != after.terms.shape.amounts or before.identity.repels != after.identity.repels:
        return False
    known = [one for one in after.identity.labels if one in before.identity.labels or one[0] not in _FROM_NODE]
    return tuple(known) == before.identity.labels and before.identity.volumes == after.identity.volumes
