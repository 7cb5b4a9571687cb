"""The mix of GPU work seen so far: the typical requests, and which GPU models are scarce for them.

Learned from submissions; each task counts once. Before the first one, the typical task is assumed to request one GPU
and the cluster's average CPU per GPU. The typical mix is rebuilt at the first task and each time the number of tasks
grew by half (a guess used for the first 32 tasks costs 0.1 points on openb's multigpu50). Scarcity is recomputed every
`LOOK_EVERY` arrivals and placements of GPU work.

Guarantees: deterministic; bounded (rare requests are dropped first, old ones fade); unchanged by a restart (`memory`,
`recall`) and by questions.
"""

from typing import Any

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.state import Cluster
from dovetail.model.device import WHOLE
from dovetail.model.requests.asks import GpuAsk
from dovetail.model.requests.shape import Shape
from dovetail.model.resources import CPU, GPU, MEMORY
from dovetail.placement.fragmentation.outlook import FIRST_STEPS, MORE_STEPS, Outlook, levelled
from dovetail.placement.fragmentation.typical import Typical, TypicalAsk

FIRST_MIX = 1  # tasks
GROWTH = 1.5
MOST_TYPICAL = 400  # requests, the most frequent
MOST_COUNTED = 2000  # requests; above that the rarer half is dropped
MOST_SEEN = 2**16  # tasks; above that all counts are halved
#: Arrivals and placements between two updates of scarcity; a task that arrives and is placed counts twice.
LOOK_EVERY = 32
#: The highest price of a GPU, in GPUs: for a model with at least twice the demand of others.
DEAREST = 2.0
_PRICE_DECIMALS = 2  # smaller changes do not count as changes

_Wanted = tuple[tuple[str, ...], int]  # acceptable models, minimum memory of a device


class WorkloadMix:
    def __init__(self, cluster: Cluster) -> None:
        self.outlook = Outlook()
        self._cluster = cluster
        self._counts: dict[TypicalAsk, float] = {}
        self._demand: dict[_Wanted, float] = {}  # requested thousandths of GPUs
        self._built: dict[TypicalAsk, float] = {}  # the counts behind the current typical mix
        self._seen = 0.0
        self._next = float(FIRST_MIX)
        self._pull: F8 = np.ones(0)
        self._since_refresh = LOOK_EVERY
        self._prior_as_of = -1
        self._sets: tuple[tuple[int, int], B1] = ((-1, -1), np.zeros((0, 0), dtype=np.bool_))

    def __len__(self) -> int:
        """Tasks behind the typical mix; 0 while it is a guess."""
        return int(sum(self._built.values()))

    # --- learning --------------------------------------------------------------------------------------------

    def record_submission(self, shape: Shape, tasks: int) -> None:
        """`tasks` tasks of a shape were submitted."""
        ask = ask_of(shape)
        if ask is None:
            return
        self._counts[ask] = self._counts.get(ask, 0.0) + tasks
        wanted = (ask.gpus.models, ask.gpus.memory)
        self._demand[wanted] = self._demand.get(wanted, 0.0) + ask.gpu * tasks
        self._seen += tasks
        self._since_refresh += 1
        if len(self._counts) > MOST_COUNTED:
            self._keep(dict(_commonest(self._counts)[: MOST_COUNTED // 2]))
        if self._seen >= self._next:
            self._build(dict(_commonest(self._counts)[:MOST_TYPICAL]))
            if self._seen > MOST_SEEN:
                self._keep({ask: count / 2 for ask, count in self._counts.items()})
            self._next = self._seen * GROWTH

    def record_placement(self) -> None:
        """A task with GPUs was placed."""
        self._since_refresh += 1

    def refresh(self) -> None:
        """Call before a decision that uses scarcity."""
        kinds = len(self._cluster.devices.kind_list)
        if self._since_refresh >= LOOK_EVERY or len(self._pull) != kinds:
            self._since_refresh = 0
            self._update_scarcity(kinds)

    def prepare(self) -> None:
        """Until the first submission, derive the typical mix from the cluster."""
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

    # --- scarcity --------------------------------------------------------------------------------------

    def _update_scarcity(self, kinds: int) -> None:
        cluster, devices = self._cluster, self._cluster.devices
        n = cluster.width
        there = np.maximum(devices.free[:n], 0) * cluster.status.ready[:n, None]
        free: F8 = np.bincount(devices.kinds[:n].ravel(), there.ravel(), kinds).astype(np.float64)
        free[0] = 0.0  # no device
        pull = np.ones(kinds)
        pull[: len(self._pull)] = self._pull
        steps = MORE_STEPS if len(self._pull) else FIRST_STEPS
        # One GPU of any model is added to the demand: nothing is scarce before anything was submitted.
        demand = np.array([float(WHOLE), *self._demand.values()])
        load, self._pull = levelled(free, self._allowed(kinds), demand, pull, steps)
        self.outlook.price(np.round(DEAREST * np.clip(load - 1.0, 0.0, 1.0), _PRICE_DECIMALS))

    def _allowed(self, kinds: int) -> B1:
        """bool[set, kind]: the first set is all kinds, then one set for each entry of `_demand`."""
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
        """For JSON. Device kinds are written by name, since codes depend on the order in which nodes join."""
        listed = self._cluster.devices.kind_list
        return {
            "asks": [
                [ask.cpu, ask.memory, ask.gpus.count, ask.gpus.share, ask.gpus.models, ask.gpus.memory, count]
                for ask, count in self._counts.items()
            ],
            "typical": [[_key(ask), count] for ask, count in self._built.items()],
            "seen": self._seen,
            "next": self._next,
            "moves": self._since_refresh,
            "pull": [[*listed[code], pull] for code, pull in enumerate(self._pull.tolist())],
            "prices": [[*listed[code], price] for code, price in enumerate(self.outlook.prices.tolist())],
        }

    def recall(self, memory: dict[str, Any]) -> None:
        """The inverse of `memory`. Nodes must have joined before."""
        counts: dict[TypicalAsk, float] = {}
        for cpu, ram, count, share, models, device_memory, number in memory["asks"]:
            counts[TypicalAsk(cpu, ram, GpuAsk(count, share, tuple(models), device_memory))] = number
        self._keep(counts)
        self._seen, self._next, self._since_refresh = memory["seen"], memory["next"], memory["moves"]
        by_key = {_key(ask): ask for ask in counts}
        built = {by_key[key]: count for key, count in memory["typical"] if key in by_key}
        if built:
            self._build(built)
        self._pull = self._by_code(memory["pull"], 1.0)
        self.outlook.price(self._by_code(memory["prices"], 0.0))

    def _by_code(self, named: list[list[Any]], usual: float) -> F8:
        """float64[kind] from (model, memory, value); the first entry stands for no device."""
        if not named:
            return np.zeros(0)
        values = {(model, memory): value for model, memory, value in named[1:]}
        listed = self._cluster.devices.kind_list
        return np.array([named[0][2], *(values.get(kind, usual) for kind in listed[1:])])


def ask_of(shape: Shape) -> TypicalAsk | None:
    """The part of a shape that matters for GPU fragmentation; None without a GPU."""
    gpus = shape.gpus
    if gpus is None:
        return None
    amounts = dict(shape.amounts)
    plain = GpuAsk(gpus.count, gpus.share, tuple(sorted(gpus.models)), gpus.memory)
    return TypicalAsk(amounts.get(CPU, 0), amounts.get(MEMORY, 0), plain)


def _commonest(counts: dict[TypicalAsk, float]) -> list[tuple[TypicalAsk, float]]:
    """Most frequent first; of equals, the one seen first."""
    return sorted(counts.items(), key=lambda item: -item[1])


def _key(ask: TypicalAsk) -> str:
    gpus = ask.gpus
    return f"{ask.cpu}/{ask.memory}/{gpus.count}/{gpus.share}/{'|'.join(gpus.models)}/{gpus.memory}"
