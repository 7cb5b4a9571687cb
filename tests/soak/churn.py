"""A cluster that is never the same for long: nodes join, die, are tainted, cordoned and resized; pods come in bursts,
go, end, are gated and let go.

What is done follows from the seed and from what is there, as a watch tells it; there is never more than the limits
below. Calls that fail, because the API server is away or because somebody was quicker, are counted and forgotten.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from random import Random
from typing import Any

from tests.soak import templates
from tests.soak.templates import NAMESPACE, PRIORITIES

from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import AlreadyExists, KubernetesApiError
from dovetail.kubernetes_client.paths import NODES, pod
from dovetail.kubernetes_client.reflector import ChangeKind, ObjectChange, Reflector

Json = dict[str, Any]

PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
FEWEST_NODES, MOST_NODES = 25, 50
MOST_PODS = 700
BEAT_S, FLOOD_BEAT_S = 0.3, 0.02
_FINISHED = ("Succeeded", "Failed")


class Pod:
    """As much of a pod as is needed to do something to it."""

    __slots__ = ("finished", "gated", "node", "ours")

    def __init__(self, pod: Json) -> None:
        spec = pod["spec"]
        self.node = str(spec.get("nodeName") or "")
        self.gated = bool(spec.get("schedulingGates"))
        self.finished = pod["status"].get("phase") in _FINISHED
        self.ours = spec.get("schedulerName") == templates.OURS


class Churn:
    """`created`, `failed`: pods that were made, and calls that came to nothing."""

    def __init__(self, api: Api, chance: Random) -> None:
        self._api, self._chance = api, chance
        self.nodes: dict[str, Json] = {}
        self.pods: dict[str, Pod] = {}
        self.created = self.failed = 0
        self.beat_s = BEAT_S  # between two acts
        self._last_pod = self._last_node = 0
        self._calm = asyncio.Event()
        self._idle = asyncio.Event()
        self._calm.set()

    async def begin(self) -> None:
        """What everything else needs."""
        for name, value in PRIORITIES.items():
            with suppress(AlreadyExists):
                body = {"metadata": {"name": name}, "value": value}
                await self._api.create("/apis/scheduling.k8s.io/v1/priorityclasses", body)
        with suppress(AlreadyExists):
            await self._api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        for _ in range((FEWEST_NODES + MOST_NODES) // 2):
            await self._join_anew()

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(Reflector(self._api, NODES, self._hear_nodes).run())
            group.create_task(Reflector(self._api, PODS, self._hear_pods).run())
            group.create_task(self._stir())

    async def pause(self) -> None:
        """Nothing more is done from now on; returns when what was under way is over."""
        self._calm.clear()
        await self._idle.wait()

    def resume(self) -> None:
        self._idle.clear()
        self._calm.set()

    async def _stir(self) -> None:
        acts: tuple[tuple[int, Callable[[], Awaitable[None]]], ...] = (
            (10, self.burst),
            (6, self.delete),
            (4, self.finish),
            (3, self.release_spares),
            (3, self.tidy),
            (1, self.join),
            (1, self.die),
            (2, self.taint),
            (2, self.cordon),
            (1, self.resize),
            (1, self.move),
        )
        weights, each = zip(*acts, strict=True)
        while True:
            if not self._calm.is_set():
                self._idle.set()
                await self._calm.wait()
            (act,) = self._chance.choices(each, weights)
            await act()
            await asyncio.sleep(self.beat_s)

    def _hear_nodes(self, changes: list[ObjectChange]) -> None:
        for change in changes:
            name = change.object["metadata"]["name"]
            if change.kind is ChangeKind.DELETED:
                self.nodes.pop(name, None)
            else:
                self.nodes[name] = change.object["spec"]

    def _hear_pods(self, changes: list[ObjectChange]) -> None:
        for change in changes:
            name = change.object["metadata"]["name"]
            if change.kind is ChangeKind.DELETED:
                self.pods.pop(name, None)
            else:
                self.pods[name] = Pod(change.object)

    async def _do(self, *calls: Awaitable[object]) -> int:
        """How many of them were done."""
        done = await asyncio.gather(*calls, return_exceptions=True)
        failed = [one for one in done if isinstance(one, BaseException)]
        for error in failed:
            if not isinstance(error, KubernetesApiError):
                raise error
        self.failed += len(failed)
        return len(done) - len(failed)

    def _some(self, names: Iterable[str], most: int) -> list[str]:
        found = sorted(names)
        return self._chance.sample(found, min(len(found), self._chance.randint(1, most)))

    # --- pods ------------------------------------------------------------------------------------------------

    async def burst(self) -> None:
        room = MOST_PODS - len(self.pods)
        if room <= 0:
            await self.delete()
            return
        kind = self._chance.choice(sorted(templates.KINDS))
        count = min(room, self._chance.choice((5, 20, 60)))
        made = templates.pods(kind, self._last_pod, count, self._chance, sorted(self.nodes))
        self._last_pod += count
        self.created += await self._do(*[self._api.create(PODS, one) for one in made])

    async def delete(self) -> None:
        names = self._some(self.pods, 60)
        await self._do(*[self._api.delete(pod(NAMESPACE, name)) for name in names])

    async def finish(self) -> None:
        """As a kubelet would say it."""
        running = [name for name, one in self.pods.items() if one.node and not one.finished]
        body = {"status": {"phase": self._chance.choice(_FINISHED)}}
        calls = [self._api.patch(pod(NAMESPACE, name, "status"), body) for name in self._some(running, 40)]
        await self._do(*calls)

    async def release_spares(self) -> None:
        gated = [name for name, one in self.pods.items() if one.gated]
        body = {"spec": {"schedulingGates": None}}
        await self._do(*[self._api.patch(pod(NAMESPACE, name), body) for name in self._some(gated, 60)])

    async def tidy(self) -> None:
        """Pods that ended, and those whose node is gone, are deleted, as controllers would."""
        lost = [name for name, one in self.pods.items() if one.finished or (one.node and one.node not in self.nodes)]
        await self._do(*[self._api.delete(pod(NAMESPACE, name), {"gracePeriodSeconds": 0}) for name in lost])

    # --- nodes -----------------------------------------------------------------------------------------------

    async def join(self) -> None:
        """A new one, or one that was there before."""
        if len(self.nodes) >= MOST_NODES:
            return
        gone = [name for name in (f"n{number}" for number in range(self._last_node)) if name not in self.nodes]
        if gone and self._chance.random() < 0.5:
            await self._join(self._chance.choice(gone))
        else:
            await self._join_anew()

    async def _join_anew(self) -> None:
        self._last_node += 1
        await self._join(f"n{self._last_node - 1}")

    async def _join(self, name: str) -> None:
        await self._do(self._api.create(NODES, templates.node(name, self._chance)))

    async def die(self) -> None:
        """With everything that is on it."""
        if len(self.nodes) > FEWEST_NODES:
            await self._do(self._api.delete(f"{NODES}/{self._chance.choice(sorted(self.nodes))}"))

    async def taint(self) -> None:
        for name in self._some(self.nodes, 2):
            taints = [] if self.nodes[name].get("taints") else [{"key": "soak", "effect": "NoSchedule"}]
            await self._change(name, {"spec": {"taints": taints}})

    async def cordon(self) -> None:
        for name in self._some(self.nodes, 2):
            await self._change(name, {"spec": {"unschedulable": not self.nodes[name].get("unschedulable", False)}})

    async def resize(self) -> None:
        for name in self._some(self.nodes, 2):
            amounts = templates.allocatable(self._chance)
            await self._change(name, {"status": {"capacity": amounts, "allocatable": amounts}}, "/status")

    async def move(self) -> None:
        """To another zone."""
        for name in self._some(self.nodes, 1):
            await self._change(name, {"metadata": {"labels": {templates.ZONE: self._chance.choice(templates.ZONES)}}})

    async def _change(self, name: str, body: Json, sub: str = "") -> None:
        await self._do(self._api.patch(f"{NODES}/{name}{sub}", body))
