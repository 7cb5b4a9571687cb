"""One agent: takes the orders of its node, runs them with the local backend, and reports what becomes of them.

Two requests are under way most of the time: one waits for orders, one reports. Either may fail for as long as it likes:
both are repeated for ever with growing, random pauses, reports are kept until they were taken, and orders are the same
when they come twice. Nothing here touches a task because the connection is gone.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from dovetail.agent.identity import AgentIdentity, CannotJoin, JoinRequest, join, known_identity, own_address
from dovetail.agent.names import serve_names
from dovetail.agent.order_journal import OrderJournal, assignment_of
from dovetail.agent.reports import ReportOutbox
from dovetail.agent.settings import AgentSettings
from dovetail.backends.contract import Refusal
from dovetail.backends.local.backend import LocalBackend
from dovetail.client import Client, ConnectError, DovetailError
from dovetail.model.command import task_of_key
from dovetail.model.event import Event, NodeJoined, NodeObserved, TaskFinished, TaskStarted
from dovetail.model.node import Node
from dovetail.model.resources import CPU
from dovetail.responses.nodes import AgentCall, NodeOrders, RunOrder

T = TypeVar("T")

WAIT_FOR_ORDERS_S = 30.0
FIRST_PAUSE_S = 0.5
REFUSED_EXIT = 126  # as shells say of what cannot be run
_GONE = 404
_FORBIDDEN = (401, 403)

_log = logging.getLogger(__name__)


class Agent:
    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self._name = settings.local.node_name()
        self._backend = LocalBackend("agent", settings.local, settings.data / "runs")
        self._journal = OrderJournal(settings.data / "orders", self._name)
        self._reports = ReportOutbox()
        self._joined: Client | None = None
        self._node: Node | None = None
        self._used: dict[str, Any] | None = None
        self._version = 0
        self._under_way: set[str] = set()  # attempts whose orders are being carried out
        self._doing: set[asyncio.Task[None]] = set()
        self._cut_off = False

    async def run(self, joining: JoinRequest | None = None) -> None:
        """Until cancelled. `joining` is for an agent that has no identity yet. Raises CannotJoin."""
        await self._backend.start(self._heard)
        try:
            identity = await self._find_identity(joining)
            self._joined = identity.client(timeout_s=2 * WAIT_FOR_ORDERS_S)
            _log.info("node %s of %s", identity.node, identity.url)
            await self._backend.reconcile(self._journal.all())
            if self._settings.dns is not None:
                self._start(serve_names(self._settings.dns, self._client, self._name, self._settings.data / "dns"))
            await self._for_ever(self._introduce)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._take_orders())
                group.create_task(self._report())
        finally:
            for task in self._doing:
                task.cancel()
            await asyncio.gather(*self._doing, return_exceptions=True)
            await self._backend.close()
            if self._joined is not None:
                self._joined.close()

    async def _find_identity(self, joining: JoinRequest | None) -> AgentIdentity:
        known = await asyncio.to_thread(known_identity, self._settings.data)
        if known is None and joining is None:
            words = f"this machine has not joined anything yet ({self._settings.data} holds no identity)"
            raise CannotJoin(f"{words}: dovetail agent --join URL, with a token of dovetail token join")
        if known is None:
            assert joining is not None
            described = self._described(joining.url)
            return await self._for_ever(lambda: asyncio.to_thread(join, self._settings.data, joining, described))
        if known.node != self._name:
            words = f"this machine has joined as {known.node}, not as {self._name}"
            raise CannotJoin(f"{words}; start it with --name {known.node}, or with another --data and a join token")
        return known

    @property
    def _client(self) -> Client:
        assert self._joined is not None
        return self._joined

    async def drain(self) -> None:
        """Let the tasks of this node be moved elsewhere, and wait until none is left."""
        await asyncio.to_thread(self._client.drain, self._name, reason="its agent stops")
        await self._journal.emptied.wait()

    # --- talking to the control plane ----------------------------------------------------------------------------

    async def _introduce(self) -> None:
        """Say what this node has now."""
        described = await asyncio.to_thread(self._described, self._client.url)
        await asyncio.to_thread(self._client.register_node, described)

    def _described(self, url: str) -> dict[str, Any]:
        assert self._node is not None
        described = self._node.model_dump(mode="json", exclude={"backend"}, exclude_defaults=True)
        if "address" in self._settings.local.model_fields_set:
            return described
        return described | {"address": own_address(url)}

    async def _take_orders(self) -> None:
        while True:
            orders = await self._for_ever(self._wait_for_orders)
            self._version = orders["version"]
            self._carry_out(orders)
            for call in orders["calls"]:
                self._start(self._answer(call))

    async def _wait_for_orders(self) -> NodeOrders:
        after = self._version
        return await asyncio.to_thread(self._client.orders, self._name, after=after, wait_s=WAIT_FOR_ORDERS_S)

    async def _report(self) -> None:
        while True:
            self._carry_out(await self._for_ever(self._heartbeat))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._settings.heartbeat):
                    await self._reports.filled.wait()

    async def _heartbeat(self) -> NodeOrders:
        reports = self._reports.next()
        orders = await asyncio.to_thread(
            self._client.heartbeat, self._name, used=self._used, tasks=reports, answers=True
        )
        for key in self._reports.taken(reports):
            self._journal.drop(key)
        return orders

    async def _for_ever(self, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer, however long it takes until the control plane gives one."""
        pause_s = min(FIRST_PAUSE_S, self._settings.longest_pause)
        while True:
            try:
                found = await ask()
            except (ConnectError, DovetailError) as error:
                self._note_trouble(error)
                if isinstance(error, DovetailError) and error.status == _GONE:
                    with contextlib.suppress(ConnectError, DovetailError):
                        await self._introduce()  # the node was removed: its token is still good until somebody says no
                await asyncio.sleep(pause_s * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
                pause_s = min(2 * pause_s, self._settings.longest_pause)
            else:
                if self._cut_off:
                    _log.info("the control plane answers again")
                    self._cut_off = False
                return found

    def _note_trouble(self, error: Exception) -> None:
        if isinstance(error, DovetailError) and error.status in _FORBIDDEN:
            words = f"dovetail token node {self._name} makes it another token"
            _log.error("the control plane does not accept the token of this agent; %s: %s", words, error)
        elif not self._cut_off:
            _log.warning("no answer from the control plane, goes on trying: %s", error)
        self._cut_off = True

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
            await self._backend.bind(assignment)
        except (Refusal, ValueError) as refusal:
            self._reports.add(TaskFinished(task_of_key(key), key, REFUSED_EXIT, f"not run: {refusal}"))
        except Exception:  # the order comes again
            _log.exception("attempt %s cannot be started now", key)

    async def _stop(self, key: str, *, force: bool) -> None:
        try:
            if force:
                await self._backend.kill(key, "killed, as the control plane asked")
            else:
                await self._backend.stop(key, "stopped, as the control plane asked")
        except Exception:  # the order comes again
            _log.exception("attempt %s cannot be stopped now", key)

    async def _heard(self, event: Event) -> None:
        """From the backend."""
        if isinstance(event, NodeJoined):
            self._node = event.node
        elif isinstance(event, NodeObserved):
            self._used = {**event.used, CPU: event.used[CPU] / 1000}
        elif isinstance(event, TaskStarted | TaskFinished):
            self._reports.add(event)

    # --- questions -----------------------------------------------------------------------------------------------

    async def _answer(self, call: AgentCall) -> None:
        answer = await self._looked_up(call)
        try:
            await asyncio.to_thread(self._client.answer_call, self._name, call["id"], answer)
        except (ConnectError, DovetailError) as error:  # who asked has given up, and may ask again
            _log.info("the answer to a question about attempt %s was not taken: %s", call["key"], error)

    async def _looked_up(self, call: AgentCall) -> dict[str, Any]:
        key, asked = call["key"], call["asked"]
        try:
            if call["kind"] == "logs":
                chunk = await self._backend.logs(key, int(asked["offset"]), int(asked["limit"]))
                return {"text": chunk.text, "next_offset": chunk.next_offset, "ended": chunk.ended}
            if call["kind"] == "log_tail":
                return {"offset": await self._backend.log_tail(key, int(asked["lines"]))}
            if call["kind"] == "log_since":
                return {"offset": await self._backend.log_since(key, float(asked["at"]))}
        except (KeyError, OSError, ValueError):
            pass
        return {"unknown": True}
