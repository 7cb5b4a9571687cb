"""An application as arrays: what `placement.applications` searches over, from the state of the cluster.

Guarantees: nothing is changed. Capacity, the nodes that filters leave, traffic, distances, spread and anti-affinity
within the application are in the arrays. What is not (GPUs of one node that do not go together, affinity by distance,
promises to others that several tasks use up) is left to the trial that follows: filters may refuse a nomination.
"""

from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.cluster.network.distance import distances_from
from dovetail.cluster.views.view import View
from dovetail.engine.applications.parts import ApplicationPart, size_of
from dovetail.engine.applications.rules import rules_of
from dovetail.engine.state.engine_state import EngineState
from dovetail.placement.applications.problem import ApplicationProblem
from dovetail.placement.contract import Request

#: Nodes of one search: those near to where the tasks would go one by one, and some of all others.
MOST_NODES, _FROM_ELSEWHERE = 256, 64
#: How much the profile counts beside traffic: of nodes that are about as near, its favourite is taken.
_PROFILE_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class ApplicationArrays:
    """`rows`: the row of each node of the problem; `part_of`: the part of each task. `favour`: float64[task, node],
    what the profile adds to the cost so that it chooses among equals. `traffic_mbps`: all that the tasks exchange with
    each other and with placed work."""

    problem: ApplicationProblem
    rows: Rows
    part_of: Rows
    favour: F8
    traffic_mbps: float

    def nodes_at(self, rows: Rows) -> Rows:
        """The node of the problem for each row, -1 for one that is not in it."""
        at = np.full(int(max(self.rows.max(initial=0), rows.max(initial=0))) + 1, -1, dtype=np.intp)
        at[self.rows] = np.arange(len(self.rows))
        return np.where(rows >= 0, at[rows], -1)


def arrays_of(state: EngineState, parts: list[ApplicationPart], one_by_one: Rows) -> ApplicationArrays | None:
    """`one_by_one`: the row that each task would get by itself or is on, -1 for none. None: no node is left."""
    cluster = state.cluster
    requests = [part.trial.request() for part in parts]
    view = View(cluster)
    filtered = [
        state.pipelines[part.trial.subject.shape.profile].evaluator.run_filters(request, view)
        for part, request in zip(parts, requests, strict=True)
    ]
    alive = np.array([one.alive[: cluster.width] for one in filtered])
    rows = _candidates(state, np.logical_or.reduce(alive, axis=0), one_by_one)
    if not len(rows):
        return None
    part_of = np.repeat(np.arange(len(parts)), [part.tasks for part in parts])
    distance = np.array([distances_from(cluster, int(row))[rows] for row in rows])
    distance = (distance + distance.T) / 2.0
    columns = len(cluster.resources.names)
    demand = np.array([np.pad(one.column, (0, columns - len(one.column))) for one in requests])
    asked = demand.any(axis=0)
    pull, mbps = _pull(state, parts, rows)
    traffic = _traffic(parts, part_of)
    limits, exclusions = rules_of(state, parts, part_of, rows, [one.feasible_ignoring_capacity for one in filtered])
    problem = ApplicationProblem(
        demand[:, asked][part_of],
        np.maximum(cluster.resources.free[:columns][asked][:, rows].T, 0.0),
        alive[:, rows][part_of],
        distance,
        traffic,
        pull[part_of],
        limits,
        exclusions,
    )
    total_mbps = float(traffic.sum() / 2 + (mbps * np.bincount(part_of, minlength=len(parts))).sum())
    favour = _favour(state, parts, requests, rows, problem)
    return ApplicationArrays(problem, rows, part_of, favour, total_mbps)


def _candidates(state: EngineState, alive: B1, one_by_one: Rows) -> Rows:
    """All nodes that some task may use or is on; of too many, those nearest to where the tasks would go or are, and
    others evenly."""
    anchors, counts = np.unique(one_by_one[one_by_one >= 0], return_counts=True)
    rows: Rows = np.union1d(np.flatnonzero(alive), anchors)
    if len(rows) <= MOST_NODES:
        return rows
    taken = anchors[: MOST_NODES // 2]
    middle = int(anchors[counts.argmax()]) if len(anchors) else int(rows[0])
    order = rows[np.argsort(distances_from(state.cluster, middle)[rows], kind="stable")]
    near = order[: MOST_NODES - _FROM_ELSEWHERE - len(taken)]
    others = order[len(near) :]
    elsewhere = others[:: max(1, len(others) // _FROM_ELSEWHERE)][:_FROM_ELSEWHERE]
    return np.unique(np.concatenate([taken, near, elsewhere]))


def _traffic(parts: list[ApplicationPart], part_of: Rows) -> F8:
    """float64[task, task]: what two workloads exchange, shared evenly among their tasks."""
    between = np.zeros((len(parts), len(parts)))
    places: dict[tuple[str, str], list[int]] = {}  # a service has several parts
    for index, part in enumerate(parts):
        places.setdefault(part.key, []).append(index)
    for index, part in enumerate(parts):
        namespace, own = part.key
        for name, mbps in part.trial.subject.shape.traffic:
            for other in places.get((namespace, name), ()) if name != own else ():
                rate = mbps / (part.replicas * parts[other].replicas)
                between[index, other] += rate
                between[other, index] += rate
    found: F8 = between[np.ix_(part_of, part_of)]
    return found


def _pull(state: EngineState, parts: list[ApplicationPart], rows: Rows) -> tuple[F8, F8]:
    """float64[part, node]: what one task of each part would cost there by its traffic with placed tasks; and
    float64[part], how much that traffic is."""
    placements = state.cluster.placements
    pull, mbps = np.zeros((len(parts), len(rows))), np.zeros(len(parts))
    for index, part in enumerate(parts):
        subject = part.trial.subject
        rates = dict(subject.shape.traffic)
        for name, rate in placements.declared_traffic.senders_to(subject.identity):
            rates[name] = rates.get(name, 0) + rate
        for name, rate in sorted(rates.items()):
            placed = placements.rows_of_workload(part.key[0], name) if name != part.key[1] else []
            if not placed:
                continue
            share = rate / (part.replicas * max(len(placed), size_of(state, (part.key[0], name))))
            mbps[index] += share * len(placed)
            for row in placed:
                pull[index] += share * distances_from(state.cluster, row)[rows]
    return pull, mbps


def _favour(
    state: EngineState, parts: list[ApplicationPart], requests: list[Request], rows: Rows, problem: ApplicationProblem
) -> F8:
    """The task that talks most stands for all: scoring each would cost more than it is worth."""
    strength = problem.traffic.sum(axis=1)
    first = int(strength.argmax())
    index = int(np.searchsorted(np.cumsum([part.tasks for part in parts]), first, side="right"))
    evaluator = state.pipelines[parts[index].trial.subject.shape.profile].evaluator
    total = evaluator.score(requests[index], View(state.cluster).subset(rows)).total
    spread = float(np.ptp(total))
    worse = (total.max() - total) / spread if spread > 0 else np.zeros(len(rows))
    most = _PROFILE_SHARE * float(problem.distance.max()) * np.maximum(strength, strength.mean())
    found: F8 = np.outer(most, worse)
    return found
