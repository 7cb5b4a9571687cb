"""What rebalancing looks at: loads, tasks that can start again elsewhere, and how far communicating tasks are apart."""

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.network.distance import distances_from
from dovetail.cluster.network.path import FARTHEST
from dovetail.cluster.resources import loads
from dovetail.cluster.views.view import View
from dovetail.engine.gangs.requests import request_of
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work
from dovetail.model.requests.shape import Shape
from dovetail.model.task import TaskId, TaskState
from dovetail.rebalancing.spreading_load import BalanceView, MovableTask

MOST_PAIRS = 2000  # of communicating workloads, in one answer
MOST_ROWS = 50  # nodes of one workload that are looked at


class BalanceQuestions:
    def __init__(self, state: EngineState) -> None:
        self._state = state

    def view(self, now: float) -> BalanceView:
        """Loads of all nodes, and the tasks that may be moved: those that start again whenever they have ended, are in
        no gang, may be disturbed, and have run for as long as their work asks for."""
        cluster = self._state.cluster
        width = cluster.width
        usable = cluster.status.ready[:width] & ~cluster.status.cordoned[:width]
        works = [work for work in self._state.work.values() if self._may_move(work, now)]
        running: dict[tuple[str, str], int] = {}
        for work in works:
            service = (work.namespace, work.identity.workload)
            running[service] = running.get(service, 0) + work.holding - work.stopping
        added: dict[Shape, F8] = {}
        away: dict[Shape, F8 | None] = {}
        found = []
        for work in works:
            if work.shape not in added:
                added[work.shape], away[work.shape] = self._load_of(work), self._away(work)
            service = (work.namespace, work.identity.workload)
            for replica, live in work.tasks.items():
                if live.state is TaskState.RUNNING and live.node in cluster.rows:
                    found.append(
                        MovableTask(
                            TaskId(work.id, replica),
                            work.name,
                            service,
                            cluster.rows[live.node],
                            added[work.shape],
                            _constraints(work.shape),
                            away[work.shape],
                            running[service],
                        )
                    )
        return BalanceView(list(cluster.names), cluster.resources.load[:width].copy(), usable.copy(), found)

    def _may_move(self, work: Work, now: float) -> bool:
        terms = work.terms
        settled = work.started_at is not None and now - work.started_at >= terms.min_run_s
        return terms.restart_always and terms.preemptible and work.group is None and not work.cancelled and settled

    def _load_of(self, work: Work) -> F8:
        """float64[node]: what one of its tasks adds to the load of each node."""
        column = self._state.request(work.shape).column
        inverse = self._state.cluster.resources.inverse[:, : self._state.cluster.width]
        return loads(np.broadcast_to(column[:, None], (len(column), inverse.shape[1])), inverse[: len(column)])

    def _away(self, work: Work) -> F8 | None:
        """float64[node]: mean distance to those that it exchanges traffic with, from 0 to 1."""
        rates = dict(work.shape.traffic)
        for name, mbps in self._state.cluster.placements.declared_traffic.senders_to(work.identity):
            rates[name] = rates.get(name, 0) + mbps
        cluster, total = self._state.cluster, 0.0
        found = np.zeros(cluster.width)
        for name, mbps in rates.items():
            rows = cluster.placements.rows_of_workload(work.namespace, name)[:MOST_ROWS]
            for row in rows:
                found += mbps / len(rows) * distances_from(cluster, row)
            total += mbps if rows else 0.0
        return found / (total * FARTHEST) if total else None

    def targets(self, task: TaskId, now: float) -> B1:
        """bool[node]: where the task could go now; nowhere if it has ended."""
        cluster, work = self._state.cluster, self._state.work.get(task.workload)
        if work is None:
            return np.zeros(cluster.width, dtype=np.bool_)
        with self._state.no_trace():
            evaluator = self._state.pipelines[work.shape.profile].evaluator
            return evaluator.run_filters(request_of(self._state, work, now), View(cluster)).alive.copy()

    def declared(self) -> list[tuple[str, str, str, int]]:
        """Declared traffic between placed work: namespace, from, to, Mbps."""
        senders = self._state.cluster.placements.declared_traffic.senders
        found = {
            (namespace, sender.workload, to): mbps
            for (namespace, to), some in senders.items()
            for sender, mbps in some.items()
        }
        return sorted((*pair, mbps) for pair, mbps in found.items())

    def between(self, one: tuple[str, str], other: tuple[str, str]) -> float | None:
        """Mean distance between the tasks of two workloads or services; None if one of them has none."""
        cluster = self._state.cluster
        here, there = (cluster.placements.rows_of_workload(*name)[:MOST_ROWS] for name in (one, other))
        if not here or not there:
            return None
        return float(np.mean([distances_from(cluster, row)[there].mean() for row in here]))

    def mean_distance(self) -> float | None:
        """Between tasks that exchange traffic, weighted by it; None if none do."""
        cluster, total, weighted, pairs = self._state.cluster, 0.0, 0.0, 0
        placements = cluster.placements
        for (namespace, to), senders in placements.declared_traffic.senders.items():
            there = np.array(placements.rows_of_workload(namespace, to)[:MOST_ROWS], dtype=np.intp)
            for sender, mbps in senders.items():
                here = placements.rows_of_workload(namespace, sender.workload)[:MOST_ROWS]
                if not len(there) or not here or pairs >= MOST_PAIRS:
                    continue
                pairs += 1
                apart = np.mean([distances_from(cluster, row)[there].mean() for row in here])
                weighted, total = weighted + mbps * float(apart), total + mbps
        return weighted / total if total else None


def _constraints(shape: Shape) -> int:
    """How many rules its placement has to meet."""
    hard = (shape.node_selector, shape.required, shape.backends, shape.wants, shape.workload_affinity, shape.near)
    return sum(map(len, hard)) + sum(rule.weight is None for rule in shape.spread) + len(shape.traffic)
