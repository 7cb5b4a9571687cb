"""Docker hosts as one backend: puts the pieces of this package together.

Every method may be repeated. Only `nodes`, `status`, `logs` and `bind` wait for a host; `bind` waits a while to learn
whether the container started.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

from dovetail.backends.attempt_journal import Journal, Record, State
from dovetail.backends.contract import (
    Assignment,
    Capabilities,
    CommandInput,
    LogChunk,
    MeasuredTask,
    Phase,
    Price,
    Refusal,
    Report,
    Status,
    TerminalSize,
)
from dovetail.backends.docker.connection import DockerUnreachable
from dovetail.backends.docker.container import Identity, refuse_what_cannot_run
from dovetail.backends.docker.engine_api import DockerApiError
from dovetail.backends.docker.failures import FAILURES
from dovetail.backends.docker.host import Host
from dovetail.backends.docker.settings import DockerSettings
from dovetail.model.command import task_of_key
from dovetail.model.event import NodeLeft, TaskFinished
from dovetail.model.node import Node

_log = logging.getLogger(__name__)


class DockerBackend:
    """Implements `Backend`, `ExecutingBackend`, `AttachingBackend` and `MeasuringBackend` of the contract."""

    def __init__(self, name: str, settings: DockerSettings, folder: Path) -> None:
        self.name = name
        self.capabilities = Capabilities(
            containers=True,
            gpus=True,
            logs=True,
            observes=True,
            executes=True,
            attaches=True,
            stale_for_s=settings.look_interval_s,
        )
        self._settings = settings
        self._journal = Journal(folder)
        self._report: Report | None = None
        self._hosts: dict[str, Host] = {}
        self._engines: dict[str, str] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, report: Report) -> None:
        cluster = await self._journal.open(self._settings.cluster)
        identity = Identity(cluster, self.name)
        self._report = report
        self._hosts = {
            host.name: Host(host, self._settings, identity, self._journal, report, self._same_engine)
            for host in self._settings.hosts
        }
        for name in await self._journal.hosts():
            if name not in self._hosts:
                await report(NodeLeft(name, f"it is no longer one of the hosts of backend {self.name}"))
        await self._journal.keep_hosts(list(self._hosts))
        self._tasks = [asyncio.create_task(host.run(), name=f"docker: {name}") for name, host in self._hosts.items()]
        # Wait until each host was tried once, so that the nodes that answer are known, but not longer than
        # `answer_within_s`.
        tried = [asyncio.create_task(host.met.wait()) for host in self._hosts.values()]
        _, silent = await asyncio.wait(tried, timeout=self._settings.answer_within_s)
        for task in silent:
            task.cancel()
        online = [name for name, host in self._hosts.items() if host.online]
        _log.info("backend %s: containers of cluster %s, %d of %d hosts online", self.name, cluster, len(online),
                  len(self._hosts))  # fmt: skip

    async def nodes(self) -> list[Node]:
        """The hosts that answer. Raises DockerUnreachable if none does."""
        found = await asyncio.gather(*(host.describe() for host in self._hosts.values()), return_exceptions=True)
        nodes = [node for node in found if isinstance(node, Node)]
        for error in found:
            if isinstance(error, BaseException) and not (nodes and isinstance(error, DockerUnreachable)):
                raise error
        return nodes

    async def prices(self) -> Mapping[str, Price]:
        return self._settings.prices_of(host.name for host in self._settings.hosts)

    async def status(self, key: str) -> Status:
        record = await self._journal.get(key)
        if record is None:
            raise KeyError(key)
        host = self._hosts.get(record.node or "")
        if host is None:
            return Status(Phase.ENDED, record.exit_code, record.reason)
        return await host.status(record)

    async def knows(self, key: str) -> bool:
        """Whether it was bound or stopped here."""
        return await self._journal.get(key) is not None

    async def measure(self) -> Mapping[str, MeasuredTask]:
        """Of the hosts that answer."""
        found: dict[str, MeasuredTask] = {}
        online = [host for host in self._hosts.values() if host.online]
        for part in await asyncio.gather(*(host.measure() for host in online), return_exceptions=True):
            if isinstance(part, dict):
                found |= part
            elif not isinstance(part, DockerUnreachable | DockerApiError):
                raise part
        return found

    async def bind(self, assignment: Assignment) -> None:
        host = self._hosts.get(assignment.node)
        if host is None:
            raise Refusal(f"backend {self.name} has no host {assignment.node!r}; it has {', '.join(self._hosts)}")
        refuse_what_cannot_run(assignment.spec, self._settings)
        known = await self._journal.get(assignment.key)
        record = known or await self._journal.order(assignment.key, assignment.node)
        if record.node != assignment.node and not record.refused:
            raise Refusal(f"attempt {assignment.key} was bound to {record.node}, and is not bound elsewhere as well")
        if known is None and not host.online:
            record = await self._journal.refuse(assignment.key, f"host {host.name} is offline: {host.trouble}")
        if record.refused:
            words = f"attempt {assignment.key} will not run: {record.reason}"
            raise Refusal(words, FAILURES.cause(record.reason))
        if host.online:
            await host.attempts.launch(assignment)
        else:  # it was ordered before the host went offline, and starts when the host is back
            host.attempts.report_again(assignment)

    async def stop(self, key: str, reason: str) -> None:
        record = await self._journal.stop(key, reason)
        host = self._hosts.get(record.node or "")
        if host is None:
            await self._end_without_host(record)
        else:
            host.attempts.end(key)

    async def kill(self, key: str, reason: str) -> None:
        await self.stop(key, reason)
        record = await self._journal.get(key)
        host = self._hosts.get("" if record is None else record.node or "")
        if host is not None:
            await host.attempts.kill(key)

    async def reconcile(self, assignments: list[Assignment]) -> None:
        for assignment in assignments:
            # An attempt that the journal does not know has or had a container on its host, or is lost.
            record = await self._journal.order(assignment.key, assignment.node, created=True)
            host = self._hosts.get(record.node or "")
            if host is None:
                await self._end_without_host(record)
            else:
                host.attempts.report_again(assignment)

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        host, record = await self._logged_on(key)
        try:
            return await host.logs(record, max(0, offset), max(1, limit))
        except DockerUnreachable as error:
            raise TimeoutError(str(error)) from error

    async def log_since(self, key: str, at: float) -> int:
        host, record = await self._logged_on(key)
        try:
            return await host.log_since(record, at)
        except DockerUnreachable as error:
            raise TimeoutError(str(error)) from error

    async def _logged_on(self, key: str) -> tuple[Host, Record]:
        record = await self._journal.get(key)
        host = None if record is None else self._hosts.get(record.node or "")
        if record is None or host is None or (record.state is State.ENDED and not record.ran):
            raise KeyError(f"no logs of attempt {key}: it was never started here")
        if not host.online:
            raise TimeoutError(f"host {host.name} is offline: {host.trouble}")
        return host, record

    async def execute(
        self, key: str, command: Sequence[str], given: CommandInput | None = None, terminal: TerminalSize | None = None
    ) -> AsyncGenerator[bytes | int]:
        """The engine cannot end such a command: it ends by itself, or with its container."""
        host, record = await self._running_on(key)
        async with contextlib.aclosing(_worded(host, host.execute(record, command, given, terminal))) as blocks:
            async for block in blocks:
                yield block

    async def attach(self, key: str, given: CommandInput | None = None) -> AsyncGenerator[bytes | int]:
        host, record = await self._running_on(key)
        async with contextlib.aclosing(_worded(host, host.attach(record, given))) as blocks:
            async for block in blocks:
                yield block

    async def _running_on(self, key: str) -> tuple[Host, Record]:
        record = await self._journal.get(key)
        host = None if record is None else self._hosts.get(record.node or "")
        if record is None or host is None or record.state is State.ENDED:
            raise KeyError(key)
        if not host.online:
            raise TimeoutError(f"host {host.name} is offline: {host.trouble}")
        return host, record

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for host in self._hosts.values():
            with contextlib.suppress(Exception):  # the other hosts are closed too
                await host.close()
        self._tasks, self._hosts = [], {}
        await self._journal.close()

    async def _end_without_host(self, record: Record) -> None:
        """End an attempt without a host, or with a host that is no longer in the settings."""
        if self._report is None:
            raise RuntimeError(f"backend {self.name!r} has not been started: call start() first")
        if record.state is not State.ENDED:
            reason = f"host {record.node} is no longer one of backend {self.name}"
            record = await self._journal.end(record.key, None, record.stop_reason or reason, ran=record.created)
        await self._report(TaskFinished(task_of_key(record.key), record.key, record.exit_code, record.reason))

    def _same_engine(self, engine: str, host: str) -> str | None:
        first = self._engines.setdefault(engine, host)
        return None if first == host else first


async def _worded(host: Host, blocks: AsyncGenerator[bytes | int]) -> AsyncGenerator[bytes | int]:
    """The same, with errors as the contract has them."""
    try:
        async with contextlib.aclosing(blocks):
            async for block in blocks:
                yield block
    except DockerUnreachable as error:
        raise TimeoutError(str(error)) from error
    except DockerApiError as error:
        raise Refusal(f"the engine of {host.name} refused: {error}") from error
