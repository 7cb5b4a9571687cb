"""VMs beside their workloads: which there are, power, snapshots, live migration, adoption of those that others made.

Guarantees: every failure has a message for the user who waits. What changes the schedule (a move, an adoption) goes
through the engine, as any other wish of a user: capacity is held, and the journal of events tells of it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Container, Iterator
from math import ceil
from typing import NamedTuple, TypeVar

import structlog

from dovetail.backends.contract import MigratingBackend, Refusal
from dovetail.backends.vm_control import MachineControl, MachinePower, MachineSeen, MachineSnapshot, MigrationProgress
from dovetail.control.backends.execution import Executor, said
from dovetail.control.backends.roster import Backends
from dovetail.control.errors import Conflict, NotFound, NotSupported, Unavailable
from dovetail.engine.questions.questions import Questions
from dovetail.engine.questions.workload_questions import HeldTask
from dovetail.model.command import task_of_key
from dovetail.model.event import Event, MoveAsked
from dovetail.model.resources import CPU, MEMORY, ResourceRequest
from dovetail.model.task import TaskId, TaskState
from dovetail.model.text.strict import shown
from dovetail.model.workloads.constraint import Constraint
from dovetail.model.workloads.virtual_machine import VirtualMachine
from dovetail.model.workloads.workload import Workload, WorkloadKind

T = TypeVar("T")
Apply = Callable[[list[Event]], Awaitable[object]]
ASK_S = 120.0  # a snapshot writes the memory of the VM to disk

log = structlog.get_logger()


class KnownMachine(NamedTuple):
    """A VM and the workload that it is; None if it is nobody's here."""

    backend: str
    seen: MachineSeen
    workload: tuple[str, str] | None


class VmService:
    def __init__(self, questions: Questions, backends: Backends, apply: Apply) -> None:
        self._questions, self._backends, self._apply = questions, backends, apply

    async def all(self) -> list[KnownMachine]:
        """On all backends that have VMs. Where nobody answers, what our own workloads say."""
        nodes = {name: self._hosts_of(name) for name in self._backends.members}
        controls = {name: found for name in nodes if nodes[name] and (found := self._control(name)) is not None}
        answers = await asyncio.gather(*(self._listed(name, one, nodes[name]) for name, one in controls.items()))
        told = [machine for part in answers for machine in part]
        return [*told, *self._not_told({machine.seen.key for machine in told}, controls)]

    def _hosts_of(self, backend: str) -> list[str]:
        nodes = self._questions.nodes
        return [name for name in nodes.of_backend_for(backend, WorkloadKind.VM) if nodes.is_online(name)]

    def _not_told(self, told: Container[str | None], controlled: Container[str]) -> Iterator[KnownMachine]:
        """VMs of ours that run, and that no host has told of."""
        workloads = self._questions.workloads
        for id_ in workloads.of_kind(WorkloadKind.VM):
            known, shape = workloads.known_as(id_), workloads.shape(id_)
            if known is None or shape is None:
                continue
            amounts = dict(shape.amounts)
            cpus, memory = ceil(amounts.get(CPU, 0) / 1000), amounts.get(MEMORY, 0)
            for held in workloads.held_by(id_):
                if held.key not in told and held.state is TaskState.RUNNING:
                    name, power = (
                        f"{known[1]}.{held.task.replica}",
                        "unknown" if held.backend in controlled else "running",
                    )
                    seen = MachineSeen(held.node, name, held.key, power, cpus, memory)
                    yield KnownMachine(held.backend, seen, known)

    async def _listed(self, name: str, found: tuple[Executor, MachineControl], nodes: list[str]) -> list[KnownMachine]:
        executor, control = found
        try:
            async with asyncio.timeout(ASK_S):
                seen = await control.machines(nodes)
        except Exception as error:  # a backend's client may raise anything
            log.warning("backend call failed", backend=name, call="machines", error=executor.cleaned(str(error)))
            return []
        return [KnownMachine(name, one, self._workload_of(one.key)) for one in seen]

    def _workload_of(self, key: str | None) -> tuple[str, str] | None:
        return None if key is None else self._questions.workloads.known_as(task_of_key(key).workload)

    async def set_power(self, task: TaskId, name: str, power: MachinePower) -> None:
        await self._ask(task, name, lambda control, held: control.set_power(held.key, power))
        log.info("power", task=name, power=power)

    async def snapshots(self, task: TaskId, name: str) -> list[MachineSnapshot]:
        return await self._ask(task, name, lambda control, held: control.snapshots(held.key))

    async def take_snapshot(self, task: TaskId, name: str, snapshot: str) -> None:
        await self._ask(task, name, lambda control, held: control.take_snapshot(held.key, snapshot))

    async def revert(self, task: TaskId, name: str, snapshot: str) -> None:
        await self._ask(task, name, lambda control, held: control.revert_to_snapshot(held.key, snapshot))

    async def remove_snapshot(self, task: TaskId, name: str, snapshot: str) -> None:
        await self._ask(task, name, lambda control, held: control.remove_snapshot(held.key, snapshot))

    async def migration(self, task: TaskId, name: str) -> MigrationProgress | None:
        return await self._ask(task, name, lambda control, held: control.migration(held.key), running=False)

    async def migrate(self, task: TaskId, name: str, node: str, reason: str) -> None:
        """Ask for a move. Raises Conflict if the node cannot take it now, or not while it runs."""
        held, executor, _ = self._held(task, name)
        if node not in self._questions.nodes:
            raise NotFound(f"there is no node {shown(node)}")
        if held.node == node:
            raise Conflict(f"{name} runs on {node} already")
        if not executor.backend.capabilities.migrate:
            raise NotSupported(f"backend {held.backend}, which runs {name}, cannot migrate VMs")
        if self._questions.nodes.backend_of(node) == held.backend:
            assert isinstance(executor.backend, MigratingBackend)
            await self._answer(executor, held.backend, executor.backend.check_migration(held.key, node))
        await self._apply([MoveAsked(task, node, reason)])
        after = self._questions.workloads.held(task)
        if after is not None and after.state is TaskState.RUNNING and after.node == held.node:
            raise Conflict(f"{node} cannot take {name} now; dovetail why-not {name} {node} says why")

    async def offer(self, backend: str | None, node: str, name: str) -> KnownMachine:
        """Raises NotFound, Conflict."""
        at = self._questions.nodes.backend_of(node)
        found = None if at is None else self._control(at)
        if at is None or (backend is not None and backend != at):
            raise NotFound(f"there is no node {shown(node)}" + (f" of backend {backend}" if backend else ""))
        if found is None:
            raise NotSupported(f"backend {at}, which has {node}, cannot adopt VMs")
        seen = await self._answer(found[0], at, found[1].offer_for_adoption(node, name))
        return KnownMachine(at, seen, None)

    def adopting(self, found: KnownMachine, name: str, namespace: str, user: str | None) -> Workload:
        """The workload that takes a VM over: on its node, with what it has. It exists only there, so it is not placed
        anywhere else."""
        seen = found.seen
        return Workload(
            name=name,
            namespace=namespace,
            user=user,
            kind=WorkloadKind.VM,
            resources=ResourceRequest(cpu=float(seen.cpus), memory=seen.memory_bytes),
            constraints=[Constraint.model_validate({"require": f'node.name == "{seen.node}"'})],
            vm=VirtualMachine(adopt=seen.name),
        )

    # ---------------------------------------------------------------------------------------------------------

    def _control(self, backend: str) -> tuple[Executor, MachineControl] | None:
        member = self._backends.members.get(backend)
        executor = None if member is None else member.executor
        if executor is None or not executor.backend.capabilities.machines:
            return None
        assert isinstance(executor.backend, MachineControl)
        return executor, executor.backend

    def _held(self, task: TaskId, name: str, *, running: bool = True) -> tuple[HeldTask, Executor, MachineControl]:
        held = self._questions.workloads.held(task)
        if held is None or (running and held.state is not TaskState.RUNNING):
            raise Conflict(f"{name} does not run now; dovetail describe {name} says why")
        found = self._control(held.backend)
        if found is None:
            words = f"backend {held.backend}, which runs it, only starts and ends it"
            raise NotSupported(f"{name} has no power, snapshots or migrations to control: {words}")
        return held, *found

    async def _ask(
        self,
        task: TaskId,
        name: str,
        question: Callable[[MachineControl, HeldTask], Awaitable[T]],
        *,
        running: bool = True,
    ) -> T:
        held, executor, control = self._held(task, name, running=running)
        return await self._answer(executor, held.backend, question(control, held))

    async def _answer(self, executor: Executor, backend: str, call: Awaitable[T]) -> T:
        began = time.monotonic()
        try:
            async with asyncio.timeout(ASK_S):
                return await call
        except KeyError:
            raise Conflict("its VM is not there any more") from None
        except Refusal as refusal:
            raise Conflict(executor.cleaned(str(refusal))) from None
        except Exception as error:  # a backend's client may raise anything
            words = executor.cleaned(said(error, time.monotonic() - began))
            raise Unavailable(f"backend {backend} did not answer: {words}; try again later") from None
