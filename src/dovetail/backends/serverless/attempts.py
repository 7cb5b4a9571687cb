"""The calls that have not ended, or whose end was not reported: each is driven on its own, and delays no other."""

import asyncio

from dovetail.asyncio_tasks import cancel
from dovetail.backends.contract import Report
from dovetail.backends.serverless.active_call import ActiveCall, PollPace
from dovetail.backends.serverless.calls import CallOrder
from dovetail.backends.serverless.journal import CallJournal
from dovetail.backends.serverless.own_calls import OwnCalls


class CallAttempts:
    def __init__(self, calls: OwnCalls, journal: CallJournal, report: Report, pace: PollPace) -> None:
        self.calls = calls
        self._journal, self._report, self._pace = journal, report, pace
        self._active: dict[str, ActiveCall] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def wake(self, key: str, order: CallOrder | None = None) -> None:
        """Something is to be done, or to be reported again."""
        active = self._active.get(key)
        if active is None:
            active = self._active[key] = ActiveCall(key, self.calls, self._journal, self._report, self._pace)
            self._tasks[key] = asyncio.create_task(self._drive(key, active), name=f"call {key}")
        active.order = order or active.order
        active.start_reported = False
        active.wake.set()

    async def _drive(self, key: str, active: ActiveCall) -> None:
        await active.run()
        del self._active[key], self._tasks[key]

    def runs_here(self, key: str) -> bool:
        active = self._active.get(key)
        return active is not None and active.start_reported

    async def close(self) -> None:
        await cancel(*self._tasks.values())
        for active in self._active.values():
            await active.close()
        self._active, self._tasks = {}, {}
        await self.calls.close()
