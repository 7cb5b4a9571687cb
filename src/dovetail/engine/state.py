"""What the engine knows: the cluster, live work, the queues, and which of it changed since the last `take_changes`."""

from collections import OrderedDict
from collections.abc import Mapping

from dovetail.cluster.state import Cluster
from dovetail.engine.settings import EngineSettings, Router
from dovetail.engine.work import Work
from dovetail.model.record import Changes, Decision, ReservationRecord
from dovetail.model.shape import Shape
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request
from dovetail.placement.pipeline import Pipeline
from dovetail.queueing.pending import PendingQueue

_REQUESTS_KEPT = 10_000


class EngineState:
    """Shared by the engine's parts; only they change it."""

    def __init__(self, settings: EngineSettings) -> None:
        self.settings = settings
        self.router = Router(settings)
        self.schedulers = self.router.schedulers
        self.cluster = Cluster(settings.overcommit)
        self.pipelines: dict[str, Pipeline] = {
            name: Pipeline(name, profile, self.cluster, settings.seed) for name, profile in self.router.profiles.items()
        }
        self.work: dict[int, Work] = {}
        self.queues: dict[str, PendingQueue] = {
            name: PendingQueue(self.pipelines[scheduler.profile or settings.default_profile].settings.order)
            for name, scheduler in self.schedulers.items()
        }
        self.parked: dict[Shape, PendingQueue] = {}  # set aside: what fits nowhere, each shape in its queue's order
        self.stirred: set[int] = set()  # rows where something may fit now that did not before
        self.reservations: dict[int, ReservationRecord] = {}
        self.decisions: list[Decision] = []
        self.changed_work: dict[int, None] = {}
        self.changed_tasks: dict[TaskId, None] = {}
        self.changed_nodes: dict[str, None] = {}
        self.gone_nodes: dict[str, None] = {}
        self.changed_reservations: dict[int, None] = {}
        self.changed_outcomes: dict[str, None] = {}
        self._requests: OrderedDict[Shape, Request] = OrderedDict()
        self._taking_turns = [p for p in self.pipelines.values() if p.settings.select == "round_robin"]
        self._recorded_cursors = {pipeline.name: pipeline.cursor for pipeline in self._taking_turns}
        self._scopes = {
            name: tuple(sorted(scheduler.node_selector.items())) for name, scheduler in self.schedulers.items()
        }

    def request(self, shape: Shape) -> Request:
        """The shape compiled against this cluster's resource rows; kept while it is in use."""
        found = self._requests.get(shape)
        if found is None or len(found.column) < len(self.cluster.resources.names):
            needs = {name: float(amount) for name, amount in shape.amounts}
            found = Request(shape, self.cluster.resources.vector(needs), needs, self._scopes[shape.scheduler])
            self._requests[shape] = found
            if len(self._requests) > _REQUESTS_KEPT:
                self._requests.popitem(last=False)
        return found

    def admit(self, work: Work) -> None:
        """From now on the workload is live: known by name, and waiting if any of its tasks is."""
        self.work[work.id] = work
        self.cluster.placements.directory[work.key] = (work.id, work.replicas)
        if work.waiting:
            self.enqueue(work)

    def hold(self, reservation: ReservationRecord) -> None:
        self.cluster.reserve(reservation.node, reservation.amounts)
        self.reservations[reservation.id] = reservation

    def set_cursors(self, rows: Mapping[str, int]) -> None:
        """Profiles that choose in turn go on after these rows; others have no use for one."""
        for pipeline in self._taking_turns:
            if pipeline.name in rows:
                pipeline.cursor = self._recorded_cursors[pipeline.name] = rows[pipeline.name]

    def queue_of(self, work: Work) -> PendingQueue:
        return self.queues[work.shape.scheduler]

    def enqueue(self, work: Work) -> None:
        self.queue_of(work).push(work.id, work.priority_rank, work.id)

    def park(self, work: Work) -> None:
        """Set it aside until a node changes."""
        parked = self.parked.get(work.shape)
        if parked is None:
            parked = self.parked[work.shape] = PendingQueue(self.queue_of(work).order)
        parked.push(work.id, work.priority_rank, work.id)

    def unpark(self, work: Work) -> None:
        """Take it off the set-aside list, wherever it goes next."""
        parked = self.parked.get(work.shape)
        if parked is not None:
            parked.drop(work.id)
            if not parked:
                del self.parked[work.shape]

    def wake_next(self, shape: Shape) -> None:
        """Bring back the first of a shape that was set aside. Where one of a shape does not fit, none does: the
        others follow one by one, each when the one before it has found its nodes."""
        parked = self.parked.get(shape)
        first = parked.peek() if parked is not None else None
        if first is not None:
            work = self.work[first]
            self.unpark(work)
            self.enqueue(work)

    def count_outcome(self, node: str, ok: bool) -> None:
        self.cluster.count_outcome(node, ok)
        self.changed_outcomes[node] = None

    def touch_task(self, task: TaskId) -> None:
        self.changed_tasks[task] = None
        self.changed_work[task.workload] = None

    def take_changes(self, now: float) -> Changes:
        """Everything that changed since the last call, each thing once. Finished work is forgotten here."""
        changes = Changes(decisions=self.decisions)
        for task in self.changed_tasks:
            work = self.work.get(task.workload)
            if work is not None:
                changes.tasks.append(work.task(task.replica).record(task))
        for id_ in self.changed_work:
            work = self.work.get(id_)
            if work is None:
                continue
            record = work.record(now)
            if record != work.told:
                work.told = record
                changes.workloads.append(record)
            if record.state.finished:
                self._forget(work)
        changes.nodes = [self.cluster.record(name) for name in self.changed_nodes if name in self.cluster.rows]
        changes.nodes_gone = [name for name in self.gone_nodes if name not in self.cluster.rows]
        # A node that left and came back since then starts from nothing, and its old counts must not outlive it.
        counted = self.changed_outcomes | self.gone_nodes
        changes.outcomes = {name: self.cluster.outcomes(name) for name in counted if name in self.cluster.rows}
        for id_ in self.changed_reservations:
            if id_ in self.reservations:
                changes.reservations.append(self.reservations[id_])
            else:
                changes.reservations_gone.append(id_)
        for pipeline in self._taking_turns:
            if pipeline.cursor != self._recorded_cursors[pipeline.name]:
                changes.cursors[pipeline.name] = self._recorded_cursors[pipeline.name] = pipeline.cursor
        self.decisions = []
        self.changed_tasks.clear()
        self.changed_work.clear()
        self.changed_nodes.clear()
        self.gone_nodes.clear()
        self.changed_reservations.clear()
        self.changed_outcomes.clear()
        return changes

    def _forget(self, work: Work) -> None:
        del self.work[work.id]
        if self.cluster.placements.directory.get(work.key, (None, 0))[0] == work.id:
            del self.cluster.placements.directory[work.key]
