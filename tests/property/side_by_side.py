"""The pipeline and the oracle in lockstep: every step is done to both, every decision is compared to the bit.

The pipeline decides each task twice, once by evaluating all nodes afresh and once from the ranking cache it keeps for
the shape; both must tell the same story (node, funnel, points, notes) and the oracle must agree with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.invariants import check_invariants
from tests.property.random_work import (
    BackendAnswers,
    Fare,
    Finish,
    Join,
    Leave,
    More,
    Observe,
    Rehearse,
    Release,
    Reserve,
    Step,
    Submit,
    Switch,
    TrimLog,
    Turns,
)
from tests.reference import Decision, ReferenceScheduler, load

from dovetail.cluster.state import Cluster
from dovetail.engine.state.terms import wants_of
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.shaping import shape_of
from dovetail.model.requests.task_identity import TaskIdentity, identity_of
from dovetail.model.resources import Amounts
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload
from dovetail.placement.contract import Request
from dovetail.placement.filters.constraints import is_non_local
from dovetail.placement.pipeline.pipeline import KEEP_BEST, Pipeline
from dovetail.placement.pipeline.profiles import ProfileSettings

SEED = 7
REPLICAS = 1_000  # more than any sequence places; finding a workload's tasks looks at each


@dataclass
class Submitted:
    id: int
    workload: Workload
    cluster: Cluster
    shape: Shape
    scope: tuple[tuple[str, str], ...]
    identity: TaskIdentity
    next_replica: int = 0

    @property
    def request(self) -> Request:
        """What a task of it asks for, with what other work means to it now."""
        needs = {name: float(amount) for name, amount in self.shape.amounts}
        repelled = self.cluster.placements.selector_counts.repelled(self.identity)
        column = self.cluster.resources.vector(needs)
        senders = self.cluster.placements.declared_traffic.senders_to(self.identity)
        non_local = bool(repelled or senders) or is_non_local(self.shape)
        request = Request(
            self.shape, column, needs, self.scope, identity=self.identity, repelled=repelled, senders=senders
        )
        request.non_local = non_local
        return request


@dataclass
class Disagreement(AssertionError):
    what: str
    pipeline: object
    other: object


@dataclass
class SideBySide:
    profile: ProfileSettings
    overcommit: Mapping[str, float] = field(default_factory=dict)
    scope: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cluster = Cluster(self.overcommit)
        self.afresh = Pipeline("tried", self.profile, self.cluster, SEED)
        self.cached = Pipeline("tried", self.profile, self.cluster, SEED)
        self.oracle = ReferenceScheduler(self.profile, overcommit=self.overcommit, scope=self.scope, seed=SEED)
        self.submitted: list[Submitted] = []
        self.placed: list[TaskId] = []
        self.reservations: list[tuple[str, Amounts]] = []
        # A node may shrink below what it holds, and measured use may leave room for more than capacity.
        self.may_exceed = self.profile.settings.get("resources", {}).get("basis") == "observed"

    # --- steps -----------------------------------------------------------------------------------------------

    def take(self, step: Step) -> None:
        match step:
            case Submit():
                self.place_copies(self.submit(step.workload), step.copies)
            case More() if self.submitted:
                self.place_copies(self.submitted[step.index % len(self.submitted)], step.copies)
            case Turns() if self.submitted:
                for index in step.indices * step.rounds:
                    self.place_copies(self.submitted[index % len(self.submitted)], 1)
            case Rehearse() if self.submitted:
                self.rehearse(self.submitted[step.index % len(self.submitted)], step.copies)
            case Finish():
                for _ in range(min(step.copies, len(self.placed))):
                    self.finish(self.placed[step.index % len(self.placed)])
            case TrimLog():
                self.cluster.trim_log()
            case _:
                self._change_nodes(step)
                # Two changes in a row are then seen one by one, by caches that were up to date before the second.
                for submitted in self.submitted[:2]:
                    self.decided(submitted, TaskId(submitted.id, submitted.next_replica))
        check_invariants(self.cluster, within_capacity=not self.may_exceed)

    def _change_nodes(self, step: Step) -> None:
        names = list(self.cluster.rows)
        match step:
            case Join():
                self.may_exceed |= step.node.name in self.cluster.rows
                self.cluster.join(step.node)
                self.oracle.join(step.node)
            case BackendAnswers():
                self.cluster.set_backend_available(step.backend, step.answers)
                (self.oracle.backends_down.discard if step.answers else self.oracle.backends_down.add)(step.backend)
            case Release() if self.reservations:
                name, amounts = self.reservations.pop(step.index % len(self.reservations))
                self.cluster.reserve(name, amounts, -1)
                self.oracle.reserve(name, amounts, -1)
            case Leave() if names:
                self._leave(names[step.index % len(names)])
            case Switch() if names:
                name = names[step.index % len(names)]
                (self.cluster.set_online if step.what == "online" else self.cluster.set_cordoned)(name, step.on)
                setattr(self.oracle.node(name), step.what, step.on)
            case Reserve() if names:
                name = names[step.index % len(names)]
                self.reservations.append((name, step.amounts))
                self.cluster.reserve(name, step.amounts)
                self.oracle.reserve(name, step.amounts)
            case Fare() if names:
                name = names[step.index % len(names)]
                self.cluster.count_outcome(name, step.ok)
                if step.slowdown is not None:
                    self.cluster.note_pace(name, step.slowdown)
                self.oracle.fare(name, step.ok, step.slowdown)
            case Observe() if names:
                self.cluster.observe(names[step.index % len(names)], step.used)
                self.oracle.observe(names[step.index % len(names)], step.used)

    def _leave(self, name: str) -> None:
        for task in list(self.cluster.placements.by_row[self.cluster.rows[name]]):
            self.finish(task)
        self.reservations = [held for held in self.reservations if held[0] != name]
        self.cluster.leave(name)
        self.oracle.leave(name)

    # --- tasks -----------------------------------------------------------------------------------------------

    def submit(self, workload: Workload) -> Submitted:
        """A name taken over by a later workload stays with the earlier one: names of live workloads are unique."""
        for known in self.submitted:
            if (known.workload.namespace, known.workload.name) == (workload.namespace, workload.name):
                return known
        shape = shape_of(workload, "default", "tried", wants_of(workload.constraints), by_image=True)
        labels = tuple(sorted(workload.labels.items()))
        identity = identity_of(
            workload.namespace, workload.name, shape.service, labels, shape.workload_affinity, shape.traffic
        )
        scope = tuple(self.scope.items())
        found = Submitted(len(self.submitted), workload, self.cluster, shape, scope, identity)
        self.submitted.append(found)
        self.cluster.placements.directory[workload.namespace, workload.name] = (found.id, REPLICAS)
        return found

    def place_copies(self, submitted: Submitted, copies: int) -> None:
        for _ in range(copies):
            task = TaskId(submitted.id, submitted.next_replica)
            row = self.decided(submitted, task)
            if row is None:
                return
            submitted.next_replica += 1
            assert submitted.next_replica < REPLICAS
            request = submitted.request
            self._place(submitted, task, row)
            self.afresh.placed(request, row)
            self.cached.placed(request, row)
            self.placed.append(task)

    def rehearse(self, submitted: Submitted, copies: int) -> None:
        """What a trial places is decided like anything else, and gone afterwards."""
        cursor = self.oracle.cursor
        tried: list[TaskId] = []
        with self.cluster.trial():
            for _ in range(copies):
                task = TaskId(submitted.id, submitted.next_replica + len(tried))
                row = self.decided(submitted, task)
                if row is None:
                    break
                self._place(submitted, task, row)
                self.oracle.cursor = cursor  # only a real placement moves it
                tried.append(task)
        for task in tried:
            node = next(node for node in self.oracle.present() if task in node.tasks)
            unseen_after = dict(node.unseen)
            node.give(task)
            for resource, amount in submitted.workload.resources.amounts().items():
                node.unseen[resource] = unseen_after[resource] - amount

    def _place(self, submitted: Submitted, task: TaskId, row: int) -> None:
        workload = submitted.workload
        service = (workload.namespace, workload.service) if workload.service else None
        gpus = submitted.shape.gpus
        slots = self.cluster.place(task, row, submitted.request.column, service, identity=submitted.identity, gpus=gpus)
        self.oracle.place(workload, task, self.cluster.names[row])
        _same("which GPUs", slots, self.oracle.node(self.cluster.names[row]).gpus.slots(task))

    def finish(self, task: TaskId) -> None:
        self.placed.remove(task)
        self.cluster.remove(task)
        self.oracle.remove(task)

    # --- comparing -------------------------------------------------------------------------------------------

    def decided(self, submitted: Submitted, task: TaskId) -> int | None:
        request = submitted.request
        kept = self.cached.decide(request, str(task), repeats=True)
        fresh = self.afresh.decide(request, str(task))
        _same("the cached row and a fresh one", kept.row, fresh.row)
        _same("the cached explanation and a fresh one", kept.explanation, fresh.explanation)
        expected = self.oracle.decision(submitted.workload, str(task))
        _same("node", None if fresh.row is None else self.cluster.names[fresh.row], expected.node)
        funnel = tuple(step.remaining for step in fresh.explanation.funnel)
        _same("funnel", funnel, expected.remaining)
        lines = {line.node: (line.total, line.points, line.load) for line in fresh.explanation.best}
        _same("points", lines, self._best(expected))
        return fresh.row

    def _best(self, expected: Decision) -> dict[str, tuple[float, tuple[float, ...], float]]:
        """The chosen node and the next best, with everything the explanation shows of them."""
        rows = sorted(expected.totals, key=lambda row: (-expected.totals[row], row))
        if expected.node is not None:
            chosen = self.oracle.row(expected.node)
            rows = [chosen, *(row for row in rows if row != chosen)]
        found = {}
        for row in rows[:KEEP_BEST]:
            node = self.oracle.nodes[row]
            assert node is not None
            found[node.definition.name] = (expected.totals[row], expected.points[row], load(node))
        return found


def _same(what: str, one: object, other: object) -> None:
    if one != other:
        raise Disagreement(what, one, other)
