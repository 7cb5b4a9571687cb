"""Questions of an adapter of Kubernetes: the state of a pod, which nodes would take one, which pods are in its way.

The engine need not know the pods asked about. Guarantees: the engine's own filters, scores and search for victims
answer, on its own state. Nothing changes: `assume` and `without` are trials that undo themselves at the end of their
block.
Left to others: kube-scheduler's words for refusals (`dovetail.kubernetes`), and acting on an answer.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from dovetail.cluster.arrays import B1, Rows
from dovetail.cluster.placements import NO_VICTIM_INFO, Placement
from dovetail.cluster.views.view import View
from dovetail.engine.gangs.group_trial import GroupTrial, Tried, attempts, only_among, try_parts
from dovetail.engine.questions.pod_answers import (
    AssumedPod,
    Feasibility,
    GangStatus,
    GangTrial,
    NodeScores,
    NodesRefused,
    PlacedPod,
    PodNomination,
    PodQuery,
    PodRefusal,
)
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.live_task import LiveTask
from dovetail.engine.state.work import GroupPart, QueuePlace
from dovetail.model.disruption_budget import DisruptionBudget
from dovetail.model.record import TaskRecord
from dovetail.model.requests.shape import Shape
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request
from dovetail.placement.filters.taints import untolerated
from dovetail.placement.pipeline.pipeline import Pipeline
from dovetail.placement.pipeline.refusal import grouped_refusals, refusals
from dovetail.placement.preemption.nominate import nominate
from dovetail.placement.preemption.nomination import Budgets, NominatedPlacements, Preemptor
from dovetail.placement.preemption.reprieve_trials import Trials
from dovetail.placement.workload_affinity import not_repelled_by, satisfies_rule

_FIRST_ASSUMED = -1000  # ids below are never real


class PodQuestions:
    def __init__(self, state: EngineState) -> None:
        self._state, self._cluster = state, state.cluster
        self._assumed = 0

    # --- known pods -------------------------------------------------------------------------------------------

    def workloads(self) -> dict[int, tuple[str, str]]:
        """Namespace and name of all that is live, by id."""
        return {id_: work.key for id_, work in self._state.work.items()}

    def placements(self) -> dict[TaskId, str]:
        """The node of every task that holds one."""
        names = self._cluster.names
        return {task: names[placed.row] for task, placed in self._cluster.placements.by_task.items()}

    def node_of(self, task: TaskId) -> str:
        """Empty: it holds none."""
        placed = self._cluster.placements.by_task.get(task)
        return "" if placed is None else self._cluster.names[placed.row]

    def placed_on(self, node: str) -> list[PlacedPod]:
        placements = self._cluster.placements
        found = [(task, placements.by_task[task].victim_info) for task in placements.by_row[self._cluster.rows[node]]]
        return [PlacedPod(task, victim_info.priority, victim_info.since) for task, victim_info in found]

    def task(self, task: TaskId) -> TaskRecord | None:
        work = self._state.work.get(task.workload)
        return None if work is None else (work.tasks.get(task.replica) or LiveTask()).record(task)

    def attempt(self, task: TaskId) -> int:
        """The number of its latest attempt; of work that is not known, that of the first."""
        work = self._state.work.get(task.workload)
        return 1 if work is None else (work.tasks.get(task.replica) or LiveTask()).attempt

    def is_evicted(self, task: TaskId) -> bool:
        """Did the engine decide to stop the task? False if a user cancelled it."""
        return task in self._state.stopping and not self._state.work[task.workload].cancelled

    def pending_queue(self, workload: int) -> str:
        """Where it waits, in the words of kube-scheduler: active, backoff, unschedulable; gated while pods of its gang
        are missing."""
        work = self._state.work.get(workload)
        if work is None:
            return "gated"
        if work.delayed:
            return "backoff"
        leader = work if work.group is None or not work.group.short else work.group.leader
        if leader is None:
            return "gated"
        return "active" if leader.queue_place is QueuePlace.QUEUED else "unschedulable"

    def nominated_node(self, workload: int) -> str | None:
        """Where capacity is being cleared for it, alone or as one of a gang."""
        work, promised = self._state.work.get(workload), self._state.promises.of_work
        gang = (workload,) if work is None or work.group is None else work.group.members
        of_gang = next((promised[one] for one in gang if one in promised), None)
        if of_gang is not None and workload in of_gang.members:
            return self._cluster.names[of_gang.members[workload]]
        return self._cluster.names[promised[workload].rows[0][0]] if workload in promised else None

    # --- trials ----------------------------------------------------------------------------------------------

    @contextmanager
    def assume(self, pods: Iterable[AssumedPod]) -> Iterator[None]:
        """A trial in which these pods are on their nodes and cannot be evicted; a pod whose node is gone is nowhere."""
        before, cluster = self._assumed, self._cluster
        with cluster.trial():
            for node, pod, since in pods:
                row = cluster.rows.get(node)
                if row is not None:
                    self._assumed += 1
                    victim_info = NO_VICTIM_INFO._replace(priority=pod.priority, since=since, preemptible=False)
                    column = self._state.request(pod.shape).column
                    task = TaskId(_FIRST_ASSUMED - self._assumed, 0)
                    cluster.place(task, row, column, victim_info=victim_info, identity=pod.identity)
            yield
        self._assumed = before

    @contextmanager
    def without(self, tasks: Iterable[TaskId]) -> Iterator[None]:
        """A trial in which these tasks are gone."""
        with self._cluster.trial():
            for task in tasks:
                self._cluster.remove(task)
            yield

    def feasibility(self, pod: PodQuery, nodes: list[str]) -> Feasibility:
        """Which of these nodes would take the pod, and why the others would not."""
        rows, known, unknown = self._rows(nodes)
        pipeline, request = self._request(pod)
        view = View(self._cluster).subset(rows)
        filtered = pipeline.evaluator.run_filters(request, view)
        alive = np.flatnonzero(filtered.alive).tolist()
        refused = [
            NodesRefused([known[i] for i in one.positions.tolist()], one.message, one.helps)
            for one in grouped_refusals(request, pipeline.evaluator, view, filtered)
        ]
        return Feasibility(known if len(alive) == len(known) else [known[i] for i in alive], refused, unknown)

    def fits(self, pod: PodQuery, node: str) -> bool:
        pipeline, request = self._request(pod)
        return bool(pipeline.evaluator.run_filters(request, self._view(node)).alive[0])

    def scores(self, pod: PodQuery, nodes: list[str]) -> NodeScores:
        """How good these nodes are for the pod, whether they would take it or not."""
        rows, known, _ = self._rows(nodes)
        pipeline, request = self._request(pod)
        total = pipeline.evaluator.score(request, View(self._cluster).subset(rows)).total
        return NodeScores(dict(zip(known, total.tolist(), strict=True)), pipeline.evaluator.weights)

    def refusals(self, pod: PodQuery, node: str) -> list[PodRefusal]:
        """All that one node has against the pod; empty: it may go there."""
        pipeline, request = self._request(pod)
        found = refusals(request, pipeline.evaluator, self._cluster, self._cluster.rows[node])
        if not found:
            return []
        here = self._view(node)
        taints = tuple(untolerated(request, here.taint_sets[int(here.taint_codes[0])], soft=False))
        required = [rule for rule in request.shape.workload_affinity if rule.weight is None]
        broken = tuple([rule for rule in required if not np.all(satisfies_rule(rule, request, here))])
        repelling = tuple([rule for rule in request.repelled if not np.all(not_repelled_by(rule, here))])
        return [PodRefusal(one, broken, repelling, taints) for one in found]

    def nominate(
        self, pod: PodQuery, budgets: Sequence[DisruptionBudget] = (), expected: Iterable[AssumedPod] = ()
    ) -> PodNomination | None:
        """The node where it costs least to clear capacity for the pod. `expected`: pods that are
        nominated to nodes and are as urgent; their capacity stays theirs."""
        pipeline, request = self._request(pod)
        coming, rows = NominatedPlacements(), self._cluster.rows
        for i, (node, other, since) in enumerate(expected):
            victim_info = NO_VICTIM_INFO._replace(priority=other.priority, since=since)
            row, column = rows[node], self._state.request(other.shape).column
            coming.add(row, TaskId(_FIRST_ASSUMED - i, 0), Placement(row, column, None, victim_info, other.identity))
        found = nominate(
            self._cluster, self._state.victim_table, pipeline.evaluator, request, pod.priority, budgets, coming
        )
        return None if found is None else PodNomination(self._cluster.names[found.row], *found[1:])

    def victims_on(self, pod: PodQuery, node: str, budgets: Sequence[DisruptionBudget]) -> tuple[TaskId, ...] | None:
        """Who has to go on this node for the pod; None: it would not fit even then."""
        pipeline, request = self._request(pod)
        preemptor = Preemptor(request, pod.priority, Budgets(budgets), NominatedPlacements())
        best = Trials(self._cluster, pipeline.evaluator, preemptor).best(self._rows([node])[0])
        return None if best is None else best.nomination.victims

    def violations(
        self, pod: PodQuery, node: str, victims: Collection[TaskId], budgets: Sequence[DisruptionBudget]
    ) -> int:
        """How many of the victims overrun a budget if everyone less urgent on the node had to go."""
        lower = [placed for placed in self.placed_on(node) if placed.priority < pod.priority]
        lower.sort(key=lambda placed: (-placed.priority, placed.since, placed.task))
        by_task = self._cluster.placements.by_task
        over = Budgets(budgets).overrun([(placed.task, by_task[placed.task].identity) for placed in lower])
        return sum(one and placed.task in victims for placed, one in zip(lower, over, strict=True))

    # --- gangs -----------------------------------------------------------------------------------------------

    def gang(self, namespace: str, name: str) -> GangStatus | None:
        group = self._state.groups.named(namespace, name)
        if group is None:
            return None
        ready = tuple([work.id for work in group.members.values() if work.is_ready])
        missing = bool(group.short) and group.leader is None
        return GangStatus(group.least, group.firm, group.short, ready, missing)

    def try_gang(
        self,
        workloads: Sequence[int],
        now: float,
        *,
        begun: bool,
        only: Collection[str] = (),
        avoid: Collection[str] = (),
    ) -> GangTrial:
        """Where the pods of these workloads would go if all start together. `begun`: others of the gang have nodes, and
        these go near them. `only`: on no other nodes than these, if any are named; `avoid`: not on these."""
        allowed = self._mask(only, avoid) if only or avoid else None
        parts = [GroupPart(self._state.work[id_], [0]) for id_ in workloads]

        def try_all(shapes: list[Shape] | None = None) -> Tried:
            each = attempts(self._state, parts, now, shapes)
            return try_parts(self._state, [_only(part, allowed) for part in each], begun=begun)

        tried = try_all()
        if tried.refusal is not None and any(part.work.shape.insists for part in parts):
            relaxed = try_all([part.work.shape.least for part in parts])
            tried = tried if relaxed.refusal is not None else relaxed
        if tried.refusal is not None:
            return GangTrial({}, tried.refusal.message)
        rows = [choices[0].row for choices in tried.choices]
        names = [self._cluster.names[row] for row in rows if row is not None]
        return GangTrial(dict(zip(workloads, names, strict=True)))

    def all_fit(self, pods: Sequence[AssumedPod]) -> bool:
        """Would every node take its pods, and has it capacity for all of them together? Pods of one shape are alike."""
        cluster, by_shape = self._cluster, dict[Shape, list[AssumedPod]]()
        for one in pods:
            by_shape.setdefault(one.pod.shape, []).append(one)
        if any(one.node not in cluster.rows for one in pods):
            return False
        taken = np.zeros((cluster.width, len(cluster.resources.names)))
        for each in by_shape.values():
            rows = self._rows([one.node for one in each])[0]
            pipeline, request = self._request(each[0].pod)
            np.add.at(taken[:, : len(request.column)], rows, request.column)
            if not pipeline.evaluator.run_filters(request, View(cluster).subset(np.unique(rows))).alive.all():
                return False
        used = np.flatnonzero(taken.any(axis=1))
        free = cluster.resources.free[: taken.shape[1], used].T
        return bool(((free >= taken[used]) | (taken[used] <= 0)).all())

    # --- rows and requests -----------------------------------------------------------------------------------

    def _request(self, pod: PodQuery) -> tuple[Pipeline, Request]:
        pipeline = self._state.pipelines[pod.shape.profile]
        return pipeline, pipeline.for_task(self._state.asked(pod.shape, pod.identity), 0, 1)

    def _rows(self, nodes: list[str]) -> tuple[Rows, list[str], list[str]]:
        """Of the nodes that are known, with their names; and the names of those that are not."""
        rows = self._cluster.rows
        found = [rows.get(name, -1) for name in nodes]
        if -1 not in found:
            return np.array(found, dtype=np.intp), nodes, []
        known = [name for name in nodes if name in rows]
        unknown = [name for name in nodes if name not in rows]
        return np.array([row for row in found if row >= 0], dtype=np.intp), known, unknown

    def _view(self, node: str) -> View:
        return View(self._cluster).subset(self._rows([node])[0])

    def _mask(self, only: Collection[str], avoid: Collection[str]) -> B1:
        """One bool a row."""
        rows = self._cluster.rows
        found = np.full(self._cluster.width, not only, dtype=np.bool_)
        found[[rows[name] for name in only if name in rows]] = True
        found[[rows[name] for name in avoid if name in rows]] = False
        return found


def _only(part: GroupTrial, allowed: B1 | None) -> GroupTrial:
    return part._replace(request=lambda: only_among(part.request(), allowed))
