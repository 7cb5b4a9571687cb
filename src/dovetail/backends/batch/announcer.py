"""Reports the nodes of a batch system: which exist, their capacity, which do not respond and which are drained.

A changed capacity is reported when two looks in a row have seen it: the system reports nodes and jobs at different
times, and a job may start in between. What was reported is written to disk. After a restart, nodes that left
meanwhile are reported as gone, and a node that was cordoned here is opened again when the system has resumed it.
A node that a user cordoned in Dovetail is opened too, if it was later drained and resumed there.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from dovetail.backends.batch.description import Description
from dovetail.backends.batch.driver import BatchFault
from dovetail.backends.contract import Report
from dovetail.model.event import NodeCordoned, NodeHealthChanged, NodeJoined, NodeLeft, NodeObserved
from dovetail.model.node import Node
from dovetail.model.resources import Amounts

NOTICEABLE = 0.02  # as a share of the node's capacity
_log = logging.getLogger(__name__)


class Announcer:
    """`system`: its name in reports. `described` returns the current nodes."""

    def __init__(
        self,
        system: str,
        described: Callable[[], Awaitable[dict[str, Description]]],
        report: Report,
        memory: Path,
        interval_s: float,
    ) -> None:
        self._system, self._described, self._report = system, described, report
        self._memory, self._interval_s = memory, interval_s
        self._reported: dict[str, Node] = {}
        self._changed: dict[str, Node] = {}  # changed, and not reported yet
        self._silent: dict[str, str] = {}
        self._closed: dict[str, str] = {}
        self._closing: set[str] = set()
        self._used: dict[str, Amounts] = {}
        self._last_written: object = None
        self._wake = asyncio.Event()

    def look_soon(self) -> None:
        """A job was refused because of its node: do not wait for the next look."""
        self._wake.set()

    async def introduce(self, nodes: dict[str, Description]) -> None:
        known, closed = await asyncio.to_thread(self._read_memory)
        self._closed = dict.fromkeys(closed, "")
        for name in known - set(nodes):
            await self._report(NodeLeft(name, f"{self._system} does not have it any more"))
            self._closed.pop(name, None)
        for name, each in nodes.items():
            await self._report(NodeJoined(each.node))
            self._reported[name] = each.node
            await self._report_state(name, each)
        await asyncio.to_thread(self._write_memory)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._interval_s):
                    await self._wake.wait()
            self._wake.clear()
            try:
                await self._compare(await self._described())
            except BatchFault as fault:
                _log.warning("cannot ask %s for nodes, will try again: %s", self._system, fault)
            except Exception:  # ending the task would end all reports
                _log.exception("looking at nodes failed, will try again")

    async def _compare(self, nodes: dict[str, Description]) -> None:
        for name in set(self._reported) - set(nodes):
            await self._report(NodeLeft(name, f"{self._system} does not have it any more"))
            del self._reported[name]
            for memory in (self._silent, self._closed, self._used):
                memory.pop(name, None)
        for name, each in nodes.items():
            new = name not in self._reported
            # NodeJoined also means that the node is online, so a silent node is reported when it responds again.
            if not each.silent and each.node != self._reported.get(name):
                if new or self._changed.get(name) == each.node:
                    await self._report(NodeJoined(each.node))
                    self._reported[name] = each.node
                    self._changed.pop(name, None)
                    self._silent.pop(name, None)
                else:
                    self._changed[name] = each.node
            else:
                self._changed.pop(name, None)
            if name in self._reported:
                await self._report_state(name, each)
                await self._report_use(name, each)
        await asyncio.to_thread(self._write_memory)

    async def _report_state(self, name: str, each: Description) -> None:
        if each.silent and self._silent.get(name) != each.silent:
            await self._report(NodeHealthChanged(name, False, each.silent))
            self._silent[name] = each.silent
        elif not each.silent and name in self._silent:
            await self._report(NodeHealthChanged(name, True, f"answers {self._system} again"))
            del self._silent[name]
        if each.closed and self._closed.get(name) != each.closed:
            self._closing.add(name)  # written first, so that a restart in between does not forget to open it again
            await asyncio.to_thread(self._write_memory)
            await self._report(NodeCordoned(name, True, each.closed))
            self._closed[name] = each.closed
            self._closing.discard(name)
        elif not each.closed and name in self._closed:
            await self._report(NodeCordoned(name, False, f"open in {self._system} again"))
            del self._closed[name]

    async def _report_use(self, name: str, each: Description) -> None:
        """Only changes that are large enough to matter: a site has thousands of nodes."""
        if each.used is None:
            return
        before, capacity = self._used.get(name), each.node.capacity.amounts()
        if before is None or any(
            abs(amount - before.get(resource, 0)) > NOTICEABLE * max(capacity.get(resource, 0), amount)
            for resource, amount in each.used.items()
        ):
            await self._report(NodeObserved(name, each.used))
            self._used[name] = each.used

    def _read_memory(self) -> tuple[set[str], list[str]]:
        try:
            found = json.loads(self._memory.read_bytes())
        except (FileNotFoundError, ValueError):
            return set(), []
        return set(found["nodes"]), list(found["closed"])

    def _write_memory(self) -> None:
        content = {"nodes": sorted(self._reported), "closed": sorted({*self._closed, *self._closing})}
        if content != self._last_written:
            beside = self._memory.with_suffix(".new")
            beside.write_text(json.dumps(content))
            beside.replace(self._memory)
            self._last_written = content
