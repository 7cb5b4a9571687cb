"""Machines that backends launch, for the API: what could be launched at which price, what runs, what nobody knows.

Guarantees: a backend that cannot be asked is named, and hides no other. Only machines with the mark of this control
plane are looked at.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from dovetail.backends.machines.backend import MachineBackend
from dovetail.backends.machines.cloud_init.backend import CloudInitBackend
from dovetail.backends.machines.provider import Machine, MachineType
from dovetail.control.backends.member import Member
from dovetail.control.errors import NotFound, NotSupported
from dovetail.model.text.strict import closest

T = TypeVar("T")
#: What launches machines, and has a fleet of them.
Launching = MachineBackend | CloudInitBackend


@dataclass(frozen=True, slots=True)
class SeenMachine:
    """`kind`: what it was launched as; None if that is not known any more."""

    backend: str
    machine: Machine
    known: bool
    kind: MachineType | None


@dataclass(frozen=True, slots=True)
class SeenMachines:
    """`problems`: why a backend could not be asked, by its name."""

    machines: list[SeenMachine]
    problems: Mapping[str, str]


class MachineService:
    def __init__(self, members: Mapping[str, Member], timeout_s: float) -> None:
        self._members, self._timeout_s = members, timeout_s

    def types(self, backend: str | None) -> list[tuple[str, MachineType, str]]:
        """Backend, type, and why it is not offered now (empty if it is)."""
        return [(name, kind, why) for name, one in self._backends(backend) for kind, why in one.fleet.types()]

    async def machines(self, backend: str | None) -> SeenMachines:
        return await self._ask(backend, lambda one: one.fleet.machines())

    async def reap(self, backend: str | None, *, dry_run: bool) -> SeenMachines:
        """Those that nobody knows of; ended, unless it is a dry run."""
        return await self._ask(backend, lambda one: one.fleet.reap(dry_run=dry_run))

    async def _ask(self, backend: str | None, ask: Callable[[Launching], Awaitable[list[Machine]]]) -> SeenMachines:
        asked = list(self._backends(backend))
        answers = await asyncio.gather(*(self._in_time(ask(one)) for _, one in asked), return_exceptions=True)
        found: list[SeenMachine] = []
        problems: dict[str, str] = {}
        for (name, one), answer in zip(asked, answers, strict=True):
            if isinstance(answer, Exception):
                problems[name] = self._words(name, answer)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                fleet = one.fleet
                found += [SeenMachine(name, each, fleet.knows(each), fleet.kind_of(each.node)) for each in answer]
        return SeenMachines(found, problems)

    async def _in_time(self, call: Awaitable[T]) -> T:
        async with asyncio.timeout(self._timeout_s):
            return await call

    def _words(self, name: str, error: Exception) -> str:
        executor = self._members[name].executor
        words = f"{type(error).__name__}: {error}" if str(error) else f"no answer within {self._timeout_s:g} s"
        return words if executor is None else executor.cleaned(words)

    def _backends(self, wanted: str | None) -> Iterator[tuple[str, Launching]]:
        if wanted is not None:
            self._check(wanted)
        for name, member in list(self._members.items()):
            backend = None if member.executor is None else member.executor.backend
            if isinstance(backend, Launching) and wanted in (None, name):
                yield name, backend

    def _check(self, name: str) -> None:
        member = self._members.get(name)
        if member is None:
            near = closest(name, self._members)
            raise NotFound(f"no backend {name[:100]!r}.{near} dovetail backend list shows them")
        if member.executor is not None and not isinstance(member.executor.backend, Launching):
            raise NotSupported(f"backend {name!r}, of kind {member.kind}, launches no machines")
