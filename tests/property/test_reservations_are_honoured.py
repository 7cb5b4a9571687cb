"""Whatever runs and whatever was reserved: at every moment of every accepted window its room is free or its tenant's.

Work takes as long as it said or less, or for ever where it said nothing; nodes do not fail.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.invariants import check_invariants

from dovetail.engine.engine import Engine
from dovetail.engine.settings import EngineSettings
from dovetail.model.command import Bind, Command, Wake
from dovetail.model.event import (
    NodeJoined,
    ReservationMade,
    ReservationReleased,
    Submitted,
    TaskBound,
    TaskFinished,
    TaskStarted,
    Tick,
)
from dovetail.model.node import Node
from dovetail.model.reservation import Reservation
from dovetail.model.workloads.workload import Workload

NAMESPACES = ("research", "web", "ops")
END = 4000.0
#: Windows of a recurring reservation that are looked at.
LOOKED_AT = 8


@dataclass(slots=True)
class Accepted:
    windows: list[tuple[float, float]]
    holds: dict[str, dict[str, int]]
    tenant: str | None


@dataclass(slots=True)
class World:
    chance: Random
    engine: Engine
    now: float = 0.0
    accepted: dict[int, Accepted] = field(default_factory=dict)
    running: dict[tuple[int, int], tuple[str, str, int]] = field(default_factory=dict)  # node, namespace, millicores
    specs: dict[int, Workload] = field(default_factory=dict)
    agenda: list[tuple[float, int, str, object]] = field(default_factory=list)
    refused: int = 0
    _count: int = 0

    def at(self, moment: float, what: str, about: object = None) -> None:
        self._count += 1
        heappush(self.agenda, (moment, self._count, what, about))

    def run(self) -> None:
        while self.agenda and self.agenda[0][0] <= END:
            self.now = self.agenda[0][0]
            while self.agenda and self.agenda[0][0] == self.now:
                _, _, what, about = heappop(self.agenda)
                getattr(self, what)(about)
            self.decide()
            self.check()

    def decide(self) -> None:
        self.hear(self.engine.handle(Tick(1000), self.now))
        while self.engine.busy:
            self.hear(self.engine.handle(Tick(1000), self.now))
        self.engine.take_changes(self.now)
        check_invariants(self.engine._state.cluster)

    def hear(self, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, Wake):
                self.at(max(command.at, self.now + 0.001), "wake")
            elif isinstance(command, Bind):
                spec = self.specs[command.task.workload]
                amount = spec.resources.amounts()["cpu"]
                self.running[command.task] = (command.node, spec.namespace, amount)
                self.engine.handle(TaskBound(command.task, command.key), self.now)
                self.engine.handle(TaskStarted(command.task, command.key), self.now)
                if spec.deadline.run_for is not None:
                    share = self.chance.choice([1.0, 1.0, 0.5, 0.1])
                    self.at(self.now + share * spec.deadline.run_for, "finish", command)

    # --- what is on the agenda -------------------------------------------------------------------------------

    def wake(self, _: object) -> None:
        pass

    def finish(self, bind: Bind) -> None:
        del self.running[bind.task]
        self.hear(self.engine.handle(TaskFinished(bind.task, bind.key, 0, "done"), self.now))

    def submit(self, id_: int) -> None:
        run_for = self.chance.choice([None, 20, 60, 150, 400, 1000])
        fields = {
            "name": f"w{id_}",
            "namespace": self.chance.choice(NAMESPACES),
            "replicas": self.chance.randint(1, 3),
            "resources": {"cpu": self.chance.randint(1, 4)},
            "deadline": {} if run_for is None else {"run_for": run_for},
        }
        self.specs[id_] = Workload.model_validate(fields)
        self.hear(self.engine.handle(Submitted(id_, self.specs[id_]), self.now))

    def reserve(self, id_: int) -> None:
        wanted = Reservation.model_validate(self.some_reservation())
        self.hear(self.engine.handle(ReservationMade(id_, wanted), self.now))
        record = self.engine._state.reservations.get(id_)
        if record is None:
            self.refused += 1
            return
        start = wanted.start.after(self.now)
        every_s = wanted.every or 0.0
        starts = [start + k * every_s for k in range(LOOKED_AT if every_s else 1)]
        last = END if wanted.until is None else wanted.until.after(self.now)
        windows = [(moment, moment + wanted.duration) for moment in starts if moment <= last]
        self.accepted[id_] = Accepted(windows, record.holds, record.tenant)
        for window in windows:
            for moment in window:
                self.at(moment, "wake")
        if self.chance.random() < 0.2:
            self.at(self.now + self.chance.randint(1, 500), "release", id_)

    def release(self, id_: int) -> None:
        self.accepted.pop(id_)
        self.hear(self.engine.handle(ReservationReleased(id_), self.now))

    def some_reservation(self) -> dict[str, object]:
        chance = self.chance
        names = sorted(self.engine._state.cluster.rows)
        where: dict[str, object] = chance.choice(
            [
                {"node": chance.choice(names)},
                {"nodes": chance.sample(names, min(2, len(names)))},
                {"domain": {"rack": chance.choice(["r0", "r1"])}},
                {"count": chance.randint(1, 4), "resources": {"cpu": chance.randint(1, 3)}},
            ]
        )
        if "resources" not in where and chance.random() < 0.7:
            where["resources"] = {"cpu": chance.randint(1, 4)}
        when: dict[str, object] = {
            "start": chance.choice(["now", f"+{chance.randint(1, 900)}s"]),
            "duration": chance.randint(10, 300),
            "tenant": chance.choice([None, *NAMESPACES]),
        }
        if chance.random() < 0.4:
            when |= {"every": chance.choice([300, 450, 700])}
            if chance.random() < 0.5:
                when |= {"until": f"+{chance.randint(1000, 2000)}s"}
        return where | when

    # --- what must hold --------------------------------------------------------------------------------------

    def check(self) -> None:
        """Room that nobody uses is enough for what all tenants have reserved there and do not use themselves."""
        reserved: dict[tuple[str, str | None], int] = defaultdict(int)
        for accepted in self.accepted.values():
            if any(start <= self.now < end for start, end in accepted.windows):
                for node, amounts in accepted.holds.items():
                    reserved[node, accepted.tenant] += amounts.get("cpu", 0)
        used: dict[tuple[str, str], int] = defaultdict(int)
        for node, namespace, amount in self.running.values():
            used[node, namespace] += amount
        for node, row in self.engine._state.cluster.rows.items():
            total = sum(amount for (name, _), amount in used.items() if name == node)
            kept = sum(
                max(amount - (used[node, tenant] if tenant else 0), 0)
                for (name, tenant), amount in reserved.items()
                if name == node
            )
            capacity = self.engine._state.cluster.resources.schedulable[0, row]
            assert kept <= capacity - total, (
                f"{self.now}: {node} has {capacity}, {total} in use, {kept} must be kept: {reserved}"
            )


def a_world(seed: int) -> World:
    chance = Random(seed)
    mode = chance.choice(["off", "easy", "conservative"])
    world = World(
        chance, Engine(EngineSettings.model_validate({"schedulers": {"default": {"backfill": {"mode": mode}}}}))
    )
    for i in range(chance.randint(1, 4)):
        node = {"name": f"n{i}", "capacity": {"cpu": chance.randint(2, 8)}, "labels": {"rack": f"r{i % 2}"}}
        world.engine.handle(NodeJoined(Node.model_validate(node)), 0.0)
    for id_ in range(1, chance.randint(5, 40)):
        world.at(float(chance.randint(0, 2000)), "submit", id_)
    for id_ in range(1, chance.randint(2, 12)):
        world.at(float(chance.randint(0, 1000)), "reserve", id_)
    return world


@examples(30)
@given(st.integers(0, 2**32))
def test_reserved_room_is_free_or_used_by_its_tenant_at_every_moment(seed: int) -> None:
    a_world(seed).run()


def test_the_random_worlds_accept_and_refuse_and_run_work() -> None:
    worlds = [a_world(seed) for seed in range(8)]
    for world in worlds:
        world.run()
    assert sum(len(world.accepted) for world in worlds) > 8
    assert sum(world.refused for world in worlds) > 8
    assert sum(len(world.specs) for world in worlds) > 80
