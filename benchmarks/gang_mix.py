"""Mixed jobs on a GPU cluster, in a process of its own: `python -m benchmarks.gang_mix NODES JOBS ROUNDS`.

Each job comes in, is decided and handed over before the next comes; once 80 % of the GPUs are taken, the oldest end for
every one that comes, so that domains are in pieces as in life. Prints one JSON object: for each round, tasks placed
a second of deciding and the p99 of a job's decision (refusals count for time, not for tasks), and the most memory that
the process ever held.
"""

import json
import random
import sys
from collections import deque
from time import perf_counter

from benchmarks.engine.deciding import NOW, engine_with
from benchmarks.gang_fabric import GPUS, Fabric, gang, mixed_jobs
from benchmarks.measuring import quantile, quiet
from benchmarks.process_memory import MB, peak_resident_bytes
from dovetail.engine.engine import Engine
from dovetail.model.command import Bind, Command, attempt_key
from dovetail.model.event import CancelAsked, Submitted, TaskFinished, Tick
from dovetail.model.resources import GPU
from dovetail.model.workloads.workload import Workload

FABRIC = Fabric(rack_nodes=10, leaf_racks=5, spine_leaves=5)
FULL, WITH_GANGS = 0.8, 0.7
FIRST_GANGS = (8, 16, 32)  # nodes


class Mix:
    def __init__(self, nodes: int) -> None:
        self.engine: Engine = engine_with(FABRIC.nodes(nodes))
        self._capacity = nodes * GPUS
        self._used = 0
        self._was_full = False
        self._running: deque[tuple[int, Workload, list[Bind]]] = deque()
        self._next = 1

    def fill(self) -> None:
        """Mostly with gangs, which is quick, and then with the mix."""
        chance, number = random.Random(3), 0
        while self._used < WITH_GANGS * self._capacity:
            self._decide(gang(f"first-{number}", chance.choice(FIRST_GANGS), required="spine", preferred="leaf"))
            number += 1
        seed = 1_000
        while not self._was_full:
            self.run(500, seed)
            seed += 1

    def run(self, jobs: int, seed: int) -> tuple[float, float]:
        """Tasks a second, and the p99 of a job in milliseconds. Ending jobs and submitting are not part of it."""
        times_s, tasks = [], 0
        for spec in mixed_jobs(jobs, seed):
            elapsed_s, placed = self._decide(spec)
            times_s.append(elapsed_s)
            tasks += placed
        return tasks / sum(times_s), quantile(times_s, 0.99) * 1000

    def _decide(self, spec: Workload) -> tuple[float, int]:
        """Seconds that the engine took, and tasks placed."""
        self._make_room(spec)
        self.engine.handle(Submitted(self._next, spec), NOW)
        began = perf_counter()
        commands = self.engine.handle(Tick(10_000), NOW)
        self.engine.take_changes(NOW)
        return perf_counter() - began, self._settle(spec, commands)

    def _settle(self, spec: Workload, commands: list[Command]) -> int:
        binds = [command for command in commands if isinstance(command, Bind)]
        if len(binds) == spec.replicas:
            self._running.append((self._next, spec, binds))
            self._used += _gpus(spec)
        else:
            self.engine.handle(CancelAsked(self._next, "does not fit"), NOW)
            self.engine.take_changes(NOW)
        self._next += 1
        return len(binds)

    def _make_room(self, spec: Workload) -> None:
        while self._running and self._used + _gpus(spec) > FULL * self._capacity:
            self._was_full = True
            _, done, binds = self._running.popleft()
            for bind in binds:
                self.engine.handle(TaskFinished(bind.task, attempt_key(bind.task, 1), 0, "done"), NOW)
            self.engine.take_changes(NOW)
            self._used -= _gpus(done)


def _gpus(spec: Workload) -> int:
    return spec.replicas * spec.resources.amounts()[GPU] // 1000


def main(nodes: int, jobs: int, rounds: int) -> None:
    mix = Mix(nodes)
    mix.fill()
    with quiet():
        found = [mix.run(jobs, seed=2 + number) for number in range(rounds)]
    rates, p99s = zip(*found, strict=True)
    print(json.dumps({"rates": rates, "p99s_ms": p99s, "peak_mb": peak_resident_bytes() / MB}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
