"""The hosts of one backend: where an attempt is, and what becomes of one whose host is no longer there."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Generic, TypeVar

from dovetail.asyncio_tasks import cancel
from dovetail.backends.attempt_journal import Journal, Record, State
from dovetail.backends.contract import Assignment, Phase, Refusal, Report, Status
from dovetail.backends.hosts.connected_host import ConnectedHost
from dovetail.model.command import task_of_key
from dovetail.model.event import NodeLeft, TaskFinished

AnyHost = TypeVar("AnyHost", bound=ConnectedHost)
T = TypeVar("T")


class HostPool(Generic[AnyHost]):
    """`backend`: its name. `host_word`: what it calls a host."""

    def __init__(self, backend: str, host_word: str, journal: Journal) -> None:
        self._backend, self._word, self._journal = backend, host_word, journal
        self._report: Report | None = None
        self._hosts: dict[str, AnyHost] = {}
        self._names: dict[str, str] = {}  # under which a machine was met first, by what identifies it
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, hosts: Iterable[AnyHost], report: Report, answer_within_s: float) -> None:
        """Returns when each was tried once, so that the nodes that answer are known, but after `answer_within_s` at
        the latest."""
        self._report = report
        self._hosts = {host.name: host for host in hosts}
        for name in await self._journal.hosts():
            if name not in self._hosts:
                await report(NodeLeft(name, f"it is no longer one of the {self._word}s of backend {self._backend}"))
        await self._journal.keep_hosts(list(self._hosts))
        self._tasks = [asyncio.create_task(host.run(), name=f"{host.kind}: {host.name}") for host in self]
        tried = [asyncio.create_task(host.met.wait()) for host in self]
        _, silent = await asyncio.wait(tried, timeout=answer_within_s)
        for task in silent:
            task.cancel()

    async def close(self) -> None:
        await cancel(*self._tasks)
        for host in self:
            with contextlib.suppress(Exception):  # the others are closed too
                await host.close()
        self._tasks, self._hosts, self._names = [], {}, {}

    # --- which there are -------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[AnyHost]:
        return iter(self._hosts.values())

    def __contains__(self, name: str | None) -> bool:
        return name in self._hosts

    def get(self, name: str | None) -> AnyHost | None:
        return self._hosts.get(name or "")

    def required(self, name: str) -> AnyHost:
        """Raises Refusal."""
        if name not in self._hosts:
            known = ", ".join(self._hosts)
            raise Refusal(f"backend {self._backend} has no {self._word} {name!r}; it has {known}")
        return self._hosts[name]

    def no_longer(self, name: str | None) -> str:
        """What to say of one that was here, and is not in the settings any more."""
        return f"{self._word} {name} is no longer one of backend {self._backend}"

    def online(self) -> list[AnyHost]:
        return [host for host in self if host.online]

    def same_as(self, machine: str, name: str) -> str | None:
        """The other host that is the same machine under another name."""
        first = self._names.setdefault(machine, name)
        return None if first == name else first

    async def ask(self, question: Callable[[AnyHost], Awaitable[T]], hosts: Iterable[AnyHost]) -> list[T]:
        """The answers of those that answer. Raises if none does."""
        asked = list(hosts)
        found = await asyncio.gather(*map(question, asked), return_exceptions=True)
        answers = [one for one in found if not isinstance(one, BaseException)]
        for host, error in zip(asked, found, strict=True):
            if isinstance(error, BaseException) and not (answers and isinstance(error, host.said_by_host)):
                raise error
        return answers

    # --- attempts --------------------------------------------------------------------------------------------

    async def status(self, key: str) -> Status:
        record = await self._journal.get(key)
        if record is None:
            raise KeyError(key)
        host = self.get(record.node)
        if host is None or record.state is State.ENDED:
            return Status(Phase.ENDED, record.exit_code, record.reason)
        return await host.status(record)

    async def bind(self, assignment: Assignment, known: Record | None) -> None:
        """`known`: as the journal has it. Raises Refusal, also if its host is offline and was never told."""
        key, host = assignment.key, self._hosts[assignment.node]
        record = known or await self._journal.order(key, host.name)
        if record.node != host.name and not record.refused:
            raise Refusal(f"attempt {key} was bound to {record.node}, and is not bound elsewhere as well")
        if known is None and not host.online:
            record = await self._journal.refuse(key, host.offline)
        if record.refused:
            words = f"attempt {key} will not run: {record.reason}"
            raise Refusal(words, host.attempts.failures.cause(record.reason))
        if host.online:
            await host.attempts.launch(assignment)
        else:  # it was ordered before the host went offline, and starts when that is back
            host.attempts.report_again(assignment)

    async def running(self, key: str) -> tuple[AnyHost, Record]:
        """Raises KeyError, and TimeoutError for a host that is offline."""
        record = await self._journal.get(key)
        host = None if record is None else self.get(record.node)
        if record is None or host is None or record.state is State.ENDED:
            raise KeyError(key)
        if not host.online:
            raise TimeoutError(host.offline)
        return host, record

    async def begun(self, key: str) -> tuple[AnyHost, Record]:
        """Of an attempt that may have written something. Raises KeyError."""
        record = await self._journal.get(key)
        host = None if record is None else self.get(record.node)
        if record is None or host is None or (record.state is State.ENDED and not record.ran):
            raise KeyError(f"no logs of attempt {key}: it was never started here")
        return host, record

    async def end_without_host(self, record: Record) -> None:
        """End an attempt without a host, or with one that is no longer in the settings."""
        if self._report is None:
            raise RuntimeError(f"backend {self._backend!r} has not been started: call start() first")
        if record.state is not State.ENDED:
            reason = record.stop_reason or self.no_longer(record.node)
            record = await self._journal.end(record.key, None, reason, ran=record.created)
        await self._report(TaskFinished(task_of_key(record.key), record.key, record.exit_code, record.reason))
