"""A whole decision against the floor: the least NumPy that could still be called placing by resources.

The floor compares and weights each resource the task asks for over all nodes, then takes one argmax. Its tables of free
and inverse capacity are given and its arrays are allocated beforehand; it knows no labels, taints, health or
preferences, explains nothing and remembers nothing. Only resources that the user wrote count; the task slot, which the
engine checks as well, does not. Both are timed in turn in one loop, so that noise hits both.
"""

from collections.abc import Iterator
from statistics import median
from time import perf_counter

import numpy as np
import numpy.typing as npt

from benchmarks.clusters import different_shapes, nodes
from benchmarks.engine.deciding import NOW, check_placed, engine_with, one_decision_s
from benchmarks.harness import Bench, Measured, at_most, benchmark
from benchmarks.measuring import middle, quiet
from dovetail.engine.engine import Engine
from dovetail.model.event import Submitted
from dovetail.model.resources import SLOTS
from dovetail.model.workloads.workload import Workload

NODES = 5000
SAMPLES = 2000
ROUNDS = 3
OVER_FLOOR = at_most("engine.different_shapes.over_floor", 5.5, "×")


class Floor:
    """float64[resource, node] tables and float64[node], bool[node] working arrays."""

    def __init__(self, free: npt.NDArray[np.float64], inverse: npt.NDArray[np.float64]) -> None:
        self._free, self._inverse = free, inverse
        width = free.shape[1]
        self._total, self._points = np.empty(width), np.empty(width)
        self._short, self._alike = np.empty(width, np.bool_), np.empty(width, np.bool_)

    def best(self, wanted: list[tuple[int, float]]) -> int:
        """The row with the largest share left over, of those where each (resource row, amount) fits."""
        total, points, short, alike = self._total, self._points, self._short, self._alike
        first = True
        for row, amount in wanted:
            free = self._free[row]
            if first:
                np.less(free, amount, out=short)
                np.subtract(free, amount, out=total)
                np.multiply(total, self._inverse[row], out=total)
                first = False
            else:
                np.less(free, amount, out=alike)
                np.logical_or(short, alike, out=short)
                np.subtract(free, amount, out=points)
                np.multiply(points, self._inverse[row], out=points)
                np.add(total, points, out=total)
        np.putmask(total, short, -1.0)
        return int(total.argmax())


@benchmark(OVER_FLOOR)
def over_floor(bench: Bench) -> Iterator[tuple[str, Measured]]:
    cluster = list(nodes(NODES))
    ratios = []
    for seed in range(ROUNDS + 1):
        engine, workloads = engine_with(cluster), list(different_shapes(SAMPLES, seed))
        with quiet():
            decision_s, floor_s = _medians_s(engine, workloads)
        ratios.append(decision_s / floor_s)
        figures = f"{decision_s * 1e6:.0f} µs over {floor_s * 1e6:.0f} µs is {ratios[-1]:.2f}"
        bench.say(figures + ("" if seed else " (warming up)"))
    yield OVER_FLOOR.name, middle(ratios[1:], f"ratios of medians of {SAMPLES:,}")


def _medians_s(engine: Engine, workloads: list[Workload]) -> tuple[float, float]:
    resources = engine._state.cluster.resources
    floor = Floor(resources.free[:, :NODES], resources.inverse[:, :NODES])
    decision_times, floor_times, decisions = [], [], []
    for id_, workload in enumerate(workloads, start=1):
        amounts = workload.resources.amounts().items()
        wanted = [(resources.index[name], float(amount)) for name, amount in amounts if name != SLOTS]
        engine.handle(Submitted(id_, workload), NOW)
        began = perf_counter()
        floor.best(wanted)
        floor_times.append(perf_counter() - began)
        decision_times.append(one_decision_s(engine))
        decisions += engine.take_changes(NOW).decisions
    check_placed(decisions, len(workloads))
    return median(decision_times), median(floor_times)
