"""A storm of pods, and a scheduler that is killed in the middle of it, again and again, without a word.

Every pod gets a node once, and no node ever holds more than it has: not at the end, and at no moment in between, as the
API server's own watch tells it, change by change. The pods fill the nodes to the last core, so that one that is given
away twice, or lost, cannot hide.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from tests.contract.kubernetes.gate import straight
from tests.contract.kubernetes.laid_out import clear
from tests.contract.kubernetes.scheduler_process import killed_in_the_end
from tests.examples import times
from tests.patience import until
from tests.servers.kubernetes.server import KubeServer

from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import AlreadyExists
from dovetail.kubernetes_client.reflector import ChangeKind, ObjectChange, Reflector

pytestmark = [pytest.mark.needs_server, pytest.mark.slow, pytest.mark.xdist_group("kubernetes")]

SEED = int(os.environ.get("DOVETAIL_KUBERNETES_SEED", "1"))
NODES, A_NODE = times(10), 40
PODS = NODES * A_NODE
KILLS = times(3)
MOST_BOUND_BEFORE_A_KILL = 55
SPACE = "storm"
PATH = f"/api/v1/namespaces/{SPACE}/pods"


class History:
    """Every change of a pod, in the API server's order."""

    def __init__(self) -> None:
        self.where: dict[str, str] = {}
        self.held: Counter[str] = Counter()
        self.wrong: list[str] = []

    def hear(self, changes: list[ObjectChange]) -> None:
        for change in changes:
            name, node = change.object["metadata"]["name"], change.object["spec"].get("nodeName") or ""
            if change.kind is ChangeKind.DELETED:
                self.wrong.append(f"{name} was deleted")
            before = self.where.get(name, "")
            if node == before:
                continue
            if before:
                self.wrong.append(f"{name} went from {before} to {node or 'nowhere'}")
            self.where[name] = node
            self.held[node] += 1
            if self.held[node] > A_NODE:
                self.wrong.append(f"{node} holds {self.held[node]} pods, and has room for {A_NODE}")

    def reaches(self, bound: int) -> Callable[[], bool]:
        return lambda: len(self.where) >= bound


def test_kills_in_a_storm_of_pods_lose_none_and_overcommit_no_node(kube_server: KubeServer) -> None:
    asyncio.run(_storm(kube_server))


async def _storm(server: KubeServer) -> None:
    chance = Random(SEED)
    async with straight(server) as api:
        await clear(api)
        await _lay_out(api)
        history = History()
        reflector = Reflector(api, PATH, history.hear)
        informer = asyncio.create_task(reflector.run())
        await reflector.synced.wait()
        async with asyncio.TaskGroup() as group:
            group.create_task(_pods(api))
            for _ in range(KILLS):
                due = len(history.where) + chance.randint(1, MOST_BOUND_BEFORE_A_KILL)
                async with killed_in_the_end(server):
                    await until(history.reaches(due), f"{due} pods have a node")
                    await asyncio.sleep(chance.uniform(0.0, 0.05))
        left_to_the_last = PODS - len(history.where)
        async with killed_in_the_end(server):
            await until(history.reaches(PODS), "all pods have a node")
        informer.cancel()
        assert not history.wrong, f"seed {SEED}: {history.wrong[:10]}"
        assert left_to_the_last > 0, "the storm was over before the last kill"
        assert reflector.lists == 1, "the history has a gap"
        assert set(history.held.values()) == {A_NODE}
        found = Counter(one["spec"].get("nodeName", "") for one in await api.items(PATH))
        assert found == history.held
        await clear(api)


async def _lay_out(api: Api) -> None:
    with suppress(AlreadyExists):
        await api.create("/api/v1/namespaces", {"metadata": {"name": SPACE}})
    amounts = {"cpu": f"{A_NODE * 100}m", "memory": "64Gi", "pods": "110"}
    status = {"capacity": amounts, "allocatable": amounts}
    for number in range(NODES):
        await api.create("/api/v1/nodes", {"metadata": {"name": f"n{number}"}, "status": status})


async def _pods(api: Api) -> None:
    container: dict[str, Any] = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "100m"}}}
    spec = {"schedulerName": "dovetail", "containers": [container]}
    for first in range(0, PODS, 100):
        made = [{"metadata": {"name": f"p{first + i}"}, "spec": spec} for i in range(100)]
        await asyncio.gather(*[api.create(PATH, one) for one in made])
