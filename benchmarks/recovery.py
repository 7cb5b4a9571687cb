"""How long it takes to decide what to do about lost nodes, and how much moves: 1,250 full nodes, three levels.

Gangs of 4 to 64 nodes lie in a leaf or a spine as they require, singles of one to four GPUs fill most of the rest. Two
hundred times a node fails, or now and then a whole leaf; those who make way stop at once and everything is placed
before the next loss, and after a while a node that failed is back. Each decision is one call of the engine.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter

from benchmarks.harness import Bar, Bench, Better, Measured, at_most, benchmark
from benchmarks.measuring import once, quantile, quiet
from dovetail.engine.engine import Engine
from dovetail.engine.settings import EngineSettings
from dovetail.model.command import Command, Stop
from dovetail.model.event import DomainFailed, Event, NodeCordoned, NodeJoined, Submitted, TaskFinished, Tick
from dovetail.model.node import Node
from dovetail.model.resources import Capacity
from dovetail.model.workloads.workload import Workload

DECISION = at_most("recovery.losses_p99_ms", 500.0, "ms")
BROKEN = at_most("recovery.losses_left_half", 0.0, "gangs")
MOVES = Bar("recovery.losses_moves", "tasks a loss", Better.LOWER, None)
WHOLE = Bar("recovery.losses_whole", "share", Better.HIGHER, None)

LEAF, SPINE, NODES = 25, 125, 1_250
LOSSES, LEAF_SHARE = 200, 0.05
BACK_AFTER = 10  # losses


@dataclass
class Fabric:
    engine: Engine = field(default_factory=lambda: Engine(EngineSettings()))
    chance: random.Random = field(default_factory=lambda: random.Random(5))
    now: float = 0.0
    works: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    moved: int = 0

    def hear(self, event: Event) -> list[Command]:
        return self.engine.handle(event, self.now)

    def rest(self, commands: list[Command]) -> None:
        """Whatever was told to stop does, and everything is decided."""
        while True:
            self._told()
            stops = [command for command in commands if isinstance(command, Stop)]
            if not stops and not self.engine.busy:
                return
            commands = []
            for stop in stops:
                commands += self.hear(TaskFinished(stop.task, stop.key, None, "stopped"))
            while self.engine.busy:
                commands += self.hear(Tick(10_000))
                self._told()

    def _told(self) -> None:
        for note in self.engine.take_changes(self.now).recoveries:
            self.outcomes[note.outcome] = self.outcomes.get(note.outcome, 0) + 1
            self.moved += note.moved if note.outcome == "whole" else 0

    def build(self) -> None:
        for i in range(NODES):
            labels = {"spine": f"s{i // SPINE}", "leaf": f"l{i // LEAF}"}
            self.hear(
                NodeJoined(Node(name=f"n{i:04d}", capacity=Capacity(cpu=128, memory=2**40, gpu=8), labels=labels))
            )
        taken = 0
        while taken < 0.8 * NODES:
            size = self.chance.choice((4, 8, 8, 16, 24, 32, 64))
            topology = {"required": "leaf"} if size < LEAF else {"required": "spine", "preferred": "leaf"}
            self.submit(size, 8, gang={"min": size}, topology=topology)
            taken += size
        for _ in range(900):
            self.submit(1, self.chance.choice((1, 1, 2, 2, 4)), priority="low")
        self.rest([])

    def submit(self, replicas: int, gpu: int, **more: object) -> None:
        self.works += 1
        fields = {"name": f"w{self.works}", "replicas": replicas, "resources": {"cpu": 4 * gpu, "gpu": gpu}, **more}
        self.hear(Submitted(self.works, Workload.model_validate(fields)))

    def lose(self) -> tuple[float, list[str]]:
        """One loss: how long the engine took to decide, and the nodes that failed."""
        cluster = self.engine._state.cluster
        ready = [name for name, row in cluster.rows.items() if cluster.status.ready[row]]
        name = self.chance.choice(ready)
        leaf = cluster.labels.row(cluster.rows[name])["leaf"]
        whole = self.chance.random() < LEAF_SHARE
        event = DomainFailed("leaf", leaf, "") if whole else DomainFailed("node", name, "")
        start = perf_counter()
        commands = self.hear(event)
        elapsed_s = perf_counter() - start
        self.rest(commands)
        return elapsed_s, [n for n in ready if not cluster.status.ready[cluster.rows[n]]]

    def half(self) -> int:
        """Gangs that run with fewer than they need."""
        return sum(
            bool(work.terms.gang_min) and 0 < work.holding < work.terms.gang_min
            for work in self.engine._state.work.values()
        )


@benchmark(DECISION, BROKEN, MOVES, WHOLE)
def losses(bench: Bench) -> Iterator[tuple[str, Measured]]:
    fabric = Fabric()
    fabric.build()
    placed = fabric.engine._state.cluster.placements.by_task
    bench.say(f"{NODES:,} nodes hold {len(placed):,} tasks of {fabric.works:,} workloads")
    times_s, failed = [], []
    half = 0
    with quiet():
        for number in range(LOSSES):
            fabric.now += 120.0
            elapsed_s, nodes = fabric.lose()
            times_s.append(elapsed_s)
            failed.append(nodes)
            half += fabric.half()
            if number >= BACK_AFTER:
                for name in failed[number - BACK_AFTER]:
                    fabric.hear(NodeCordoned(name, False, ""))
                fabric.rest(fabric.hear(Tick(10_000)))
    bench.say(f"outcomes {fabric.outcomes}, {fabric.moved} moved, worst {max(times_s) * 1000:.0f} ms")
    whole, given_up = fabric.outcomes.get("whole", 0), fabric.outcomes.get("given_up", 0)
    yield DECISION.name, once(quantile(times_s, 0.99) * 1000, f"p99 of {LOSSES} losses")
    yield BROKEN.name, once(float(half), f"gangs that ran half after any of {LOSSES} losses")
    yield MOVES.name, once(fabric.moved / LOSSES, f"{fabric.moved} tasks moved that were not lost")
    yield WHOLE.name, once(whole / max(1, whole + given_up), f"{whole} gangs whole again, {given_up} waited honestly")
