"""Cards that nodes offer, claims of them, and pods that claim: dynamic resource allocation in small."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from tests.contract.kubernetes.cluster import Cluster, node, pod, scene
from tests.contract.kubernetes.laid_out import delete_claims
from tests.servers.kubernetes.server import KubeServer

from dovetail.kubernetes_client.errors import AlreadyExists
from dovetail.kubernetes_client.paths import DEVICES

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


def stage(server: KubeServer, play: Callable[[Cluster], Awaitable[None]], **cards: int) -> None:
    """Nodes with so many cards each; no claim and no card is left over."""

    async def cleared(cluster: Cluster) -> None:
        await delete_claims(cluster.api, CLAIMS)
        await cluster.api.delete(SLICES)

    async def whole(cluster: Cluster) -> None:
        chosen = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
        with suppress(AlreadyExists):
            body = {"metadata": {"name": KIND}, "spec": {"selectors": [chosen]}}
            await cluster.api.create(f"{DEVICES}/deviceclasses", body)
        await cleared(cluster)
        await cluster.nodes(*[node(name) for name in cards])
        for name, count in cards.items():
            if count:
                await cluster.api.create(SLICES, offer(name, count))
        try:
            await play(cluster)
        finally:
            await cleared(cluster)

    scene(server, whole)


async def status(cluster: Cluster, name: str) -> Json:
    found: Json = (await cluster.api.get(f"{CLAIMS}/{name}")).get("status") or {}
    return found


def allocated(where: str) -> Json:
    """The first card of a node."""
    fields = [{"key": "metadata.name", "operator": "In", "values": [where]}]
    result = {"request": "cards", "driver": DRIVER, "pool": where, "device": "card-0"}
    return {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": [{"matchFields": fields}]}}


def given(found: Json) -> list[tuple[str, str]]:
    return [(one["pool"], one["device"]) for one in found["allocation"]["devices"]["results"]]
