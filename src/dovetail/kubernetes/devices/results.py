"""An allocation as the API keeps it in a claim's status: devices, how to set them up, and where they can be used.

Empty parts are left out, as the API leaves them out.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dovetail.kubernetes.devices.asking import Ask
from dovetail.kubernetes.devices.device import DraDevice
from dovetail.kubernetes_client.objects import Json

Choice = tuple[Ask, DraDevice]


def allocation_of(claim: Json, chosen: Sequence[Choice], classes: Mapping[str, Json], node: str) -> Json:
    """`chosen`: by request, in the order of the claim's requests; `node`: where they were chosen."""
    devices: dict[str, Any] = {"results": [_result(ask, device) for ask, device in chosen]}
    asks = list(dict.fromkeys([ask for ask, _device in chosen]))
    if config := [*_class_config(asks, classes), *_claim_config(claim, asks)]:
        devices["config"] = config
    selector = _node_selector([device for _ask, device in chosen], node)
    return {"devices": devices} if selector is None else {"devices": devices, "nodeSelector": selector}


def _result(ask: Ask, device: DraDevice) -> Json:
    driver, pool, name = device.id
    result: dict[str, Any] = {"request": ask.name, "driver": driver, "pool": pool, "device": name}
    if ask.admin:
        result["adminAccess"] = True
    if ask.tolerations:
        result["tolerations"] = list(ask.tolerations)
    return result


def _class_config(asks: Sequence[Ask], classes: Mapping[str, Json]) -> list[Json]:
    """Each class once, for all requests of it."""
    requests: dict[str, list[str]] = {}
    for ask in asks:
        requests.setdefault(ask.class_name, []).append(ask.name)
    return [
        {**one, "source": "FromClass", "requests": list(names)}
        for class_name, names in requests.items()
        for one in classes[class_name]["spec"].get("config") or ()
    ]


def _claim_config(claim: Json, asks: Sequence[Ask]) -> list[Json]:
    """What is meant for subrequests that were not chosen is left out."""
    names = frozenset().union(*[ask.names for ask in asks])
    found = (claim["spec"].get("devices") or {}).get("config") or ()
    return [
        {**one, "source": "FromClaim"}
        for one in found
        if not one.get("requests") or not names.isdisjoint(one["requests"])
    ]


def _node_selector(devices: Sequence[DraDevice], node: str) -> Json | None:
    """None: they can be used from all nodes."""
    fields: list[Json] = []
    expressions: list[Json] = []
    for device in devices:
        said = device.body if device.offer.get("perDeviceNodeSelection") else device.offer
        if name := said.get("nodeName"):
            return _only(name)
        terms = (said.get("nodeSelector") or {}).get("nodeSelectorTerms") or ()
        if len(terms) > 1:
            # The API allows one term. Several cannot be combined with other devices'; this node is surely right.
            return _only(node)
        for term in terms:
            _add(term.get("matchFields") or (), fields)
            _add(term.get("matchExpressions") or (), expressions)
    term = {key: value for key, value in (("matchExpressions", expressions), ("matchFields", fields)) if value}
    return {"nodeSelectorTerms": [term]} if term else None


def _only(node: str) -> Json:
    requirement = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {"nodeSelectorTerms": [{"matchFields": [requirement]}]}


def _add(requirements: Sequence[Json], found: list[Json]) -> None:
    """Those that are not there yet; the order of values makes no difference."""
    for one in requirements:
        if not any(_meaning(one) == _meaning(other) for other in found):
            found.append(one)


def _meaning(requirement: Json) -> tuple[str, str, frozenset[str]]:
    return requirement["key"], requirement["operator"], frozenset(requirement.get("values") or ())
