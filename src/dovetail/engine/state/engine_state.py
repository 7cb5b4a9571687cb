"""What the engine knows: the cluster, live work, who waits where, and which of it changed since `take_changes`."""

import json
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dovetail.cluster.network.domain_table import DomainTable
from dovetail.cluster.placements import VictimInfo
from dovetail.cluster.state import Cluster
from dovetail.engine.promises.expected_ends import ExpectedEnds
from dovetail.engine.promises.promises import Promises
from dovetail.engine.state import network_memory
from dovetail.engine.state.groups import Groups
from dovetail.engine.state.pending_work import EquivalenceClass, PendingWork, Watch
from dovetail.engine.state.policies import Policies
from dovetail.engine.state.recoveries import Recoveries
from dovetail.engine.state.settings import EngineSettings, Router
from dovetail.engine.state.terms import Terms, terms_of
from dovetail.engine.state.timers import Timers
from dovetail.engine.state.work import Work
from dovetail.engine.state.workload_mix import WorkloadMix
from dovetail.model.disruption_budget import DisruptionBudget
from dovetail.model.record import Changes, Decision, ReservationRecord
from dovetail.model.requests.asks import AffinityRule
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.task_identity import TaskIdentity
from dovetail.model.resources import CPU, GPU
from dovetail.model.task import TaskId, WorkloadState
from dovetail.model.workloads.workload import Workload
from dovetail.placement.contract import Request
from dovetail.placement.filters.constraints import is_non_local
from dovetail.placement.gangs.strategies import BALANCED, PACK, Strategy
from dovetail.placement.gangs.tiers import TierTable
from dovetail.placement.network_cost.communication import CommunicationModel
from dovetail.placement.pipeline.pipeline import Pipeline
from dovetail.placement.preemption import VictimTable
from dovetail.queueing.backfill import BackfillSettings
from dovetail.queueing.entry import QueueEntry
from dovetail.queueing.pending_queue import PendingQueue
from dovetail.queueing.quota import Quotas
from dovetail.queueing.run_times import RunTimes
from dovetail.queueing.start_error import Calibration
from dovetail.queueing.usage import Past, Usage
from dovetail.queueing.usual_times import UsualTimes

_REQUESTS_KEPT = 10_000
_ENDED_KEPT = 10_000
_UNCHARGED_KEPT = 1000


@dataclass(slots=True)
class BackfillState:
    """How one scheduler goes through its line: what others may do while its head waits, and who that is."""

    backfill: BackfillSettings
    head: int | None = None


@dataclass(slots=True)
class NodeFailures:
    """Placements in a row that failed on a node, and how often it was quarantined for that."""

    failures: int = 0
    quarantines: int = 0


class EngineState:
    """Shared by the engine's parts; only they change it."""

    def __init__(self, settings: EngineSettings) -> None:
        self.settings = settings
        self.router = Router(settings)
        self.schedulers = self.router.schedulers
        self.cluster = Cluster(settings.overcommit)
        self.tiers = TierTable(self.cluster)
        self.pipelines: dict[str, Pipeline] = {
            name: Pipeline(name, profile, self.cluster, settings.seed) for name, profile in self.router.profiles.items()
        }
        self.mix = WorkloadMix(self.cluster)
        self.work: dict[int, Work] = {}
        self._usage = Usage(self.router.queues, {}, settings.fair)
        self._quotas = Quotas(self.router.queues, self._usage)
        tree = self.router.queues
        self.limited = [any(tree[c].maximum or tree[c].user_limits for c in queue.lineage) for queue in tree.queues]
        lines = {
            name: PendingQueue(self.router.queues, self._usage, self.router.ordering(name))
            for name in self.router.schedulers
        }
        self.pending = PendingWork(lines, self.entry, self.repelled)
        self.backfill_states = {name: BackfillState(scheduler.backfill) for name, scheduler in self.schedulers.items()}
        self.ends = ExpectedEnds(self.cluster.placements)
        self.run_times = RunTimes()
        self.usual_times = UsualTimes()
        self.calibration = Calibration()
        self.expected_starts: dict[int, tuple[float, float]] = {}  # by workload: when it was expected, and for when
        self.sampled_at = 0.0
        self.set_aside = 0  # workloads that had to wait for room since then
        self.promises = Promises(self.cluster, self.ends)
        self.timers = Timers()
        self.victims_table = VictimTable(self.cluster)
        self.domains = DomainTable(self.cluster)
        self.communication = CommunicationModel(self.cluster)
        self.event_count = (
            0  # grows with every event, timer and placement; not with promises, which could go round for ever
        )
        self.watches: dict[EquivalenceClass, Watch] = {}  # what kinds of work that were set aside wait for beside room
        self.watched = 0  # the news at which those were looked at
        # By scheduler whose order moves: the earliest news at which work was set aside that other work may let in.
        self.unsettled: dict[str, int] = {}
        self.dirty_rows: set[int] = set()  # rows where something may fit now that did not before
        self.queues_freed: set[int] = set()  # queues that hold less than before
        self.stopping: dict[TaskId, None] = {}  # tasks that were told to stop
        self.dependents: dict[int, list[int]] = {}  # by workload: who waits for its end
        self.finishing: deque[int] = deque()  # workloads that ended: whoever waits for them has to be told
        self.trouble: dict[str, NodeFailures] = {}
        self.gangs: dict[int, None] = {}
        self.groups = Groups()
        self.budgeted: dict[int, None] = {}  # workloads with a disruption budget
        self.pod_budgets: Sequence[DisruptionBudget] = ()  # of an adapter of Kubernetes, by selectors
        self.ended: OrderedDict[tuple[str, str], tuple[int, WorkloadState]] = OrderedDict()  # the last of each name
        self.reservations: dict[int, ReservationRecord] = {}
        self.recoveries = Recoveries()
        self.policies = Policies()
        self.decisions: list[Decision] = []
        self.preempted = 0
        self.changed_work: dict[int, None] = {}
        self.changed_notes: dict[int, None] = {}
        self.changed_tasks: dict[TaskId, None] = {}
        self.changed_nodes: dict[str, None] = {}
        self.gone_nodes: dict[str, None] = {}
        self.changed_reservations: dict[int, None] = {}
        self.changed_outcomes: dict[str, None] = {}
        self.changed_network: dict[str, None] = {}  # what of it a restart has to know
        self._capacity_as_of = -1
        self._uncharged: dict[tuple[int, str | None, str, tuple[tuple[str, int], ...]], int] = {}
        self._requests: OrderedDict[Shape, Request] = OrderedDict()
        self._taking_turns = [p for p in self.pipelines.values() if p.settings.select == "round_robin"]
        self._recorded_cursors = {pipeline.name: pipeline.cursor for pipeline in self._taking_turns}
        self._scopes = {
            name: tuple(sorted(scheduler.node_selector.items())) for name, scheduler in self.schedulers.items()
        }

    # --- work and what it asks for ---------------------------------------------------------------------------

    def terms(self, spec: Workload) -> Terms:
        """What would count for a workload if it were submitted now, with what policies add. Raises what routing
        raises."""
        asked = terms_of(self.router, spec)
        return replace(asked, shape=self.policies.in_force(asked, spec.namespace, spec.name))

    def request(self, shape: Shape) -> Request:
        """The shape compiled against this cluster's resource rows; kept while it is in use."""
        self.mix.prepare()
        found = self._requests.get(shape)
        if found is None or len(found.column) < len(self.cluster.resources.names):
            needs = {name: float(amount) for name, amount in shape.amounts}
            column, scope = self.cluster.resources.vector(needs), self._scopes[shape.scheduler]
            found = Request(shape, column, needs, scope, outlook=self.mix.outlook, non_local=is_non_local(shape))
            self._requests[shape] = found
            if len(self._requests) > _REQUESTS_KEPT:
                self._requests.popitem(last=False)
        return found

    def asked(self, shape: Shape, identity: TaskIdentity) -> Request:
        """The same for a task with this badge: with what other work means to it."""
        request = self.request(shape)
        repelled = self.cluster.placements.selector_counts.repelled(identity)
        heard = self.cluster.placements.conversations.with_whom(identity)
        if not repelled and not heard and not request.non_local:
            return request
        return replace(request, identity=identity, repelled=repelled, heard=heard, non_local=True)

    def strategy(self, name: str, shape: Shape) -> tuple[Strategy, tuple[str, ...]]:
        """How a gang of this shape chooses its domain, and what is wrong if not as it should. GPU gangs are packed
        unless they say otherwise: domains that stay whole are what large ones need."""
        usual = self.settings.gang_strategy or (PACK if any(one == GPU for one, _ in shape.amounts) else BALANCED)
        return self.router.strategies.or_balanced(name or usual)

    def repelled(self, work: Work) -> tuple[AffinityRule, ...]:
        """Rules of placed tasks that keep the work away from them."""
        return self.cluster.placements.selector_counts.repelled(work.identity)

    def entry(self, work: Work) -> QueueEntry:
        """The workload as the line sees it."""
        self.refresh_capacity()
        terms = work.terms
        together = max(1, work.gang_short)
        amounts = dict(terms.shape.amounts)
        return QueueEntry(
            id=work.id,
            queue=work.queue,
            tenant=terms.tenant,
            user=terms.user,
            rank=work.rank if terms.priority is None else -terms.priority,
            submitted_at=work.submitted_at,
            run_s=terms.run_s,
            expected_s=self.run_times.expected_s(self.owner(work), terms.run_s),
            share=self._usage.share_asked(amounts, together),
            width=amounts.get(CPU, 0) * together / 1000,
        )

    def owner(self, work: Work) -> str:
        """Whose history tells how long work like this takes."""
        return f"{work.namespace}/{work.terms.user or ''}"

    def expected_s(self, work: Work) -> float | None:
        """How long its tasks are taken to run."""
        declared_s = work.terms.run_s
        if self.backfill_states[work.shape.scheduler].backfill.run_times == "declared":
            return declared_s
        return self.run_times.expected_s(self.owner(work), declared_s)

    def victim_info(self, work: Work, now: float) -> VictimInfo:
        terms = work.terms
        return VictimInfo(
            rank=work.rank,
            since=now,
            checkpoint_s=terms.checkpoint_s,
            min_run_s=terms.min_run_s,
            unit=_unit(work),
            group=work.id,
            queue=work.queue,
            preemptible=terms.preemptible,
            namespace=work.namespace,
            priority=terms.priority or 0,
        )

    def admit(self, work: Work, group_notes: list[int] | None = None) -> None:
        """From now on the workload is live: known by name, and waiting if any of its tasks is."""
        self.work[work.id] = work
        if work.terms.group:
            self.groups.admit(work, group_notes)
        self.cluster.placements.directory[work.key] = (work.id, work.replicas)
        if work.terms.gang_min and not work.terms.loose:
            self.gangs[work.id] = None
        if work.terms.max_unavailable:
            self.budgeted[work.id] = None
        for other in work.after:
            self.dependents.setdefault(other, []).append(work.id)
        if work.waiting:
            self.pending.arrived(work, work.submitted_at)
        self.pending.enqueue(work)

    # --- bookkeeping around placements -----------------------------------------------------------------------

    def charge(self, work: Work, times: int, now: float) -> None:
        """So many more (or less) tasks of it hold a node. Only noted: nobody may ask the ledger for a while, and then
        one entry does for many."""
        terms = work.terms
        account = (work.queue, terms.user, terms.tenant, terms.shape.amounts)
        self._uncharged[account] = self._uncharged.get(account, 0) + times
        if self._usage.half_life_s is not None or len(self._uncharged) > _UNCHARGED_KEPT:
            self.settle_usage(now)  # what was used when matters
        if times < 0 and self.pending.over:
            self.queues_freed.add(work.queue)

    @property
    def usage(self) -> Usage:
        """The ledger, up to date."""
        self.settle_usage()
        return self._usage

    @property
    def quotas(self) -> Quotas:
        self.settle_usage()
        return self._quotas

    def settle_usage(self, now: float = 0.0) -> None:
        """Bring the ledger up to date. The moment counts only where the past does, and then nothing was put off."""
        if self._uncharged:
            for (queue, user, tenant, amounts), times in self._uncharged.items():
                if times:
                    self._usage.charge(queue, user, tenant, dict(amounts), times, now)
            self._uncharged.clear()

    def release(self, work: Work, task: TaskId, now: float) -> int:
        """The task holds its node no longer; the row it leaves."""
        placement = self.cluster.remove(task)
        self.dirty_rows.add(placement.row)
        self.ends.drop(task)
        self.stopping.pop(task, None)
        self.charge(work, -1, now)
        return placement.row

    def recall(self, memory: Mapping[str, str]) -> None:
        """What was learned before a restart."""
        if "usage" in memory:
            self.usage.recall([Past(*past) for past in json.loads(memory["usage"])])
        if "calibration" in memory:
            self.calibration = Calibration.from_json(json.loads(memory["calibration"]))
        if "run_times" in memory:
            self.run_times = RunTimes.from_json(json.loads(memory["run_times"]))
        if "usual_times" in memory:
            self.usual_times = UsualTimes.from_json(json.loads(memory["usual_times"]))
        if "policies" in memory:
            self.policies.recall(memory["policies"])
        network_memory.recall(self.cluster, memory)
        if "workload_mix" in memory:
            self.mix.recall(json.loads(memory["workload_mix"]))

    def memory(self, now: float) -> dict[str, str]:
        """The inverse of `recall`."""
        found = {
            "run_times": json.dumps(self.run_times.to_json()),
            "usual_times": json.dumps(self.usual_times.to_json()),
            "calibration": json.dumps(self.calibration.to_json()),
            "workload_mix": json.dumps(self.mix.memory()),
        }
        if self.policies:
            found["policies"] = self.policies.memory()
        if past := self.usage.history(now):
            found["usage"] = json.dumps(past)
        return found

    def refresh_capacity(self) -> None:
        """Shares are of what ready nodes have; called before deciding, and cheap while no node changed."""
        cluster = self.cluster
        if self._capacity_as_of != cluster.generation:
            self._capacity_as_of = cluster.generation
            n = cluster.width
            totals = cluster.resources.schedulable[:, :n][:, cluster.present[:n]].sum(axis=1)
            self._usage.set_capacity(dict(zip(cluster.resources.names, totals.tolist(), strict=True)))

    def set_cursors(self, rows: Mapping[str, int]) -> None:
        """Profiles that choose in turn go on after these rows; others have no use for one."""
        for pipeline in self._taking_turns:
            if pipeline.name in rows:
                pipeline.cursor = self._recorded_cursors[pipeline.name] = rows[pipeline.name]

    def count_outcome(self, node: str, ok: bool) -> None:
        self.cluster.count_outcome(node, ok)
        self.changed_outcomes[node] = None

    def note_pace(self, node: str, slowdown: float) -> None:
        self.cluster.note_pace(node, slowdown)
        self.changed_outcomes[node] = None

    def touch_task(self, task: TaskId) -> None:
        self.changed_tasks[task] = None
        self.changed_work[task.workload] = None

    # --- handing over ----------------------------------------------------------------------------------------

    def take_changes(self, now: float) -> Changes:  # noqa: C901 (one list after the other)
        """Everything that changed since the last call, each thing once. Finished work is forgotten here."""
        changes = Changes(decisions=self.decisions, preempted=self.preempted)
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
                self._forget(work, record.state)
        for id_ in self.changed_notes:  # whoever is forgotten may leave something behind that others remember
            work = self.work.get(id_)
            if work is not None:
                changes.notes[id_] = _notes(work)
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
        changes.recoveries = self.recoveries.take_notes()
        changes.policies, changes.switches = self.policies.take_records()
        if (adjusted := self.policies.take_memory()) is not None:
            changes.memory["policies"] = adjusted
        for what in self.changed_network:
            changes.memory[what] = network_memory.remembered(self.cluster, what)
        for pipeline in self._taking_turns:
            if pipeline.cursor != self._recorded_cursors[pipeline.name]:
                changes.cursors[pipeline.name] = self._recorded_cursors[pipeline.name] = pipeline.cursor
        self._taken()
        return changes

    def _taken(self) -> None:
        self.decisions = []
        self.preempted = 0
        self.changed_tasks.clear()
        self.changed_notes.clear()
        self.changed_work.clear()
        self.changed_nodes.clear()
        self.gone_nodes.clear()
        self.changed_reservations.clear()
        self.changed_outcomes.clear()
        self.changed_network.clear()

    def take_decisions(self) -> list[Decision]:
        """What was decided since the last call, for whoever keeps no records: finished work is forgotten here too, and
        for good, since nothing that such an adapter hands over waits for the end of other work."""
        decisions = self.decisions
        for id_ in self.changed_work:
            work = self.work.get(id_)
            if work is not None and work.done == work.replicas:
                self._drop(work)
        self._taken()
        self.cluster.trim_log()
        return decisions

    def _forget(self, work: Work, state: WorkloadState) -> None:
        self._drop(work)
        self.ended[work.key] = (work.id, state)
        self.ended.move_to_end(work.key)
        if len(self.ended) > _ENDED_KEPT:
            self.ended.popitem(last=False)

    def _drop(self, work: Work) -> None:
        del self.work[work.id]
        if (group := self.groups.forget(work)) is not None:
            self.changed_notes.update(dict.fromkeys(group.members))
        self.expected_starts.pop(work.id, None)
        self.gangs.pop(work.id, None)
        self.budgeted.pop(work.id, None)
        if self.cluster.placements.directory.get(work.key, (None, 0))[0] == work.id:
            del self.cluster.placements.directory[work.key]


def _unit(work: Work) -> int:
    """With whom it falls: the gang, or the group."""
    if work.terms.loose:
        return -1
    return work.group.id if work.group is not None else work.id if work.terms.gang_min else -1


def _notes(work: Work) -> str:
    """What a restart needs to know of a workload beyond its definition and its tasks."""
    after = {str(id_): str(condition) for id_, condition in work.after.items()}
    found = {"rank": work.rank, "after": after, "delayed": {str(r): at for r, at in work.delayed.items()}}
    if work.group is not None:
        found["group"] = work.group.notes()
    if work.recovery is not None:
        found["recovery"] = work.recovery.to_json()
    return json.dumps(found)
