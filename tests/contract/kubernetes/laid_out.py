"""A random cluster laid out on an API server, read back from it, and cleared away again."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from tests.contract.kubernetes.cluster import AT_ONCE
from tests.contract.kubernetes.random_cluster import CLASSES, DRIVERS, RUNTIME_CLASS, RandomCluster
from tests.contract.kubernetes.random_devices import CLASSES as DEVICE_CLASSES
from tests.contract.kubernetes.random_pods import PATIENT, PRIORITIES

from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import AlreadyExists
from dovetail.kubernetes_client.paths import DEVICES

Json = dict[str, Any]

NODES, PODS, VOLUMES = "/api/v1/nodes", "/api/v1/pods", "/api/v1/persistentvolumes"
_STORAGE = "/apis/storage.k8s.io/v1"
#: How a scenario calls each kind of object, and where the API has it.
KINDS = {
    "nodes": NODES,
    "pods": PODS,
    "namespaces": "/api/v1/namespaces",
    "pvs": VOLUMES,
    "pvcs": "/api/v1/persistentvolumeclaims",
    "storageClasses": f"{_STORAGE}/storageclasses",
    "csiNodes": f"{_STORAGE}/csinodes",
    "csiDrivers": f"{_STORAGE}/csidrivers",
    "csiStorageCapacities": f"{_STORAGE}/csistoragecapacities",
    "deviceClasses": f"{DEVICES}/deviceclasses",
    "resourceSlices": f"{DEVICES}/resourceslices",
    "resourceClaims": f"{DEVICES}/resourceclaims",
    "pdbs": "/apis/policy/v1/poddisruptionbudgets",
}


async def lay_out_classes(api: Api) -> None:
    """What all clusters have in common; once a server."""
    for name, value in PRIORITIES.items():
        policy = "Never" if name == PATIENT else "PreemptLowerPriority"
        body = {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy}
        await _once(api, "/apis/scheduling.k8s.io/v1/priorityclasses", body)
    for one in CLASSES:
        await _once(api, KINDS["storageClasses"], one)
    for one in DRIVERS:
        await _once(api, KINDS["csiDrivers"], one)
    for one in DEVICE_CLASSES:
        await _once(api, KINDS["deviceClasses"], one)
    await _once(api, "/apis/node.k8s.io/v1/runtimeclasses", RUNTIME_CLASS)


async def _once(api: Api, path: str, body: Json) -> None:
    with suppress(AlreadyExists):
        await api.create(path, body)


async def lay_out(api: Api, cluster: RandomCluster) -> None:
    """Everything but the pods that wait."""
    for one in cluster.namespaces:
        await api.create(KINDS["namespaces"], one)
    await create(api, NODES, cluster.nodes)
    await create(api, KINDS["csiNodes"], cluster.csi_nodes)
    await create(api, VOLUMES, cluster.volumes, with_status=True)
    for one in cluster.claims:
        await create(api, path_of(one, "persistentvolumeclaims"), [one], with_status=True)
    for one in cluster.rooms:
        await create(api, path_of(one, "csistoragecapacities", _STORAGE), [one])
    await create(api, KINDS["resourceSlices"], cluster.devices.slices)
    for one in cluster.devices.claims:
        await api.create(path_of(one, "resourceclaims", DEVICES), one)
        await say_devices(api, one, cluster.devices.allocated.get(one["metadata"]["name"], {}))
    await create_pods(api, cluster.placed)
    for namespace, name in sorted(cluster.finished):
        await api.patch(f"/api/v1/namespaces/{namespace}/pods/{name}/status", {"status": {"phase": "Succeeded"}})
    for namespace, name in sorted(cluster.leaving):
        await api.delete(f"/api/v1/namespaces/{namespace}/pods/{name}")


async def create(api: Api, path: str, bodies: Iterable[Json], *, with_status: bool = False) -> None:
    async def make(body: Json) -> None:
        await api.create(path, body)
        if with_status and "status" in body:
            await api.patch(f"{path}/{body['metadata']['name']}/status", {"status": body["status"]})

    await asyncio.gather(*[make(body) for body in bodies])


async def say_devices(api: Api, claim: Json, status: Json) -> None:
    """What the claim has, and nothing else."""
    path = f"{path_of(claim, 'resourceclaims', DEVICES)}/{claim['metadata']['name']}"
    now = await api.get(path)
    if (now.get("status") or {}) != status:
        await api.replace(f"{path}/status", now | {"status": status})


async def delete_claims(api: Api, path: str) -> None:
    """All claims of devices of a namespace, whoever has them."""
    kept = [one["metadata"]["name"] for one in await api.items(path) if one["metadata"].get("finalizers")]
    await asyncio.gather(*[api.patch(f"{path}/{name}", {"metadata": {"finalizers": None}}) for name in kept])
    await api.delete(path)


async def create_pods(api: Api, pods: Iterable[Json]) -> list[Json]:
    """As the server made them."""
    return list(await asyncio.gather(*[api.create(path_of(pod), pod) for pod in pods]))


async def read_back(api: Api) -> dict[str, list[Json]]:
    """All objects, as they are stored."""
    return {kind: await api.items(path) for kind, path in KINDS.items()}


async def clear(api: Api) -> None:
    """Everything but namespaces, which would need their controller to go, and classes."""
    for path in {path_of(claim, "resourceclaims", DEVICES) for claim in await api.items(KINDS["resourceClaims"])}:
        await delete_claims(api, path)
    paths = {NODES, VOLUMES, KINDS["csiNodes"], KINDS["resourceSlices"]}
    paths |= {path_of(pod) for pod in await api.items(PODS)}
    paths |= {path_of(claim, "persistentvolumeclaims") for claim in await api.items(KINDS["pvcs"])}
    rooms = await api.items(KINDS["csiStorageCapacities"])
    paths |= {path_of(room, "csistoragecapacities", _STORAGE) for room in rooms}
    await asyncio.gather(*[api.delete(path, AT_ONCE) for path in paths])


def path_of(one: Json, plural: str = "pods", api: str = "/api/v1") -> str:
    return f"{api}/namespaces/{one['metadata']['namespace']}/{plural}"
