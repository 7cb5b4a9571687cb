"""Simulated VMs: attempts of kind vm, whose power and snapshots are remembered and change nothing else."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from dovetail.backends.contract import Assignment, Phase, Refusal
from dovetail.backends.simulated.world import World
from dovetail.backends.vm_control import MachinePower, MachineSeen, MachineSnapshot, MigrationProgress
from dovetail.model.workloads.workload import WorkloadKind

GIB = 2**30


@dataclass(slots=True)
class SimulatedMachine:
    seen: MachineSeen
    snapshots: dict[str, MachineSnapshot] = field(default_factory=dict)
    migration: MigrationProgress | None = None


class SimulatedMachines:
    def __init__(self, world: World, now: Callable[[], float], others: Mapping[str, str]) -> None:
        """`others`: VMs that were not made by us, by name, and their nodes."""
        self._world, self._now = world, now
        self._others = {name: MachineSeen(node, name, None, "running", 1, GIB) for name, node in others.items()}
        self._known: dict[str, SimulatedMachine] = {}

    def take(self, assignment: Assignment) -> None:
        """An attempt that was bound, whatever it is."""
        spec = assignment.spec
        if spec.kind is not WorkloadKind.VM or assignment.key in self._known:
            return
        cpus, memory = max(1, round(spec.resources.cpu)), spec.resources.memory
        adopted = None if spec.vm is None or spec.vm.adopt is None else self._others.pop(spec.vm.adopt, None)
        name = f"{spec.name}-{assignment.key}" if adopted is None else adopted.name
        self._known[assignment.key] = SimulatedMachine(
            MachineSeen(assignment.node, name, assignment.key, "running", cpus, memory)
        )

    def all(self) -> list[MachineSeen]:
        for key in list(self._known):
            if not self._runs(key):
                del self._known[key]
        return [*self._others.values(), *(machine.seen for machine in self._known.values())]

    def offer(self, node: str, name: str) -> MachineSeen:
        found = self._others.get(name)
        if found is None or found.node != node:
            raise Refusal(f"no VM {name!r} of others runs on {node}")
        return found

    def get(self, key: str) -> SimulatedMachine:
        """Raises KeyError for an attempt that does not run."""
        if not self._runs(key):
            self._known.pop(key, None)
        return self._known[key]

    def set_power(self, key: str, power: MachinePower) -> None:
        machine = self.get(key)
        is_off = machine.seen.power == "off"
        if power in (MachinePower.REBOOT, MachinePower.RESET) and is_off:
            raise Refusal("it is off; switch it on")
        off = power in (MachinePower.OFF, MachinePower.CUT)
        machine.seen = replace(machine.seen, power="off" if off else "running")

    def take_snapshot(self, key: str, name: str) -> None:
        machine = self.get(key)
        others = {known: replace(one, current=False) for known, one in machine.snapshots.items()}
        if name not in others:
            machine.snapshots = others | {name: MachineSnapshot(name, self._now(), machine.seen.power, current=True)}

    def revert(self, key: str, name: str) -> None:
        machine = self.get(key)
        if name not in machine.snapshots:
            known = ", ".join(machine.snapshots) or "none"
            raise Refusal(f"there is no snapshot {name!r}; there is: {known}")
        machine.snapshots = {one.name: replace(one, current=one.name == name) for one in machine.snapshots.values()}
        machine.seen = replace(machine.seen, power=machine.snapshots[name].power)

    def moved(self, key: str, node: str) -> None:
        machine = self._known.get(key)
        if machine is not None and machine.seen.node != node:
            sent = machine.seen.memory_bytes
            machine.migration = MigrationProgress(machine.seen.node, node, "done", 0.0, sent, sent, downtime_s=0.0)
            machine.seen = replace(machine.seen, node=node)

    def _runs(self, key: str) -> bool:
        try:
            return self._world.status(key, self._now()).phase is not Phase.ENDED
        except KeyError:
            return False
