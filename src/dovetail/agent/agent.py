"""One agent: takes the orders of its node, has them carried out, and reports what becomes of them.

Two requests are under way most of the time: one waits for orders, one reports. Either may fail for as long as it likes:
both are repeated for ever (`server_line`), reports are kept until they were taken, and orders are the same when they
come twice. Nothing here touches a task because the connection is gone.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from dovetail.agent.executors import Executors
from dovetail.agent.identity import AgentIdentity, CannotJoin, JoinRequest, join, known_identity, own_address
from dovetail.agent.interruptions import next_interruption
from dovetail.agent.inventory.reading import read_machine
from dovetail.agent.names import serve_names
from dovetail.agent.order_journal import OrderJournal, assignment_of
from dovetail.agent.probing.probing import Probing
from dovetail.agent.questions import answer
from dovetail.agent.reports import ReportOutbox
from dovetail.agent.server_line import ServerLine
from dovetail.agent.sessions import AgentTerminals
from dovetail.agent.settings import AgentSettings
from dovetail.agent.task_use import GpuMeter, UseMeter
from dovetail.asyncio_tasks import cancel
from dovetail.backends.contract import Refusal
from dovetail.backends.socket_flows import FlowMeter
from dovetail.client import Client
from dovetail.model.command import task_of_key
from dovetail.model.event import Event, NodeObserved, TaskFinished, TaskMoved, TaskStarted
from dovetail.model.resources import CPU
from dovetail.model.task_flows import TaskFlows
from dovetail.responses.nodes import NodeOrders, ReportedTask, RunOrder

WAIT_FOR_ORDERS_S = 60.0  # the longest that a server waits
#: A heartbeat that hangs in a connection that is dead is sent again in time: the node must not count as silent for it.
ANSWERED_WITHIN_S = 10.0
SESSIONS = ("execute", "attach")
REFUSED_EXIT = 126  # as shells say of what cannot be run

_log = logging.getLogger(__name__)


class Agent:
    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self._name = settings.local.node_name()
        self._line = ServerLine(self._name, settings.longest_pause, self._introduce)
        self._work_there: Executors | None = None
        self._journal = OrderJournal(settings.data / "orders", self._name)
        self._reports = ReportOutbox()
        self._joined: Client | None = None
        self._waiting: Client | None = None  # for requests that the server answers when there is something new
        self._node_changed = asyncio.Event()
        self._meter: UseMeter | None = None
        self._flows = FlowMeter()
        self._used: dict[str, Any] | None = None
        self._version = 0
        self._under_way: set[str] = set()  # attempts whose orders are being carried out
        self._to_stop: set[str] = set()  # attempts that were to stop, until their end was told
        self._doing: set[asyncio.Task[None]] = set()

    async def run(self, joining: JoinRequest | None = None) -> None:
        """Until cancelled. `joining` is for an agent that has no identity yet. Raises CannotJoin."""
        machine = await asyncio.to_thread(read_machine)
        self._work_there = work = Executors(self._settings, machine, self._heard, self._node_changed.set)
        gpus = GpuMeter() if work.has_gpus else None
        self._meter = UseMeter(self._settings.heartbeat, gpus, lambda: work.runs_mps)
        await work.start()
        try:
            identity = await self._find_identity(joining)
            self._joined = identity.client(timeout_s=ANSWERED_WITHIN_S)
            self._waiting = waiting = identity.client(timeout_s=WAIT_FOR_ORDERS_S + ANSWERED_WITHIN_S)
            _log.info("node %s of %s", identity.node, identity.url)
            await work.reconcile(self._journal.all())
            if self._settings.dns is not None:
                self._start(serve_names(self._settings.dns, waiting, self._name, self._settings.data / "dns"))
            await self._line.ask(self._introduce)
            terminals = AgentTerminals(self._name, work, waiting)
            async with contextlib.AsyncExitStack() as closing, asyncio.TaskGroup() as group:
                closing.callback(terminals.close)
                group.create_task(self._take_orders(terminals))
                group.create_task(self._report())
                group.create_task(self._look_again())
                group.create_task(self._introduce_changes())
                group.create_task(self._leave_in_time())
                group.create_task(Probing(self._name, self._settings.probes, lambda: self._client).run())
        finally:
            await cancel(*self._doing)
            await work.close()
            self._meter.close()
            self._flows.close()
            for client in (self._joined, self._waiting):
                if client is not None:
                    client.close()

    async def _find_identity(self, joining: JoinRequest | None) -> AgentIdentity:
        known = await asyncio.to_thread(known_identity, self._settings.data)
        if known is None and joining is None:
            words = f"this machine has not joined anything yet ({self._settings.data} holds no identity)"
            raise CannotJoin(f"{words}: dovetail agent --join URL, with a token of dovetail token join")
        if known is None:
            assert joining is not None
            described = self._described(joining.url)
            return await self._line.ask(lambda: asyncio.to_thread(join, self._settings.data, joining, described))
        if known.node != self._name:
            words = f"this machine has joined as {known.node}, not as {self._name}"
            raise CannotJoin(f"{words}; start it with --name {known.node}, or with another --data and a join token")
        return known

    @property
    def _client(self) -> Client:
        assert self._joined is not None
        return self._joined

    @property
    def _work(self) -> Executors:
        assert self._work_there is not None
        return self._work_there

    async def drain(self) -> None:
        """Let the tasks of this node be moved elsewhere, and wait until none is left; however long the control plane
        cannot be reached. At once for a node that has not joined yet."""
        if self._joined is None:
            return
        await self._ask_to_drain("its agent stops")
        await self._journal.emptied.wait()

    async def _leave_in_time(self) -> None:
        reason = await next_interruption(self._settings.interruptions)
        if reason is not None:
            _log.warning("the node drains: %s", reason)
            await self._ask_to_drain(reason)

    async def _ask_to_drain(self, reason: str) -> None:
        await self._line.ask(lambda: asyncio.to_thread(self._client.drain, self._name, reason=reason))

    # --- talking to the control plane ----------------------------------------------------------------------------

    async def _introduce(self) -> None:
        """Say what this node has now."""
        described = await asyncio.to_thread(self._described, self._client.url)
        await asyncio.to_thread(self._client.register_node, described)

    async def _introduce_changes(self) -> None:
        while True:
            await self._node_changed.wait()
            self._node_changed.clear()
            await self._line.ask(self._introduce)

    async def _look_again(self) -> None:
        """A machine changes: an interface gets another address, a GPU fails."""
        while True:
            await asyncio.sleep(self._settings.look_again)
            self._work.found(await asyncio.to_thread(read_machine))

    def _described(self, url: str) -> dict[str, Any]:
        described = self._work.node.model_dump(mode="json", exclude={"backend"}, exclude_defaults=True)
        if "address" in self._settings.local.model_fields_set:
            return described
        return described | {"address": own_address(url)}

    async def _take_orders(self, terminals: AgentTerminals) -> None:
        while True:
            orders = await self._line.ask(self._wait_for_orders)
            self._version = orders["version"]
            self._carry_out(orders)
            for call in orders["calls"]:
                if call["kind"] in SESSIONS:
                    self._start(terminals.serve(call))
                else:
                    self._start(answer(call, self._name, self._work, self._client))

    async def _wait_for_orders(self) -> NodeOrders:
        assert self._waiting is not None
        after = self._version
        return await asyncio.to_thread(self._waiting.orders, self._name, after=after, wait_s=WAIT_FOR_ORDERS_S)

    async def _report(self) -> None:
        while True:
            self._carry_out(await self._line.ask(self._heartbeat))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._settings.heartbeat):
                    await self._reports.filled.wait()

    async def _heartbeat(self) -> NodeOrders:
        reports = self._reports.next()
        told = await self._with_use(reports)
        moves = [asdict(one) for one in await self._work.open_moves()]
        ask = partial(self._client.heartbeat, self._name, used=self._used, tasks=told, answers=True, moves=moves)
        orders = await asyncio.to_thread(ask)
        for key in self._reports.taken(reports):
            self._journal.drop(key)
            self._to_stop.discard(key)
        return orders

    async def _with_use(self, reports: list[ReportedTask]) -> list[ReportedTask]:
        """The reports, with what each task that runs uses. A measurement that fails is left out."""
        if self._meter is None or not self._meter.is_due:
            return reports
        try:
            tasks = await self._work.measure()
            uses = await self._meter.complete(tasks)
            pids = {key: task.pids for key, task in tasks.items() if task.pids}
            flows = await asyncio.to_thread(self._flows.measure, pids)
        except Exception:
            _log.exception("the use of tasks cannot be measured now")
            return reports
        return [_with_measured(one, uses, flows) for one in reports]

    # --- carrying out orders -------------------------------------------------------------------------------------

    def _carry_out(self, orders: NodeOrders) -> None:
        """Each only once at a time: orders are repeated until they are reported."""
        kill = set(orders["kill"])
        for order in orders["run"]:
            self._once(f"run {order['key']}", self._run(order))
        for key in orders["stop"]:
            self._once(f"{'kill' if key in kill else 'stop'} {key}", self._stop(key, force=key in kill))

    def _once(self, what: str, doing: Awaitable[None]) -> None:
        if what in self._under_way:
            doing.close()  # type: ignore[attr-defined] # it is a coroutine that never began
            return
        self._under_way.add(what)
        self._start(doing).add_done_callback(lambda _: self._under_way.discard(what))

    def _start(self, doing: Awaitable[None]) -> "asyncio.Task[None]":
        task = asyncio.ensure_future(doing)
        assert isinstance(task, asyncio.Task)
        self._doing.add(task)
        task.add_done_callback(self._doing.discard)
        return task

    async def _run(self, order: RunOrder) -> None:
        key = order["key"]
        try:
            assignment = assignment_of(order, self._name)
            self._journal.keep(order)
            await self._work.bind(assignment)
        except (Refusal, ValueError) as refusal:
            exit_code = None if key in self._to_stop else REFUSED_EXIT
            self._reports.add(TaskFinished(task_of_key(key), key, exit_code, f"not run: {refusal}"))
        except Exception:  # the order comes again
            _log.exception("attempt %s cannot be started now", key)

    async def _stop(self, key: str, *, force: bool) -> None:
        self._to_stop.add(key)
        try:
            if force:
                await self._work.kill(key, "killed, as the control plane asked")
            else:
                await self._work.stop(key, "stopped, as the control plane asked")
        except Exception:  # the order comes again
            _log.exception("attempt %s cannot be stopped now", key)

    async def _heard(self, event: Event) -> None:
        """From what runs work here."""
        if isinstance(event, NodeObserved):
            self._used = {**event.used, CPU: event.used[CPU] / 1000}
        elif isinstance(event, TaskStarted | TaskFinished):
            self._reports.add(event)
        elif isinstance(event, TaskMoved):
            self._reports.forget(event.key)
            self._journal.drop(event.key)


def _with_measured(
    report: ReportedTask, uses: Mapping[str, dict[str, float]], flows: Mapping[str, TaskFlows]
) -> ReportedTask:
    found: ReportedTask = {**report}
    if report["key"] in uses:
        found["use"] = uses[report["key"]]
    if report["key"] in flows:
        found["flows"] = flows[report["key"]].model_dump()
    return found
