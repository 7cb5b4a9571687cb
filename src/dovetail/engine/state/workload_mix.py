"""The mix of GPU work seen so far: what usually comes, and which kinds of GPUs are short for it.

Learned from what is submitted, each task counting once. Before the first, the usual task is taken to ask for one GPU
with the cluster's own CPU a GPU. What is typical is worked out at the first task and then each time their number has
grown by half (a guess from the cluster alone costs more than it saves: openb's multigpu50 ends 0.1 points lower if it
stands for the first 32); what is scarce, every so many arrivals and placements of GPU work.

Guarantees: pure and deterministic, so that the same events give the same mix; bounded (the rarest asks are forgotten
first, and old ones fade); the same after a restart as before (`memory`, `recall`). Questions change nothing of it.
"""

from typing import Any

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.state import Cluster
from dovetail.model.device import WHOLE
from dovetail.model.requests.asks import GpuAsk
from dovetail.model.requests.shape import Shape
from dovetail.model.resources import CPU, GPU, MEMORY
from dovetail.placement.fragmentation.outlook import Outlook
from dovetail.placement.fragmentation.scarcity import FIRST_STEPS, MORE_STEPS, levelled
from dovetail.placement.fragmentation.typical import Typical, TypicalAsk

FIRST_MIX = 1  # tasks
GROWTH = 1.5
MOST_TYPICAL = 400  # asks, the commonest
MOST_COUNTED = 2000  # asks; beyond that the rarer half is forgotten
MOST_SEEN = 2**16  # tasks; then all counts are halved, so that old work fades
#: Arrivals and placements between two looks at what is scarce; a task that comes and is placed counts twice.
LOOK_EVERY = 32
#: GPUs that one GPU of a kind costs which is asked for twice as much as others or more.
DEAREST = 2.0
_PRICE_DECIMALS = 2  # changes too small to matter are no news

_Wanted = tuple[tuple[str, ...], int]  # models and memory of a device that will do


class WorkloadMix:
    def __init__(self, cluster: Cluster) -> None:
        self.outlook = Outlook()
        self._cluster = cluster
        self._counts: dict[TypicalAsk, float] = {}
        self._demand: dict[_Wanted, float] = {}  # thousandths asked for
        self._built: dict[TypicalAsk, float] = {}  # the counts behind what is typical now
        self._seen = 0.0
        self._next = float(FIRST_MIX)
        self._pull: F8 = np.ones(0)
        self._moves = LOOK_EVERY
        self._prior_as_of = -1
        self._sets: tuple[tuple[int, int], B1] = ((-1, -1), np.zeros((0, 0), dtype=np.bool_))

    def __len__(self) -> int:
        """Tasks behind what is typical; 0 while that is a guess."""
        return int(sum(self._built.values()))

    # --- learning --------------------------------------------------------------------------------------------

    def saw(self, shape: Shape, tasks: int) -> None:
        """So many tasks of a shape were submitted."""
        ask = ask_of(shape)
        if ask is None:
            return
        self._counts[ask] = self._counts.get(ask, 0.0) + tasks
        wanted = (ask.gpus.models, ask.gpus.memory)
        self._demand[wanted] = self._demand.get(wanted, 0.0) + ask.gpu * tasks
        self._seen += tasks
        self._moves += 1
        if len(self._counts) > MOST_COUNTED:
            self._keep(dict(_commonest(self._counts)[: MOST_COUNTED // 2]))
        if self._seen >= self._next:
            self._build(dict(_commonest(self._counts)[:MOST_TYPICAL]))
            if self._seen > MOST_SEEN:
                self._keep({ask: count / 2 for ask, count in self._counts.items()})
            self._next = self._seen * GROWTH

    def moved(self) -> None:
        """A task with GPUs was placed."""
        self._moves += 1

    def refresh(self) -> None:
        """Before a decision that goes by it."""
        kinds = len(self._cluster.devices.kind_list)
        if self._moves >= LOOK_EVERY or len(self._pull) != kinds:
            self._moves = 0
            self._look(kinds)

    def prepare(self) -> None:
        """While nothing was seen, what is typical follows from the cluster."""
        if self._built or self._prior_as_of == self._cluster.generation:
            return
        self._prior_as_of = self._cluster.generation
        cluster, tables = self._cluster, self._cluster.resources
        n = cluster.width
        cpu, gpu = (tables.capacity[tables.index[name], :n].sum() for name in (CPU, GPU))
        usual = [TypicalAsk(int(cpu * WHOLE / gpu), 0, GpuAsk(count=1))] if gpu else []
        self.outlook.expect(Typical(usual, [1.0]) if usual else None)

    def _build(self, counts: dict[TypicalAsk, float]) -> None:
        self._built = counts
        self.outlook.expect(Typical(list(counts), list(counts.values())))

    def _keep(self, counts: dict[TypicalAsk, float]) -> None:
        self._counts = counts
        self._seen = sum(counts.values())
        self._demand = {}
        for ask, count in counts.items():
            wanted = (ask.gpus.models, ask.gpus.memory)
            self._demand[wanted] = self._demand.get(wanted, 0.0) + ask.gpu * count

    # --- what is scarce --------------------------------------------------------------------------------------

    def _look(self, kinds: int) -> None:
        cluster, devices = self._cluster, self._cluster.devices
        n = cluster.width
        there = np.maximum(devices.free[:n], 0) * cluster.ready[:n, None]
        free: F8 = np.bincount(devices.kinds[:n].ravel(), there.ravel(), kinds).astype(np.float64)
        free[0] = 0.0  # no device
        pull = np.ones(kinds)
        pull[: len(self._pull)] = self._pull
        steps = MORE_STEPS if len(self._pull) else FIRST_STEPS
        # One GPU of whatever model beside what was asked for: nothing is scarce before anything is known.
        demand = np.array([float(WHOLE), *self._demand.values()])
        load, self._pull = levelled(free, self._allowed(kinds), demand, pull, steps)
        self.outlook.price(np.round(DEAREST * np.clip(load - 1.0, 0.0, 1.0), _PRICE_DECIMALS))

    def _allowed(self, kinds: int) -> B1:
        """bool[set, kind]: the first set is all; then those of `_demand`, which keep their order."""
        key = (hash(tuple(self._demand)), kinds)
        if self._sets[0] != key:
            listed = self._cluster.devices.kind_list
            rows = [[True] * kinds]
            rows += [
                [(not models or model in models) and has >= memory for model, has in listed]
                for models, memory in self._demand
            ]
            self._sets = (key, np.array(rows, dtype=np.bool_))
        return self._sets[1]

    # --- restarting ------------------------------------------------------------------------------------------

    def memory(self) -> dict[str, Any]:
        """For JSON. Kinds of devices are named, since their codes are given in the order that nodes join."""
        listed = self._cluster.devices.kind_list
        return {
            "asks": [
                [ask.cpu, ask.memory, ask.gpus.count, ask.gpus.share, ask.gpus.models, ask.gpus.memory, count]
                for ask, count in self._counts.items()
            ],
            "typical": [[_key(ask), count] for ask, count in self._built.items()],
            "seen": self._seen,
            "next": self._next,
            "moves": self._moves,
            "pull": [[*listed[code], pull] for code, pull in enumerate(self._pull.tolist())],
            "prices": [[*listed[code], price] for code, price in enumerate(self.outlook.prices.tolist())],
        }

    def recall(self, memory: dict[str, Any]) -> None:
        """The inverse; nodes have joined by now."""
        counts: dict[TypicalAsk, float] = {}
        for cpu, ram, count, share, models, device_memory, number in memory["asks"]:
            counts[TypicalAsk(cpu, ram, GpuAsk(count, share, tuple(models), device_memory))] = number
        self._keep(counts)
        self._seen, self._next, self._moves = memory["seen"], memory["next"], memory["moves"]
        by_key = {_key(ask): ask for ask in counts}
        built = {by_key[key]: count for key, count in memory["typical"] if key in by_key}
        if built:
            self._build(built)
        self._pull = self._by_code(memory["pull"], 1.0)
        self.outlook.price(self._by_code(memory["prices"], 0.0))

    def _by_code(self, named: list[list[Any]], usual: float) -> F8:
        """float64[kind] from (model, memory, value); the first entry is that of no device."""
        if not named:
            return np.zeros(0)
        values = {(model, memory): value for model, memory, value in named[1:]}
        listed = self._cluster.devices.kind_list
        return np.array([named[0][2], *(values.get(kind, usual) for kind in listed[1:])])


def ask_of(shape: Shape) -> TypicalAsk | None:
    """What a task of a shape asks for, as far as fragments go; None where that is no GPU."""
    gpus = shape.gpus
    if gpus is None:
        return None
    amounts = dict(shape.amounts)
    plain = GpuAsk(gpus.count, gpus.share, tuple(sorted(gpus.models)), gpus.memory)
    return TypicalAsk(amounts.get(CPU, 0), amounts.get(MEMORY, 0), plain)


def _commonest(counts: dict[TypicalAsk, float]) -> list[tuple[TypicalAsk, float]]:
    """The most frequent first; of equals, the one that came first."""
    return sorted(counts.items(), key=lambda item: -item[1])


def _key(ask: TypicalAsk) -> str:
    gpus = ask.gpus
    return f"{ask.cpu}/{ask.memory}/{gpus.count}/{gpus.share}/{'|'.join(gpus.models)}/{gpus.memory}"
