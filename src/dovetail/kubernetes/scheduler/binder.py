"""Executes decisions: many bindings and deletions at a time, each reported when its outcome is known.

Guarantees: a pod is bound by its uid, so never a later pod of the same name; a binding whose answer was lost is looked
up before it is repeated. Every outcome is reported once.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass
from typing import Any

from dovetail.asyncio_tasks import cancel
from dovetail.kubernetes_client import pods
from dovetail.kubernetes_client.api import Api, JsonObject
from dovetail.kubernetes_client.errors import RETRIABLE, KubernetesApiError, ObjectConflict, ObjectNotFound
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


#: The binding, and why it failed; empty: it succeeded.
OnBound = Callable[[PodBinding, str], None]


class BindingStep:
    """A step between the choice of a pod's node and its binding, with one task for each pod that needs it."""

    def __init__(self) -> None:
        self._tasks: dict[int, asyncio.Task[None]] = {}

    @property
    def waited_for(self) -> Collection[int]:
        """Workloads whose pods have a node and wait for this step."""
        return self._tasks.keys()

    async def close(self) -> None:
        await cancel(*self._tasks.values())

    def _start(self, order: PodBinding, work: Coroutine[Any, Any, None]) -> None:
        task = self._tasks[order.id] = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._tasks.pop(order.id, None))


class Binder:
    def __init__(
        self,
        api: Api,
        told: OnBound,
        stays: Callable[[PodEviction], None],
        width: int,
        leads: Callable[[], bool] = lambda: True,
    ) -> None:
        """`stays`: called for a pod that may not be deleted. `leads`: nothing new is sent while this is false."""
        self._api, self._told, self._stays, self._width, self._leads = api, told, stays, width, leads
        self._due: asyncio.Queue[PodBinding | PodEviction] = asyncio.Queue()
        self._workers: list[asyncio.Task[None]] = []
        self._less = asyncio.Event()
        self.under_way = 0

    def put(self, order: PodBinding | PodEviction) -> None:
        self.under_way += 1
        self._due.put_nowait(order)

    def begin(self) -> None:
        self._workers = [asyncio.create_task(self._work(), name="bindings") for _ in range(self._width)]

    async def fewer_than(self, most: int) -> None:
        """Waits until fewer than `most` orders are under way."""
        while self.under_way >= most:
            self._less.clear()
            await self._less.wait()

    async def calm(self, at_most_s: float) -> None:
        """Waits until no order is under way, at most `at_most_s`. For writes that are less urgent than bindings."""
        until_s = time.monotonic() + at_most_s
        while self.under_way and time.monotonic() < until_s:  # noqa: ASYNC110 - a look now and then is enough
            await asyncio.sleep(LOOK_EVERY_S)

    async def close(self) -> None:
        await cancel(*self._workers)
        self._workers = []

    async def _work(self) -> None:
        while True:
            order = await self._due.get()
            while not self._leads():  # noqa: ASYNC110 - the lease is renewed soon, or all of this ends
                await asyncio.sleep(LOOK_EVERY_S)
            if isinstance(order, PodBinding):
                backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
                name = order.namespace, order.name
                self._told(order, await pods.bind_surely(self._api, *name, order.node, order.uid, backoff))
            else:
                await self._evict(order)
            self.under_way -= 1
            self._less.set()

    async def _evict(self, order: PodEviction) -> None:
        """Deletes a victim as kube-scheduler does, with the grace period of its own spec."""
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        where, condition = (order.namespace, order.name), order.condition
        while True:
            try:
                if condition is not None:
                    await self._say(where, order.uid, condition)
                    condition = None
                await pods.delete(self._api, *where, uid=order.uid)
            except RETRIABLE as error:
                _log.info("deleting %s/%s: %s", order.namespace, order.name, error)
            except (ObjectNotFound, ObjectConflict):  # it is gone or was replaced: the watch will report it
                return
            except KubernetesApiError as error:
                _log.warning("cannot preempt %s/%s: %s", order.namespace, order.name, error)
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
        except (*RETRIABLE, ObjectNotFound, ObjectConflict):
            raise
        except KubernetesApiError as error:
            _log.warning("cannot say of %s/%s that it is preempted: %s", *where, error)
