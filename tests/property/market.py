"""A saturated cluster on a virtual clock: tenants that always have more to run, and what each of them holds over time.

Every tenant keeps so many workloads waiting; tasks end after random times; whatever ends is replaced. The engine is the
real one, asked to decide after everything that happens. Same seed, same course of things.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random
from typing import Any

from dovetail.engine.engine import Engine
from dovetail.engine.settings import EngineSettings
from dovetail.model.command import Bind, Command
from dovetail.model.event import NodeJoined, Submitted, TaskFinished, TaskStarted, Tick
from dovetail.model.node import Node
from dovetail.model.workloads.workload import Workload

Shape = dict[str, Any]  # resources of a task
DECISIONS = 10_000


@dataclass
class Tenant:
    name: str
    shapes: Sequence[Shape]
    backlog: int = 30
    fields: dict[str, Any] = field(default_factory=dict)
    comes_at: float = 0.0
    most: int | None = None  # workloads it submits in all
    run_s: float | None = None  # its work runs so long; None: random


@dataclass
class Market:
    settings: EngineSettings
    tenants: Sequence[Tenant]
    nodes: int = 20
    capacity: dict[str, Any] = field(default_factory=lambda: {"cpu": 16, "memory": "64GiB"})
    mean_s: float = 100.0
    declared: bool = True  # run times are declared, up to three times too long
    seed: int = 0

    def __post_init__(self) -> None:
        self.chance = Random(self.seed)
        self.engine = Engine(self.settings)
        self.now = 0.0
        self.ends: list[tuple[float, str, Any]] = []
        self.run_s: dict[int, float] = {}
        self.submitted_at: dict[int, float] = {}
        self.waiting: dict[str, set[int]] = {tenant.name: set() for tenant in self.tenants}
        self.whose: dict[int, str] = {}
        self.submitted: dict[str, int] = {tenant.name: 0 for tenant in self.tenants}
        self.waits_s: dict[str, list[float]] = {tenant.name: [] for tenant in self.tenants}
        self.held: dict[str, float] = {tenant.name: 0.0 for tenant in self.tenants}  # dominant share × seconds
        self.measured_s = 0.0
        for number in range(self.nodes):
            self._hear(NodeJoined(Node.model_validate({"name": f"n{number}", "capacity": self.capacity})))

    def run(self, until: float, measure_from: float = 0.0) -> None:
        while True:
            self._restock()
            self._decide()
            later = [tenant.comes_at for tenant in self.tenants if tenant.comes_at > self.now]
            at = min([*later, self.ends[0][0]])
            if at > until:
                self._pass(until, measure_from)
                return
            self._pass(at, measure_from)
            while self.ends and self.ends[0][0] <= self.now:
                _, key, task = heappop(self.ends)
                self._hear(TaskFinished(task, key, 0, "exit status 0"))
            self.engine.take_changes(self.now)

    def shares(self) -> dict[str, float]:
        """Mean dominant share of each tenant over the time that was measured."""
        return {name: held / self.measured_s for name, held in self.held.items()}

    def start_measuring_anew(self) -> None:
        self.held = dict.fromkeys(self.held, 0.0)
        self.measured_s = 0.0

    def _pass(self, at: float, measure_from: float) -> None:
        span_s = at - max(self.now, measure_from)
        if span_s > 0:
            usage = self.engine._state.accounts.usage
            for name in self.held:
                self.held[name] += usage.share_of_tenant(name) * span_s
            self.measured_s += span_s
        self.now = at

    def _restock(self) -> None:
        for tenant in self.tenants:
            while tenant.comes_at <= self.now and len(self.waiting[tenant.name]) < tenant.backlog:
                if self.submitted[tenant.name] == tenant.most:
                    break
                self._submit(tenant)

    def _submit(self, tenant: Tenant) -> None:
        id_ = len(self.run_s) + 1
        declared_s = self.chance.choice([0.75, 1.5, 3.0]) * self.mean_s
        self.run_s[id_] = declared_s * self.chance.uniform(0.3, 1.0) if tenant.run_s is None else tenant.run_s
        self.submitted[tenant.name] += 1
        fields = {"name": f"w{id_}", "namespace": tenant.name, "resources": self.chance.choice(tenant.shapes)}
        if self.declared:
            fields["deadline"] = {"run_for": declared_s}
        self.whose[id_] = tenant.name
        self.waiting[tenant.name].add(id_)
        self.submitted_at[id_] = self.now
        self._hear(Submitted(id_, Workload.model_validate(fields | tenant.fields)))

    def _decide(self) -> None:
        self._hear(Tick(DECISIONS))
        while self.engine.busy:
            self._hear(Tick(DECISIONS))

    def _hear(self, event: Any) -> None:
        for command in self.engine.handle(event, self.now):
            self._carry_out(command)

    def _carry_out(self, command: Command) -> None:
        if isinstance(command, Bind):
            id_ = command.task.workload
            tenant = self.whose[id_]
            self.waiting[tenant].discard(id_)
            self.waits_s[tenant].append(self.now - self.submitted_at[id_])
            self.engine.handle(TaskStarted(command.task, command.key), self.now)
            heappush(self.ends, (self.now + self.run_s[id_], command.key, command.task))
