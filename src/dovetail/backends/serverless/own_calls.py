"""The calls of this control plane at a service of functions, which several control planes may use."""

import asyncio
import logging

from dovetail.asyncio_tasks import cancel
from dovetail.backends.serverless.calls import CallAccepted, CallOrder, CallResult, CallSeen, FunctionService
from dovetail.backends.serverless.journal import CallRecord

_log = logging.getLogger(__name__)


class OwnCalls:
    """`cluster`: the name of this control plane in keys. `parallel`: how many calls are sent at a time."""

    def __init__(self, service: FunctionService, cluster: str, parallel: int) -> None:
        self._service, self._cluster = service, cluster
        self._slots = asyncio.Semaphore(parallel)
        self._given_up: set[asyncio.Task[None]] = set()

    def service_key(self, key: str) -> str:
        """The idempotency key of an attempt."""
        return f"{self._cluster}.{key}"

    def recorded(self, order: CallOrder) -> bool:
        return self._service.records(order.node)

    def findable(self, record: CallRecord) -> bool:
        return bool(record.handle) or (record.node is not None and self._service.records(record.node))

    async def begin(self, order: CallOrder) -> CallAccepted | CallResult:
        """Where calls are not recorded, this takes as long as the call."""
        if not self.recorded(order):
            return await self._service.begin(order)
        async with self._slots:
            return await self._service.begin(order)

    async def seen(self, record: CallRecord) -> CallSeen | None:
        assert record.node is not None
        return await self._service.find(record.node, self.service_key(record.key), record.handle)

    async def cancel(self, record: CallRecord, reason: str, handle: str | None = None) -> bool:
        """`handle`: one that the record does not have."""
        assert record.node is not None
        handle = record.handle if handle is None else handle
        return await self._service.cancel(record.node, self.service_key(record.key), handle, reason)

    def give_up(self, record: CallRecord, opened: asyncio.Task[CallAccepted | CallResult], reason: str) -> None:
        """An open call. The service may still answer that it goes on, and how to stop it: do that."""

        async def cancel() -> None:
            try:
                answer = await opened
                if isinstance(answer, CallAccepted):
                    await self.cancel(record, reason, answer.handle)
            except Exception as error:
                _log.info("call %s was given up; its answer: %s: %s", record.key, type(error).__name__, error)

        task = asyncio.create_task(cancel(), name=f"call {record.key} was given up")
        self._given_up.add(task)
        task.add_done_callback(self._given_up.discard)

    async def close(self) -> None:
        await cancel(*self._given_up)
