"""Docker hosts as one backend: puts the pieces of this package together.

Every method may be repeated. Only `nodes`, `status`, `logs` and `bind` wait for a host; `bind` waits a while to learn
whether the container started.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path

from dovetail.backends.attempt_journal import Journal, Record
from dovetail.backends.contract import (
    Assignment,
    Capabilities,
    CommandInput,
    LogChunk,
    MeasuredTask,
    Price,
    Refusal,
    Report,
    Status,
    TerminalSize,
)
from dovetail.backends.docker.connection import DockerUnreachable
from dovetail.backends.docker.container import Identity, refuse_what_cannot_run
from dovetail.backends.docker.engine_api import DockerApiError
from dovetail.backends.docker.host import Host
from dovetail.backends.docker.settings import DockerSettings
from dovetail.backends.hosts.host_pool import HostPool
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
        self._hosts: HostPool[Host] = HostPool(name, Host.host_word, self._journal)

    async def start(self, report: Report) -> None:
        cluster = await self._journal.open(self._settings.cluster)
        identity = Identity(cluster, self.name)
        hosts = [
            Host(host, self._settings, identity, self._journal, report, self._hosts.same_as)
            for host in self._settings.hosts
        ]
        await self._hosts.start(hosts, report, self._settings.answer_within_s)
        online = len(self._hosts.online())
        _log.info("backend %s: containers of cluster %s, %d of %d hosts online", self.name, cluster, online, len(hosts))

    async def nodes(self) -> list[Node]:
        """The hosts that answer. Raises DockerUnreachable if none does."""
        return await self._hosts.ask(Host.describe, self._hosts)

    async def prices(self) -> Mapping[str, Price]:
        return self._settings.prices_of(host.name for host in self._settings.hosts)

    async def status(self, key: str) -> Status:
        return await self._hosts.status(key)

    async def knows(self, key: str) -> bool:
        """Whether it was bound or stopped here."""
        return await self._journal.get(key) is not None

    async def measure(self) -> Mapping[str, MeasuredTask]:
        """Of the hosts that answer."""
        found: dict[str, MeasuredTask] = {}
        for part in await asyncio.gather(*map(Host.measure, self._hosts.online()), return_exceptions=True):
            if isinstance(part, dict):
                found |= part
            elif not isinstance(part, DockerUnreachable | DockerApiError):
                raise part
        return found

    async def bind(self, assignment: Assignment) -> None:
        self._hosts.required(assignment.node)
        refuse_what_cannot_run(assignment.spec, self._settings)
        await self._hosts.bind(assignment, await self._journal.get(assignment.key))

    async def stop(self, key: str, reason: str) -> None:
        record = await self._journal.stop(key, reason)
        host = self._hosts.get(record.node)
        if host is None:
            await self._hosts.end_without_host(record)
        else:
            host.attempts.end(key)

    async def kill(self, key: str, reason: str) -> None:
        await self.stop(key, reason)
        record = await self._journal.get(key)
        host = self._hosts.get(None if record is None else record.node)
        if host is not None:
            await host.attempts.kill(key)

    async def reconcile(self, assignments: list[Assignment]) -> None:
        for assignment in assignments:
            # An attempt that the journal does not know has or had a container on its host, or is lost.
            record = await self._journal.order(assignment.key, assignment.node, created=True)
            host = self._hosts.get(record.node)
            if host is None:
                await self._hosts.end_without_host(record)
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
        host, record = await self._hosts.begun(key)
        if not host.online:
            raise TimeoutError(host.offline)
        return host, record

    def execute(
        self, key: str, command: Sequence[str], given: CommandInput | None = None, terminal: TerminalSize | None = None
    ) -> AsyncGenerator[bytes | int]:
        """The engine cannot end such a command: it ends by itself, or with its container."""
        return self._session(key, lambda host, record: host.execute(record, command, given, terminal))

    def attach(self, key: str, given: CommandInput | None = None) -> AsyncGenerator[bytes | int]:
        return self._session(key, lambda host, record: host.attach(record, given))

    async def _session(
        self, key: str, begin: Callable[[Host, Record], AsyncGenerator[bytes | int]]
    ) -> AsyncGenerator[bytes | int]:
        """Its errors are those of the contract."""
        host, record = await self._hosts.running(key)
        try:
            async with contextlib.aclosing(begin(host, record)) as blocks:
                async for block in blocks:
                    yield block
        except DockerUnreachable as error:
            raise TimeoutError(str(error)) from error
        except DockerApiError as error:
            raise Refusal(f"the engine of {host.name} refused: {error}") from error

    async def close(self) -> None:
        await self._hosts.close()
        await self._journal.close()
