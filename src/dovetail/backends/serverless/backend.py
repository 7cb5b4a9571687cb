"""Functions as a backend: the contract over a service of functions, a journal and the attempts.

Every method may be repeated. `bind` returns when the order is on disk; what the service says then is reported. Only
`nodes` and `status` wait for the service.
"""

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from pathlib import Path

from dovetail.asyncio_tasks import cancel
from dovetail.backends.contract import (
    Assignment,
    Capabilities,
    LogChunk,
    Phase,
    Price,
    Refusal,
    Report,
    Status,
    WorkloadRefusal,
)
from dovetail.backends.serverless.active_call import PollPace
from dovetail.backends.serverless.attempts import CallAttempts
from dovetail.backends.serverless.calls import CallOrder, CallPhase, CallRefused, FunctionService, order_of
from dovetail.backends.serverless.deciding import ended
from dovetail.backends.serverless.journal import CallJournal, CallRecord, CallState
from dovetail.backends.serverless.node import price_of
from dovetail.backends.serverless.own_calls import OwnCalls
from dovetail.backends.serverless.settings import CallSettings
from dovetail.model.event import NodeHealthChanged, NodeJoined
from dovetail.model.node import Node
from dovetail.model.workloads.function import FUNCTION_LABEL
from dovetail.model.workloads.workload import WorkloadKind

FORGET_EVERY_S = 3600.0
_log = logging.getLogger(__name__)


class FunctionBackend:
    """Implements `Backend`; a backend of a cloud gives it its service."""

    def __init__(self, name: str, settings: CallSettings, folder: Path, service: FunctionService) -> None:
        self.name = name
        self.capabilities = Capabilities(logs=True, stale_for_s=settings.poll_most_s)
        self._settings, self._service = settings, service
        self._journal = CallJournal(folder)
        self._report: Report | None = None
        self._attempts: CallAttempts | None = None
        self._nodes: dict[str, Node] = {}
        self._offline: dict[str, str] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, report: Report) -> None:
        cluster = await self._journal.open(self._settings.cluster)
        await self._service.open()
        self._report = report
        settings = self._settings
        pace = PollPace(settings.poll_interval_s, settings.poll_most_s, settings.start_within_s, settings.lost_after_s)
        calls = OwnCalls(self._service, cluster, settings.parallel)
        self._attempts = CallAttempts(calls, self._journal, report, pace)
        await self._look(report)
        for key in await self._journal.unfinished():
            self._attempts.wake(key)
        self._tasks = [
            asyncio.create_task(self._look_regularly(report), name=f"{self.name}: functions"),
            asyncio.create_task(self._forget_regularly(), name=f"{self.name}: old calls"),
        ]
        _log.info("backend %s: calls of cluster %s, %d functions", self.name, cluster, len(self._nodes))

    async def nodes(self) -> list[Node]:
        """The functions that can be called. Raises if the service cannot be reached."""
        found = await self._service.describe()
        nodes = [node for node in found.values() if isinstance(node, Node)]
        errors = [error for error in found.values() if isinstance(error, Exception)]
        if errors and not nodes:
            raise errors[0]
        return nodes

    async def prices(self) -> Mapping[str, Price]:
        found = {name: price_of(node) for name, node in self._nodes.items()}
        return {name: price for name, price in found.items() if price is not None}

    async def status(self, key: str) -> Status:
        record = await self._journal.get(key)
        if record is None:
            raise KeyError(key)
        if record.state is CallState.ENDED:
            return Status(Phase.ENDED, record.exit_code, record.reason)
        attempts = self._started()
        if record.state is CallState.ORDERED:
            return Status(Phase.ACCEPTED)
        if not attempts.calls.findable(record):
            return Status(Phase.RUNNING if attempts.runs_here(key) else Phase.ACCEPTED)
        seen = await attempts.calls.seen(record)
        if seen is None or seen.phase is CallPhase.WAITING:
            return Status(Phase.ACCEPTED)
        if seen.phase is CallPhase.RUNNING:
            return Status(Phase.RUNNING)
        result = ended(record, seen)
        return Status(Phase.ENDED, result.exit_code, result.reason)

    async def bind(self, assignment: Assignment) -> None:
        attempts, order = self._started(), self._order(assignment)
        record = await self._journal.order(assignment.key, assignment.node)
        if record.node is not None and record.node != assignment.node:
            raise Refusal(f"attempt {assignment.key} was bound to {record.node}, and is not bound elsewhere as well")
        if record.refused:
            raise Refusal(f"attempt {assignment.key} will not run: {record.reason}", record.cause)
        attempts.wake(assignment.key, order)

    async def stop(self, key: str, reason: str) -> None:
        attempts = self._started()
        await self._journal.stop(key, reason)
        attempts.wake(key)

    async def reconcile(self, assignments: list[Assignment]) -> None:
        attempts = self._started()
        for assignment in assignments:
            record = await self._journal.order(assignment.key, assignment.node, CallState.ADOPTED)
            attempts.wake(assignment.key, self._adopted_order(assignment, record))

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        record = await self._journal.get(key)
        if record is None or (record.state is CallState.ENDED and not record.ran):
            raise KeyError(f"no logs of attempt {key}: its function was never called")
        if record.state is not CallState.ENDED:
            return LogChunk("", max(0, offset), ended=False)
        return chunk_of((await self._journal.output(key)).encode(errors="replace"), max(0, offset), max(1, limit))

    async def close(self) -> None:
        await cancel(*self._tasks)
        self._tasks = []
        if self._attempts is not None:
            await self._attempts.close()
            self._attempts = None
            await self._service.close()
        await self._journal.close()

    # --- orders ----------------------------------------------------------------------------------------------

    def _started(self) -> CallAttempts:
        if self._attempts is None:
            raise RuntimeError(f"backend {self.name!r} has not been started: call start() first")
        return self._attempts

    def _order(self, assignment: Assignment) -> CallOrder:
        """Raises Refusal for what this backend cannot call."""
        spec, label = assignment.spec, f"workload {assignment.spec.name!r}"
        if spec.kind is not WorkloadKind.FUNCTION:
            raise WorkloadRefusal(f"{label} is of kind {spec.kind}; backend {self.name} calls functions only")
        if spec.function is None:
            raise WorkloadRefusal(f"{label} does not say which function; write function: {{name: NAME, payload: …}}")
        node = self._nodes.get(assignment.node)
        if node is None:
            known = ", ".join(self._nodes) or "none"
            raise Refusal(f"backend {self.name} has no function {assignment.node!r}; it has {known}")
        if spec.function.bare_name != node.labels[FUNCTION_LABEL]:
            words = f"calls {spec.function.bare_name!r}, and {node.name} is {node.labels[FUNCTION_LABEL]!r}"
            raise WorkloadRefusal(f"{label} {words}")
        order = order_of(assignment, spec.function, self._started().calls.service_key(assignment.key))
        try:
            self._service.check(order)
        except CallRefused as error:
            raise Refusal(f"{label}: {error}", error.cause) from None
        return order

    def _adopted_order(self, assignment: Assignment, record: CallRecord) -> CallOrder | None:
        """None where it could not be sent any more: what was sent is looked for all the same."""
        if record.state is CallState.ENDED:
            return None
        with contextlib.suppress(Refusal):
            return self._order(assignment)
        return None

    # --- functions -------------------------------------------------------------------------------------------

    async def _look(self, report: Report) -> None:
        """Report what changed of the functions. Raises if the service cannot be reached."""
        found = await self._service.describe()
        errors = [one for one in found.values() if isinstance(one, Exception)]
        if len(errors) == len(found) and not self._nodes:
            raise errors[0]
        for name, one in found.items():
            if isinstance(one, Node):
                if self._nodes.get(name) != one or name in self._offline:
                    await report(NodeJoined(one))
                self._nodes[name] = one
                self._offline.pop(name, None)
            else:
                await self._say_offline(report, name, str(one))

    async def _say_offline(self, report: Report, name: str, why: str) -> None:
        if self._offline.get(name) != why:
            _log.warning("backend %s: function %s cannot be called: %s", self.name, name, why)
            if name in self._nodes:
                await report(NodeHealthChanged(name, online=False, reason=why))
            self._offline[name] = why

    async def _look_regularly(self, report: Report) -> None:
        while True:
            await asyncio.sleep(self._settings.look_interval_s)
            try:
                await self._look(report)
            except Exception as error:  # the service cannot be reached, or the receiver cannot
                _log.warning("backend %s: cannot look at its functions: %s", self.name, error)
                with contextlib.suppress(Exception):  # said again at the next look
                    for name in self._nodes:
                        await self._say_offline(report, name, f"the service cannot be reached: {error}")

    async def _forget_regularly(self) -> None:
        while True:
            await asyncio.sleep(FORGET_EVERY_S)
            await self._journal.forget_old(self._settings.keep_output_for_s)


def chunk_of(whole: bytes, offset: int, limit: int) -> LogChunk:
    """A piece that does not cut a character in two; at least one character."""
    end = min(len(whole), offset + limit)
    while end < len(whole) and whole[end] & 0xC0 == 0x80:  # within a character
        end += 1
    return LogChunk(whole[offset:end].decode(errors="replace"), max(offset, end), ended=end >= len(whole))
