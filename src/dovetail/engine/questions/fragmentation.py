"""GPU fragmentation: how much free GPU capacity typical work cannot use, by cluster, by domain and by typical request.

    unusable   of what is free on a node, what a typical task cannot use there, averaged over the workload mix
    useless    what none of the typical requests can use

Guarantees: nothing is changed. Nodes that take no work are left out. Left to others: how much moving tasks would win
back (`defragmenting`), and the words.
"""

from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.cluster.labels import ABSENT
from dovetail.cluster.network.levels import present_levels
from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.device import WHOLE
from dovetail.placement.fragmentation.node_arrays import NodeArrays, of_view
from dovetail.placement.fragmentation.typical import Typical, TypicalAsk

CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class Fragments:
    """Thousandths of GPUs, of one domain of a level."""

    level: str
    name: str
    gpus: int
    free: int
    unusable: float
    useless: int


@dataclass(frozen=True, slots=True)
class AskPlaces:
    """A typical ask: its share of all tasks, the nodes where one fits, and how many tasks of it fit in all."""

    ask: TypicalAsk
    share: float
    nodes: int
    tasks: int


@dataclass(frozen=True, slots=True)
class FragmentReport:
    """`seen`: tasks behind the mix; 0 while that is a guess from what the cluster has. Narrower levels come later."""

    seen: int
    domains: list[Fragments]  # the cluster first
    asks: list[AskPlaces]  # the commonest first


def fragment_report(state: EngineState) -> FragmentReport:
    state.learned.mix.prepare()
    cluster, typical = state.cluster, state.learned.mix.outlook.typical
    rows = np.flatnonzero(cluster.ready[: cluster.width])
    if typical is None or not len(rows):
        return FragmentReport(len(state.learned.mix), [_sum(CLUSTER, CLUSTER, np.zeros((4, 0)))], [])
    columns, asks = _looked_at(cluster, typical, rows)
    domains = [_sum(CLUSTER, CLUSTER, columns)]
    for level in present_levels(cluster):
        codes = level.column.codes[rows]
        there = np.unique(codes[codes != ABSENT]).tolist()
        domains += [_sum(level.name, level.domain(code), columns[:, codes == code]) for code in there]
    return FragmentReport(len(state.learned.mix), [domains[0], *(one for one in domains[1:] if one.gpus)], asks)


def _looked_at(cluster: Cluster, typical: Typical, rows: Rows) -> tuple[F8, list[AskPlaces]]:
    """float64[GPUs, free, unusable, useless; node], and each ask."""
    view = View(cluster).subset(rows)
    nodes, kinds = of_view(view), view.device_kinds
    allowed = typical.allowed(view.device_kind_list)
    free = nodes.free
    reached = np.zeros(len(rows))
    used: B1 = np.zeros(free.shape, dtype=np.bool_)
    asks = []
    for i, ask in enumerate(typical.asks):
        fits = (free >= ask.gpus.each) & allowed[:, i][kinds] & (kinds > 0)
        hosts = _hosts(ask, nodes, fits)
        fits &= hosts[:, None]
        reached += typical.weights[i] * (free * fits).sum(axis=1)
        used |= fits
        tasks = np.floor(view.device_copies(ask.gpus))
        for amount, needed in ((nodes.cpu, ask.cpu), (nodes.memory, ask.memory)):
            if needed:
                tasks = np.minimum(tasks, np.floor(amount / needed))
        asks.append(AskPlaces(ask, float(typical.weights[i]), int(hosts.sum()), int(tasks.sum())))
    gpus = WHOLE * (kinds > 0).sum(axis=1)
    total = free.sum(axis=1)
    return np.stack((gpus, total, total - reached, (free * ~used).sum(axis=1))), asks


def _hosts(ask: TypicalAsk, nodes: NodeArrays, fits: B1) -> B1:
    enough = fits.sum(axis=1) >= max(ask.gpus.count, 1)
    return enough & (nodes.cpu >= ask.cpu) & (nodes.memory >= ask.memory)  # type: ignore[no-any-return]


def _sum(level: str, name: str, columns: F8) -> Fragments:
    gpus, free, unusable, useless = columns.sum(axis=1).tolist()
    return Fragments(level, name, int(gpus), int(free), unusable, int(useless))
