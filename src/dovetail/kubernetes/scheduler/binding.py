"""Carrying out decisions: bindings and deletions, many at a time, each told back when its outcome is known.

Guarantees: a pod is bound by its uid, so never one of the same name that came after it; a binding whose answer was lost
is looked up before it is tried again. An outcome is told once.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from dovetail.kubernetes.client import pods
from dovetail.kubernetes.client.api import Api, JsonObject
from dovetail.kubernetes.client.errors import ApiError, Conflict, NotFound, ServerTrouble, Throttled, Unreachable

_log = logging.getLogger(__name__)

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 5.0
LOOK_EVERY_S = 0.02


@dataclass(frozen=True, slots=True)
class Binding:
    id: int
    namespace: str
    name: str
    uid: str
    node: str
    key: str
    decided_s: float = 0.0  # on the clock that never goes back


@dataclass(frozen=True, slots=True)
class Eviction:
    """`condition`: what is said of the pod before it goes, for whoever asks then why it went."""

    id: int
    namespace: str
    name: str
    uid: str
    condition: JsonObject | None = None


#: The binding, and why it did not come about; empty: it did.
Bound = Callable[[Binding, str], None]


class Binder:
    def __init__(self, api: Api, told: Bound, stays: Callable[[Eviction], None], width: int) -> None:
        """`stays`: a pod that was to go may not be deleted."""
        self._api, self._told, self._stays, self._width = api, told, stays, width
        self._due: asyncio.Queue[Binding | Eviction] = asyncio.Queue()
        self._workers: list[asyncio.Task[None]] = []
        self._less = asyncio.Event()
        self.under_way = 0

    def put(self, order: Binding | Eviction) -> None:
        self.under_way += 1
        self._due.put_nowait(order)

    def begin(self) -> None:
        self._workers = [asyncio.create_task(self._work(), name="bindings") for _ in range(self._width)]

    async def room(self, most: int) -> None:
        """Until fewer than so many are under way."""
        while self.under_way >= most:
            self._less.clear()
            await self._less.wait()

    async def calm(self, at_most_s: float) -> None:
        """Until nothing is under way, or for so long: for what may wait."""
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
            if isinstance(order, Binding):
                self._told(order, await self._bind(order))
            else:
                await self._evict(order)
            self.under_way -= 1
            self._less.set()

    async def _bind(self, order: Binding) -> str:
        """Why not; empty: it is bound."""
        pause_s, where = FIRST_PAUSE_S, (order.namespace, order.name)
        while True:
            try:
                await pods.bind(self._api, *where, order.node, order.uid)
            except (Unreachable, ServerTrouble, Throttled) as error:
                _log.info("binding %s/%s to %s: %s", order.namespace, order.name, order.node, error)
            except NotFound:
                return "the pod is gone"
            except Conflict as error:
                return await pods.after_conflict(self._api, *where, order.node, order.uid, error)
            except ApiError as error:
                return str(error)
            else:
                return ""
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _evict(self, order: Eviction) -> None:
        """Victims are deleted, as kube-scheduler does it, with the grace period they asked for themselves."""
        pause_s, where, condition = FIRST_PAUSE_S, (order.namespace, order.name), order.condition
        while True:
            try:
                if condition is not None:
                    await self._say(where, order.uid, condition)
                    condition = None
                await pods.delete(self._api, *where, uid=order.uid)
            except (Unreachable, ServerTrouble, Throttled) as error:
                _log.info("deleting %s/%s: %s", order.namespace, order.name, error)
            except (NotFound, Conflict):  # it is gone, or another by now: the watch will say so
                return
            except ApiError as error:
                _log.warning("cannot delete %s/%s to make room: %s", order.namespace, order.name, error)
                self._stays(order)
                return
            else:
                return
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _say(self, where: tuple[str, str], uid: str, condition: JsonObject) -> None:
        """Raises what makes it worth saying again, or not worth going on; a word that may not be said is left out."""
        try:
            await pods.patch_status(self._api, *where, {"conditions": [condition]}, uid)
        except (Unreachable, ServerTrouble, Throttled, NotFound, Conflict):
            raise
        except ApiError as error:
            _log.warning("cannot say of %s/%s that it is preempted: %s", *where, error)
