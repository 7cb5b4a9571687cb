"""What a scheduler does to pods is done once, or the error says why not."""

import asyncio

import pytest
from tests.contract.kubernetes.gate import new_namespace, node_body, pod_body, straight, through
from tests.servers.kubernetes.server import KubeServer

from dovetail.kubernetes_client.errors import (
    AlreadyExists,
    ApiUnreachable,
    Forbidden,
    ObjectConflict,
    ObjectInvalid,
    ObjectNotFound,
)
from dovetail.kubernetes_client.pods import bind, delete, nominate
from dovetail.testing.lossy_proxy import LossyProxy

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]


def test_many_binds_at_once_bind_each_pod_once(kube_server: KubeServer) -> None:
    async def scene() -> None:
        async with straight(kube_server) as api:
            path = await new_namespace(api, "many-binds")
            nodes = ["many-1", "many-2"]
            for node in nodes:
                await api.create("/api/v1/nodes", node_body(node))
            names = [f"p{number}" for number in range(60)]
            await asyncio.gather(*(api.create(path, pod_body(name)) for name in names))
            tries = [bind(api, "many-binds", name, node) for name in names for node in nodes]
            outcomes = await asyncio.gather(*tries, return_exceptions=True)
            assert sum(outcome is None for outcome in outcomes) == len(names)
            assert sum(isinstance(outcome, ObjectConflict) for outcome in outcomes) == len(names)
            bound = {item["spec"].get("nodeName") for item in await api.items(path)}
            assert bound <= set(nodes)
            with pytest.raises(ObjectNotFound):
                await bind(api, "many-binds", "nobody", "many-1")
            for node in nodes:
                await api.delete(f"/api/v1/nodes/{node}")

    asyncio.run(scene())


def test_a_binding_is_for_the_pod_that_was_meant(kube_server: KubeServer) -> None:
    async def scene() -> None:
        async with straight(kube_server) as api:
            path = await new_namespace(api, "meant")
            old = await api.create(path, pod_body("same-name"))
            await delete(api, "meant", "same-name", grace_s=0)
            new = await api.create(path, pod_body("same-name"))
            with pytest.raises(ObjectConflict):
                await bind(api, "meant", "same-name", "any", old["metadata"]["uid"])
            with pytest.raises(ObjectConflict):
                await delete(api, "meant", "same-name", uid=old["metadata"]["uid"])
            assert (await api.get(f"{path}/same-name"))["metadata"]["uid"] == new["metadata"]["uid"]
            assert await delete(api, "meant", "not-there") is False
            with pytest.raises(AlreadyExists):
                await api.create(path, pod_body("same-name"))
            with pytest.raises(ObjectInvalid, match="containers"):
                await api.create(path, {"metadata": {"name": "empty"}, "spec": {"containers": []}})

    asyncio.run(scene())


def test_a_nomination_and_its_reason_stand_in_the_status(kube_server: KubeServer) -> None:
    async def scene() -> None:
        async with straight(kube_server) as api:
            path = await new_namespace(api, "nominated")
            await api.create(path, pod_body("waits"))
            condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
            await nominate(api, "nominated", "waits", "soon-free", [condition])
            status = (await api.get(f"{path}/waits"))["status"]
            assert status["nominatedNodeName"] == "soon-free"
            assert [each["reason"] for each in status["conditions"]] == ["Unschedulable"]
            await nominate(api, "nominated", "waits", None)
            assert "nominatedNodeName" not in (await api.get(f"{path}/waits"))["status"]

    asyncio.run(scene())


def test_who_may_not_is_told_so_and_who_is_away_is_unreachable(kube_server: KubeServer) -> None:
    async def scene(proxy: LossyProxy) -> None:
        async with through(proxy.address, kube_server, "nobody") as api:
            with pytest.raises(Forbidden, match="nobody"):
                await api.get("/api/v1/nodes")
            async with proxy.break_calls():
                with pytest.raises(ApiUnreachable, match="no answer from the Kubernetes API"):
                    await api.get("/api/v1/nodes")

    with LossyProxy(f"127.0.0.1:{kube_server.port}") as proxy:
        asyncio.run(scene(proxy))
