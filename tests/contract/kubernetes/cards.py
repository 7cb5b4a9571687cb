"""Cards that nodes offer, claims of them, and pods that claim: dynamic resource allocation in small."""

from typing import Any

from tests.contract.kubernetes.cluster import pod

from dovetail.kubernetes.client.paths import DEVICES

Json = dict[str, Any]

CLAIMS, SLICES = f"{DEVICES}/namespaces/default/resourceclaims", f"{DEVICES}/resourceslices"
DRIVER, KIND = "card.example.com", "cards"


def offer(where: str, cards: int) -> Json:
    pool = {"name": where, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"card-{number}", "attributes": {"slot": {"int": number}}} for number in range(cards)]
    spec = {"driver": DRIVER, "nodeName": where, "pool": pool, "devices": devices}
    return {"metadata": {"name": f"{where}-cards"}, "spec": spec}


def claim(name: str, count: int = 1, *selectors: str) -> Json:
    wanted: Json = {"deviceClassName": KIND, "allocationMode": "ExactCount", "count": count}
    if selectors:
        wanted["selectors"] = [{"cel": {"expression": text}} for text in selectors]
    requests = [{"name": "cards", "exactly": wanted}]
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"devices": {"requests": requests}}}


def claiming(name: str, *claims: str, cpu: str = "1", **spec: Any) -> Json:
    each = [{"name": one, "resourceClaimName": one} for one in claims]
    return pod(name, cpu=cpu, resourceClaims=each, **spec)
