"""Small ResourceSlices, claims and classes, and a selector that needs no language."""

from typing import Any

from dovetail.kubernetes.devices.device import DeviceId, DevicePool, DraDevice, SelectorError
from dovetail.kubernetes.devices.inventory import Inventory

Json = dict[str, Any]
DRIVER = "gpu.example.com"


def device(name: str, *, draws: Json | None = None, taints: list[Json] | None = None, **attributes: Any) -> Json:
    """`draws`: by counter set, counters and amounts."""
    body: Json = {"name": name}
    if attributes:
        body["attributes"] = {key: _value(value) for key, value in attributes.items()}
    if draws:
        body["consumesCounters"] = [{"counterSet": one, "counters": _amounts(draws[one])} for one in draws]
    if taints:
        body["taints"] = taints
    return body


def slice_(
    name: str, *devices: Json, pool: str = "p", driver: str = DRIVER, generation: int = 1, count: int = 1, **spec: Any
) -> Json:
    """Of node n1, unless `spec` says otherwise."""
    where = {"nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"} & set(spec)
    said: Json = {"driver": driver, "pool": {"name": pool, "generation": generation, "resourceSliceCount": count}}
    said |= {} if where else {"nodeName": "n1"}
    if devices:
        said["devices"] = list(devices)
    return {"metadata": {"name": name}, "spec": said | spec}


def counters(**sets: Json) -> list[Json]:
    return [{"name": name, "counters": _amounts(amounts)} for name, amounts in sets.items()]


def zone(*values: str) -> Json:
    return {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": list(values)}]}]}


def request(name: str = "r", count: int = 1, *selectors: str, **more: Any) -> Json:
    return {"name": name, "exactly": _asked(count, selectors) | more}


def first_of(name: str, *subrequests: Json) -> Json:
    return {"name": name, "firstAvailable": list(subrequests)}


def sub(name: str, count: int = 1, *selectors: str, **more: Any) -> Json:
    return {"name": name, **_asked(count, selectors), **more}


def claim(*requests: Json, name: str = "c", **devices: Any) -> Json:
    return {
        "metadata": {"namespace": "default", "name": name},
        "spec": {"devices": {"requests": list(requests), **devices}},
    }


def device_class(name: str = "any", *selectors: str, **spec: Any) -> Json:
    found = [{"cel": {"expression": one}} for one in selectors]
    return {"metadata": {"name": name}, "spec": {"selectors": found, **spec}}


def selects(expression: str, one: DraDevice) -> bool:
    """`attribute=value`; what else is written cannot be read."""
    attribute, sign, value = expression.partition("=")
    if not sign:
        raise SelectorError(f"{expression!r} cannot be read")
    found = (one.body.get("attributes") or {}).get(attribute) or {}
    return value in [str(known) for known in found.values()]


def inventory(*slices: Json, nodes: dict[str, Json] | None = None) -> Inventory:
    found = Inventory()
    for name, labels in (nodes or {"n1": {}}).items():
        found.set_node(name, labels)
    for one in slices:
        found.set_slice(one)
    return found


def pools(*slices: Json) -> list[DevicePool]:
    """Of node n1."""
    return inventory(*slices).pools("n1")


def names(found: list[DevicePool]) -> list[str]:
    return [one.id.name for pool in found for one in pool.devices]


def id_(name: str, pool: str = "p") -> DeviceId:
    return DeviceId(DRIVER, pool, name)


def _asked(count: int, selectors: tuple[str, ...]) -> Json:
    asked: Json = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": count}
    if selectors:
        asked["selectors"] = [{"cel": {"expression": one}} for one in selectors]
    return asked


def _value(value: Any) -> Json:
    kind = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "string"
    return value if isinstance(value, dict) else {kind: value}


def _amounts(said: Json) -> Json:
    return {key: {"value": str(value)} for key, value in said.items()}
