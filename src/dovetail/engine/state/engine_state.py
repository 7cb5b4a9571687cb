"""The engine's state: the cluster, live work, the pending queue and the bookkeeping around them.

Event handlers and the scheduler use it; code outside the engine does not. Questions from outside go through
`dovetail.engine.questions`.
"""

from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import inf

from dovetail.cluster.horizon import NEVER
from dovetail.cluster.network.domain_table import DomainTable
from dovetail.cluster.placements import VictimInfo
from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.engine.promises.expected_ends import ExpectedEnds
from dovetail.engine.promises.promises import Promise, Promises
from dovetail.engine.settings import EngineSettings, Router
from dovetail.engine.state.accounts import Accounts
from dovetail.engine.state.change_log import ChangeLog
from dovetail.engine.state.groups import Groups
from dovetail.engine.state.learned import Learned
from dovetail.engine.state.memory import Memory, Remembered, network_parts
from dovetail.engine.state.node_failures import NodeFailures
from dovetail.engine.state.own_timetable import OwnTimetable
from dovetail.engine.state.pending_work import PendingWork
from dovetail.engine.state.pipelines import Pipelines
from dovetail.engine.state.policies import Policies
from dovetail.engine.state.recoveries import Recoveries
from dovetail.engine.state.requests import RequestCache
from dovetail.engine.state.talkers import Talkers
from dovetail.engine.state.terms import terms_of
from dovetail.engine.state.timers import TimerKind, Timers
from dovetail.engine.state.wake_state import WakeState
from dovetail.engine.state.work import Work
from dovetail.model.disruption_budget import DisruptionBudget
from dovetail.model.record import ReservationRecord
from dovetail.model.requests.asks import AffinityRule
from dovetail.model.requests.terms import Terms
from dovetail.model.resources import CPU
from dovetail.model.task import TaskId, WorkloadState
from dovetail.model.workloads.workload import Workload
from dovetail.placement.gangs.tiers import TierTable
from dovetail.placement.market.waiting import Patience, savings
from dovetail.placement.network_cost.communication import CommunicationModel
from dovetail.placement.preemption.victim_table import VictimTable
from dovetail.queueing.pending_queue import PendingQueue
from dovetail.queueing.settings import BackfillSettings
from dovetail.queueing.sorted_entries import QueueEntry


@dataclass(slots=True)
class BackfillState:
    """The backfill settings of one scheduler, and the workload at the head of its queue, if one has to wait."""

    backfill: BackfillSettings
    head: int | None = None
    withdrawn: dict[int, Promise] = field(default_factory=dict)  # by former head in this cycle: what it was promised


class EngineState:
    """Only the engine's own packages change it."""

    def __init__(self, settings: EngineSettings) -> None:
        self.settings = settings
        self.router = Router(settings)
        self.schedulers = self.router.schedulers
        # The cluster, and tables derived from it.
        self.cluster = Cluster(settings.overcommit)
        self.tiers = TierTable(self.cluster)
        self.domains = DomainTable(self.cluster)
        self.victim_table = VictimTable(self.cluster)
        self.communication = CommunicationModel(self.cluster)
        self.pipelines = Pipelines(self.router, self.cluster, settings.seed)
        # Bookkeeping.
        self.changes = ChangeLog()
        self.wake = WakeState()
        self.learned = Learned(self.cluster)
        self.accounts = Accounts(self.cluster, self.router.queues, settings.fair)
        self.timers = Timers()
        self.requests = RequestCache(self.cluster, self.learned.mix, self.schedulers)
        self.request, self.asked = self.requests.of_shape, self.requests.of_task
        # Live work, by id, and where it waits.
        self.work: dict[int, Work] = {}
        self.groups = Groups()
        self.talkers = Talkers()
        self.budgeted: dict[int, None] = {}  # workloads with a disruption budget
        self.pod_budgets: Sequence[DisruptionBudget] = ()  # disruption budgets of pods, by selector
        self.pending = PendingWork(
            {
                name: PendingQueue(self.router.queues, self.accounts.without_deferred, self.router.ordering(name))
                for name in self.schedulers
            },
            self.entry,
            self.repelled,
        )
        self.backfill_states = {name: BackfillState(scheduler.backfill) for name, scheduler in self.schedulers.items()}
        self.waits_for_cheaper: dict[int, None] = {}  # work that waited for cheaper nodes when it was last refused
        self.timetable = OwnTimetable()
        self.stopping: dict[TaskId, None] = {}  # tasks that were sent a stop command
        self.spent = 0  # of the limit of the last Tick
        self.ending: dict[int, None] = {}  # workloads that have tasks to end yet (`Work.ending`)
        self.dependents: dict[int, list[int]] = {}  # by workload: the workloads that wait for its end
        self.finishing: deque[int] = deque()  # finished workloads whose dependents were not released yet
        self.ended: OrderedDict[tuple[str, str], tuple[int, WorkloadState]] = OrderedDict()  # the last of each name
        # Capacity held for later.
        self.ends = ExpectedEnds(self.cluster.placements)
        self.promises = Promises(self.cluster, self.ends)
        self.reservations: dict[int, ReservationRecord] = {}
        # Failures, recoveries and policies.
        self.node_failures: dict[str, NodeFailures] = {}
        self.recoveries = Recoveries(self.cluster)
        self.policies = Policies()
        self.memory = Memory(self._remembered())

    def _remembered(self) -> Iterator[Remembered]:
        yield from self.accounts.parts()
        yield Remembered("policies", lambda _: self.policies.memory() if self.policies else None, self.policies.recall)
        yield from network_parts(self.cluster)
        yield from self.learned.parts()
        yield from self.pending.parts()

    # --- work and what it asks for ---------------------------------------------------------------------------

    def terms(self, spec: Workload) -> Terms:
        """The terms a workload would get if it were submitted now, policies included. Raises what routing raises."""
        asked = self.own_terms(spec)
        return replace(asked, shape=self.policies.effective_shape(asked, spec.namespace, spec.name))

    def own_terms(self, spec: Workload) -> Terms:
        """The same without policies."""
        return terms_of(self.router, spec, self._usual_run_s)

    def _usual_run_s(self, spec: Workload) -> float | None:
        """How long the last tasks of its owner ran, to two digits: tasks of one shape share an evaluation."""
        found = self.learned.run_times.expected_s(f"{spec.namespace}/{spec.user or ''}", None)
        return None if found is None else float(f"{found:.1e}")

    def repelled(self, work: Work) -> tuple[AffinityRule, ...]:
        """Rules of placed tasks that keep the work away from them."""
        return self.cluster.placements.selector_counts.repelled(work.identity)

    def entry(self, work: Work) -> QueueEntry:
        """The workload as the pending queue sees it."""
        self.accounts.refresh_capacity()
        terms = work.terms
        together = max(1, work.gang_short)
        amounts = dict(terms.shape.amounts)
        saves, latest_start = self._elsewhere(work) if terms.finish_within_s is not None else (0.0, inf)
        return QueueEntry(
            id=work.id,
            queue=work.queue,
            tenant=terms.tenant,
            user=terms.user,
            rank=work.rank if terms.priority is None else -terms.priority,
            submitted_at=work.submitted_at,
            run_s=terms.run_s,
            expected_s=self.learned.run_times.expected_s(self.owner(work), terms.run_s),
            share=self.accounts.without_deferred.share_asked(amounts, together),
            width=amounts.get(CPU, 0) * together / 1000,
            saves=saves,
            latest_start=latest_start,
        )

    def _elsewhere(self, work: Work) -> tuple[float, float]:
        """What its nodes save work that could go to dearer ones, and when it has to go there. Computed once: keys of
        work that waits do not change."""
        if work.elsewhere is None:
            pipeline, request = self.pipelines[work.shape.profile], self.asked(work.shape, work.identity)
            view = View(self.cluster)
            eligible = pipeline.evaluator.run_filters(request, view).feasible_ignoring_capacity
            deadline = work.submitted_at + (work.terms.finish_within_s or 0.0)
            patience = Patience(deadline, self.settings.market.margin)
            work.elsewhere = savings(request, view, eligible, patience, work.submitted_at)
        return work.elsewhere

    def owner(self, work: Work) -> str:
        """The owner whose past run times predict this workload's."""
        return f"{work.namespace}/{work.terms.user or ''}"

    def expected_s(self, work: Work) -> float | None:
        """The expected run time of its tasks."""
        declared_s = work.terms.run_s
        if self.backfill_states[work.shape.scheduler].backfill.run_times == "declared":
            return declared_s
        return self.learned.run_times.expected_s(self.owner(work), declared_s)

    def victim_info(self, work: Work, now: float) -> VictimInfo:
        terms = work.terms
        return VictimInfo(
            rank=work.rank,
            since=now,
            checkpoint_s=terms.checkpoint_s,
            min_run_s=terms.min_run_s,
            unit=-1 if work.group is None else work.group.id,
            group=work.id,
            queue=work.queue,
            preemptible=terms.preemptible,
            namespace=work.namespace,
            priority=terms.priority or 0,
        )

    def admit(self, work: Work) -> None:
        """From now on the workload is live: known by name, and waiting if any of its tasks is."""
        self.work[work.id] = work
        self.talkers.admit(work)
        if work.group is None:
            self.groups.admit(work)
        placements = self.cluster.placements
        placements.directory[work.key] = (work.id, work.replicas)
        placements.named_by_identity |= work.identity.workload != work.name
        if work.terms.max_unavailable:
            self.budgeted[work.id] = None
        if work.ending is not None:
            self.ending[work.id] = None
        for other in work.after:
            self.dependents.setdefault(other, []).append(work.id)
        if work.waiting:
            self.pending.arrived(work, work.submitted_at)
        self.pending.enqueue(work)

    def expected_end(self, work: Work, start: float) -> float:
        """When a task of it would end that starts then; NEVER if nothing is known."""
        run_s = self.expected_s(work)
        return NEVER if run_s is None else start + run_s

    # --- bookkeeping around placements -----------------------------------------------------------------------

    def look_for_savings_at(self, moment: float) -> None:
        """Then or earlier: whether preemption would save money."""
        self.wake.savings_due = min(self.wake.savings_due, moment)
        timer_at = self.timers.at(TimerKind.LAST_CHANCE, None)
        if timer_at is None or moment < timer_at:
            self.timers.set(TimerKind.LAST_CHANCE, None, moment)

    def charge(self, work: Work, times: int, now: float) -> None:
        """So many more (or fewer) tasks of the workload hold a node."""
        self.accounts.charge(work, times, now)
        if times < 0 and self.pending.over_quota:
            self.wake.queues_freed.add(work.queue)

    def release(self, work: Work, task: TaskId, now: float) -> None:
        """The task no longer holds its node."""
        placement = self.cluster.remove(task)
        self.wake.dirty_rows.add(placement.row)
        if self.pending.parked:
            self.wake.freed.setdefault(placement.row, []).append(placement.victim_info)
        self.ends.drop(task)
        self.stopping.pop(task, None)
        self.charge(work, -1, now)

    @contextmanager
    def no_trace(self) -> Iterator[None]:
        """For a question: afterwards the state is as it was. Trials undo themselves. This undoes the rest, so that no
        later decision depends on which questions were asked, or when."""
        resources = len(self.cluster.resources.names)
        before = [(one, one.cursor, dict(one.evaluator.failures)) for one in list(self.pipelines.values())]
        try:
            with self.victim_table.restored(), self.accounts.capacity_restored():
                yield
        finally:
            for pipeline, cursor, failures in before:
                pipeline.cursor, pipeline.evaluator.failures = cursor, failures
            if len(self.cluster.resources.names) > resources:  # only the question asked for some
                self.cluster.resources.forget_after(resources)
                self.requests.forget_wider(resources)
                for pipeline in self.pipelines.values():
                    pipeline.forget_wider(resources)
                self.promises.forget_horizon()

    def count_outcome(self, node: str, ok: bool) -> None:
        self.cluster.count_outcome(node, ok)
        self.changes.outcomes[node] = None

    def note_pace(self, node: str, slowdown: float) -> None:
        self.cluster.note_pace(node, slowdown)
        self.changes.outcomes[node] = None
