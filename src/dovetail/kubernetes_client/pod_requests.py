"""What a pod requests of its node: the sum of its containers or its largest init container, whichever is more, with
sidecars, overhead and pod-level requests.

For a pod on a node, a container that is being resized counts with the most of its request, its allocation and its
usage.
"""

from collections.abc import Mapping

from dovetail.kubernetes_client.objects import Json
from dovetail.kubernetes_client.quantity import milli, nanos, units
from dovetail.model.resources import CPU, DISK, MEMORY, SLOTS

Nanos = dict[str, int]
Amounts = tuple[tuple[str, int], ...]

_OURS = {"cpu": CPU, "memory": MEMORY, "ephemeral-storage": DISK, "pods": SLOTS}
#: Of resources that have no domain before their name, such as huge pages.
_NATIVE = "kubernetes.io/"
_FOR_PODS = ("cpu", "memory")
_HUGE_PAGES = "hugepages-"


def resource_name(name: str) -> str:
    """What a resource is called here."""
    return _OURS.get(name) or (name if "/" in name else _NATIVE + name)


def amount(name: str, amount_nanos: int) -> int:
    """In whole numbers of the smallest unit."""
    return milli(amount_nanos) if name == "cpu" else units(amount_nanos)


def requests_of(pod: Json, *, with_status: bool = False) -> Amounts:
    """Sorted by name, without what it takes nothing of; every pod takes one slot."""
    spec = pod["spec"]
    total = _containers(spec, _statuses(pod) if with_status else {}, _infeasible(pod) if with_status else False)
    whole = (spec.get("resources") or {}).get("requests") or {}
    if whole:
        status = pod.get("status") or {}
        effective = _nanos(whole)
        if with_status and status.get("resources") is not None:
            effective = _effective(effective, status["resources"], status.get("allocatedResources"), _infeasible(pod))
        for name in whole:
            if name in _FOR_PODS or name.startswith(_HUGE_PAGES):
                total[name] = effective.get(name, 0)
    if overhead := spec.get("overhead"):
        _add(total, _nanos(overhead))
    found = {resource_name(name): amount(name, value) for name, value in total.items() if name != "pods" and value > 0}
    found[SLOTS] = 1
    return tuple(sorted(found.items()))


def _containers(spec: Json, statuses: Mapping[str, Json], infeasible: bool) -> Nanos:
    total: Nanos = {}
    for container in spec.get("containers") or ():
        _add(total, _asked(container, statuses, infeasible))
    if not spec.get("initContainers"):
        return total
    staying: Nanos = {}
    largest: Nanos = {}
    for container in spec["initContainers"]:
        if container.get("restartPolicy") == "Always":
            asked = _asked(container, statuses, infeasible)
            _add(total, asked)
            _add(staying, asked)
            _raise_to(largest, staying)
        else:
            asked = dict(_asked(container, {}, infeasible))
            _add(asked, staying)
            _raise_to(largest, asked)
    _raise_to(total, largest)
    return total


def _asked(container: Json, statuses: Mapping[str, Json], infeasible: bool) -> Nanos:
    asked = _nanos((container.get("resources") or {}).get("requests") or {})
    status = statuses.get(container.get("name") or "")
    if status is None or status.get("resources") is None:
        return asked
    return _effective(asked, status["resources"], status.get("allocatedResources"), infeasible)


def _effective(asked: Nanos, has: Json, promised: Json | None, infeasible: bool) -> Nanos:
    """While it is resized; what it asks for does not count where the node has said that it cannot have it."""
    found: Nanos = {} if infeasible else dict(asked)
    _raise_to(found, _nanos(has.get("requests") or {}))
    _raise_to(found, _nanos(promised or {}))
    return found


def _statuses(pod: Json) -> dict[str, Json]:
    status = pod.get("status") or {}
    each = (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ()))
    return {one["name"]: one for one in each}


def _infeasible(pod: Json) -> bool:
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "PodResizePending":
            return bool(condition.get("reason") == "Infeasible")
    return False


def _nanos(resources: Json) -> Nanos:
    return {name: nanos(str(value)) for name, value in resources.items()}


def _add(total: Nanos, more: Nanos) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _raise_to(total: Nanos, other: Nanos) -> None:
    for name, value in other.items():
        total[name] = max(total.get(name, value), value)
