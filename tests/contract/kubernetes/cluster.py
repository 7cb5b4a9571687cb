"""A real API server for tests of the scheduler: nodes and pods on it, and schedulers that run beside it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.contract.kubernetes.gate import straight
from tests.servers.kubernetes.server import KubeServer

from dovetail.kubernetes.scheduler.scheduler import PodScheduler
from dovetail.kubernetes_client.api import Api

PODS = "/api/v1/namespaces/default/pods"
AT_ONCE = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
PATIENCE_S = 60.0
LONGEST_PAUSE_S = 0.1
"""Between two looks at something that takes long: each costs the server as much as some of what is waited for."""


def node(name: str, cpu: str = "4", **labels: str) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    about = {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}}
    return {"metadata": about, "status": {"capacity": amounts, "allocatable": amounts}}


def pod(name: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    wanted = {"schedulerName": "dovetail", "terminationGracePeriodSeconds": 0, "containers": [container], **spec}
    return {"metadata": {"name": name, "labels": {"app": name.split("-")[0]}}, "spec": wanted}


class Cluster:
    """Objects on the server, and schedulers that run on it."""

    def __init__(self, server: KubeServer, api: Api) -> None:
        self.server, self.api = server, api

    async def empty(self) -> None:
        """No nodes, and no pods in any namespace: a kube-scheduler that a test starts takes care of all."""
        spaces = {one["metadata"]["namespace"] for one in await self.api.items("/api/v1/pods")}
        paths = ["/api/v1/nodes", *[f"/api/v1/namespaces/{name}/pods" for name in spaces]]
        await asyncio.gather(*[self.api.delete(path, AT_ONCE) for path in paths])

    async def nodes(self, *nodes: dict[str, Any]) -> None:
        for one in nodes:
            await self.api.create("/api/v1/nodes", one)

    async def pods(self, *pods: dict[str, Any]) -> None:
        await asyncio.gather(*[self.api.create(PODS, one) for one in pods])

    async def where(self) -> dict[str, str]:
        return {one["metadata"]["name"]: one["spec"].get("nodeName", "") for one in await self.api.items(PODS)}

    async def one(self, name: str) -> dict[str, Any]:
        return await self.api.get(f"{PODS}/{name}")

    async def until(self, holds: Callable[[], Awaitable[bool]], what: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                pause_s = 0.02
                while not await holds():  # what a server did is not ours to be told
                    await asyncio.sleep(pause_s)
                    pause_s = min(LONGEST_PAUSE_S, 1.5 * pause_s)
        except TimeoutError:
            raise AssertionError(f"waited in vain until {what}; pods are {await self.where()}") from None

    async def until_bound(self, *names: str) -> None:
        async def bound() -> bool:
            # The API server sends few, until the last is bound.
            waiting = await self.api.items(PODS, {"fieldSelector": "spec.nodeName="})
            if not {one["metadata"]["name"] for one in waiting}.isdisjoint(names):
                return False
            where = await self.where()
            return all(where.get(name) for name in names)

        await self.until(bound, f"{', '.join(names)} have nodes")

    @asynccontextmanager
    async def scheduler(self) -> AsyncIterator[PodScheduler]:
        async with straight(self.server) as api:
            found = PodScheduler(api)
            running = asyncio.create_task(found.run())
            try:
                yield found
            finally:
                if running.done():
                    running.result()  # it should never end by itself
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)


def scene(server: KubeServer, play: Callable[[Cluster], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with straight(server) as api:
            cluster = Cluster(server, api)
            await cluster.empty()
            await play(cluster)
            await cluster.empty()

    asyncio.run(whole())
