"""Taints of devices, and who may have a device in spite of them."""

from collections.abc import Sequence

from dovetail.kubernetes.devices.device import Json

#: Effects that keep a device from being given away; others only tell.
_EXCLUDING = ("NoSchedule", "NoExecute")


def excluded(body: Json, tolerations: Sequence[Json]) -> bool:
    """Whether a taint of the device keeps it from a request with these tolerations."""
    taints: Sequence[Json] = body.get("taints") or ()
    return any(
        taint.get("effect") in _EXCLUDING and not any(_tolerates(one, taint) for one in tolerations) for taint in taints
    )


def _tolerates(toleration: Json, taint: Json) -> bool:
    """An empty key is any key, an empty effect any effect."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Equal":
        return (toleration.get("value") or "") == (taint.get("value") or "")
    return bool(operator == "Exists")
