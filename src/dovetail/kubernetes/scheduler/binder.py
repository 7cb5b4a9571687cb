"""Executes decisions: many bindings and deletions at a time, each reported when its outcome is known.

Guarantees: a pod is bound by its uid, so never a later pod of the same name; a binding whose answer was lost is looked
up before it is repeated. Every outcome is reported once.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from dovetail.kubernetes_client import pods
from dovetail.kubernetes_client.api import Api, JsonObject
from dovetail.kubernetes_client.errors import (
    ApiUnreachable,
    KubernetesApiError,
    ObjectConflict,
    ObjectNotFound,
    ServerTrouble,
    Throttled,
)
from dovetail.model.backoff import Backoff

_log = logging.getLogger(__name__)

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 5.0
LOOK_EVERY_S = 0.02


@dataclass(frozen=True, slots=True)
class PodBinding:
    id: int
    namespace: str
    name: str
    uid: str
    node: str
    key: str
    decided_s: float = 0.0  # on the clock that never goes back


@dataclass(frozen=True, slots=True)
class PodEviction:
    """`condition`: written to the pod before it is deleted, so that its controller learns why."""

    id: int
    namespace: str
    name: str
    uid: str
    condition: JsonObject | None = None


#: The binding, and why it did not come about; empty: it did.
OnBound = Callable[[PodBinding, str], None]


class Binder:
    def __init__(self, api: Api, told: OnBound, stays: Callable[[PodEviction], None], width: int) -> None:
        """`stays`: called for a pod that may not be deleted."""
        self._api, self._told, self._stays, self._width = api, told, stays, width
        self._due: asyncio.Queue[PodBinding | PodEviction] = asyncio.Queue()
        self._workers: list[asyncio.Task[None]] = []
        self._less = asyncio.Event()
        self.under_way = 0

    def put(self, order: PodBinding | PodEviction) -> None:
        self.under_way += 1
        self._due.put_nowait(order)

    def begin(self) -> None:
        self._workers = [asyncio.create_task(self._work(), name="bindings") for _ in range(self._width)]

    async def room(self, most: int) -> None:
        """Waits until fewer than so many orders are under way."""
        while self.under_way >= most:
            self._less.clear()
            await self._less.wait()

    async def calm(self, at_most_s: float) -> None:
        """Waits until no order is under way, at most so long. For writes that are less urgent than bindings."""
        until_s = time.monotonic() + at_most_s
        while self.under_way and time.monotonic() < until_s:  # noqa: ASYNC110 - a look now and then is enough
            await asyncio.sleep(LOOK_EVERY_S)

    async def close(self) -> None:
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        self._workers = []

    async def _work(self) -> None:
        while True:
            order = await self._due.get()
            if isinstance(order, PodBinding):
                self._told(order, await self._bind(order))
            else:
                await self._evict(order)
            self.under_way -= 1
            self._less.set()

    async def _bind(self, order: PodBinding) -> str:
        """Why the pod is not bound; empty: it is bound."""
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        return await pods.bind_surely(self._api, order.namespace, order.name, order.node, order.uid, backoff)

    async def _evict(self, order: PodEviction) -> None:
        """Deletes a victim as kube-scheduler does, with the grace period of its own spec."""
        backoff, where, condition = (
            Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S),
            (order.namespace, order.name),
            order.condition,
        )
        while True:
            try:
                if condition is not None:
                    await self._say(where, order.uid, condition)
                    condition = None
                await pods.delete(self._api, *where, uid=order.uid)
            except (ApiUnreachable, ServerTrouble, Throttled) as error:
                _log.info("deleting %s/%s: %s", order.namespace, order.name, error)
            except (ObjectNotFound, ObjectConflict):  # it is gone, or another by now: the watch will say so
                return
            except KubernetesApiError as error:
                _log.warning("cannot delete %s/%s to make room: %s", order.namespace, order.name, error)
                self._stays(order)
                return
            else:
                return
            await asyncio.sleep(backoff.next_s())

    async def _say(self, where: tuple[str, str], uid: str, condition: JsonObject) -> None:
        """Raises errors after which the eviction is retried or dropped. A condition that may not be written is left
        out."""
        try:
            await pods.patch_status(self._api, *where, {"conditions": [condition]}, uid)
        except (ApiUnreachable, ServerTrouble, Throttled, ObjectNotFound, ObjectConflict):
            raise
        except KubernetesApiError as error:
            _log.warning("cannot say of %s/%s that it is preempted: %s", *where, error)
