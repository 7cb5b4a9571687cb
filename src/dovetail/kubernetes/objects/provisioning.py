"""Where a volume can be provisioned for a claim: what its class allows, and where the driver has capacity.

A driver that publishes its capacity (CSIDriver's `storageCapacity`) has capacity only where it says so; other drivers
are taken to have it everywhere. `version` changes with every object.
"""

from collections.abc import Iterable

from dovetail.kubernetes.objects.selectors import NEVER, label_term
from dovetail.kubernetes_client.objects import Json, NamespacedName, namespaced_name
from dovetail.kubernetes_client.quantity import nanos
from dovetail.model.requests.asks import Match, Term
from dovetail.model.workloads.selection import Operator

_NO_PROVISIONER = "kubernetes.io/no-provisioner"


class Provisioning:
    def __init__(self) -> None:
        self.version = 0
        self._classes: dict[str, Json] = {}
        self._publishing: set[str] = set()  # drivers that publish their capacity
        self._capacities: dict[NamespacedName, Json] = {}
        self._by_class: dict[str, dict[NamespacedName, None]] = {}  # keys of capacities

    # --- what there is ---------------------------------------------------------------------------------------

    def set_class(self, storage_class: Json) -> None:
        self.version += 1
        self._classes[storage_class["metadata"]["name"]] = storage_class

    def drop_class(self, name: str) -> None:
        self.version += 1
        self._classes.pop(name, None)

    def set_driver(self, driver: Json) -> None:
        self.version += 1
        name = driver["metadata"]["name"]
        (self._publishing.add if driver["spec"].get("storageCapacity") else self._publishing.discard)(name)

    def drop_driver(self, name: str) -> None:
        self.version += 1
        self._publishing.discard(name)

    def set_capacity(self, capacity: Json) -> None:
        place = namespaced_name(capacity)
        self.drop_capacity(*place)
        self._capacities[place] = capacity
        self._by_class.setdefault(capacity["storageClassName"], {})[place] = None

    def drop_capacity(self, namespace: str, name: str) -> None:
        self.version += 1
        capacity = self._capacities.pop((namespace, name), None)
        if capacity is not None:
            del self._by_class[capacity["storageClassName"]][namespace, name]

    # --- what it means ---------------------------------------------------------------------------------------

    def waits_for_pod(self, class_name: str) -> bool:
        """Are its claims bound only when their pod has a node?"""
        found = self._classes.get(class_name)
        return found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"

    def provisioner(self, class_name: str) -> str | None:
        found = self._classes.get(class_name)
        return None if found is None else found["provisioner"]

    def allowed(self, class_name: str) -> tuple[Term, ...] | None:
        """Where the class allows a volume: any of the terms; no terms: anywhere; None: nowhere."""
        storage_class = self._classes.get(class_name)
        if storage_class is None or (storage_class.get("provisioner") or _NO_PROVISIONER) == _NO_PROVISIONER:
            return None
        topologies = storage_class.get("allowedTopologies") or ()
        found = []
        for topology in topologies:
            each = topology.get("matchLabelExpressions") or ()
            if each:
                found.append(tuple([Match(one["key"], Operator.IN, tuple(one.get("values") or ())) for one in each]))
        return tuple(found) or ((NEVER,) if topologies else ())

    def with_capacity(self, class_name: str, size: int) -> tuple[Term, ...] | None:
        """Where the driver has capacity for a volume of `size` nanobytes: any of the terms; None: everywhere."""
        if not size or self.provisioner(class_name) not in self._publishing:
            return None
        published = [self._capacities[place] for place in self._by_class.get(class_name, ())]
        terms = [label_term(one.get("nodeTopology")) for one in published if _largest(one) >= size]
        return _together([term for term in terms if term is not None])


def _largest(capacity: Json) -> int:
    """The largest volume that can be provisioned; negative if that is not published."""
    said = capacity.get("maximumVolumeSize") or capacity.get("capacity")
    return -1 if said is None else nanos(str(said))


def _together(terms: Iterable[Term]) -> tuple[Term, ...]:
    """The same in fewer terms: a driver of local disks publishes the capacity of each node separately."""
    values: dict[str, dict[str, None]] = {}
    others: dict[Term, None] = {}
    for term in terms:
        if len(term) == 1 and term[0].operator is Operator.IN:
            values.setdefault(term[0].key, {}).update(dict.fromkeys(term[0].values))
        else:
            others[term] = None
    return (*[(Match(key, Operator.IN, tuple(found)),) for key, found in values.items()], *others)
