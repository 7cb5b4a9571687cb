"""Plans for work that is not submitted yet: where its tasks would go, and which tasks it would preempt.

Guarantees: the pipeline that decides for real decides here too, in a trial that undoes itself, and in the same order:
first quotas, then promises to others, then free capacity. A gang is planned whole or not at all. Nothing is changed.
Left to others: the words (`api.questions`), and work that already waits (`forecast`).
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import partial

from dovetail.cluster.horizon import NEVER
from dovetail.engine.gangs.gang_trial import layout_of, places_to_clear, try_subject
from dovetail.engine.gangs.one_by_one import TrialSubject
from dovetail.engine.gangs.requests import refuse_dear, wait_in_words
from dovetail.engine.pieces import IsSpent, Pieces, never, whole
from dovetail.engine.preemption.preempting import (
    PreemptionPlan,
    PreemptionRequest,
    may_displace,
    needs_trial,
    plan_preemption,
)
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.reason import Explanation, Outcome
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.task_identity import TaskIdentity, identity_of, labels_of
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Priority, Workload
from dovetail.placement.contract import Request
from dovetail.placement.pipeline.pipeline import Choice, Pipeline
from dovetail.placement.preemption.cheapest import cheapest
from dovetail.queueing.quota import OverQuota

_TRIAL_WORKLOAD = -1  # never a real id
PLACED_AGAIN_A_TASK = 4  # so many tasks are placed again in about the time in which one is decided
_MOST_DISPLACING = 64  # tasks for which victims are sought at once; the answer must not keep others waiting
_PRIORITIES = tuple(Priority)  # by rank


@dataclass(frozen=True, slots=True)
class PlannedTask:
    replica: int
    node: str | None
    explanation: Explanation


@dataclass(frozen=True, slots=True)
class Victim:
    """A task that would be preempted, and the seconds of its work that would be lost."""

    task: TaskId
    namespace: str
    name: str
    priority: Priority
    node: str
    lost_s: float


@dataclass(frozen=True, slots=True)
class Displacement:
    """The number of tasks that would fit if the victims were preempted."""

    tasks: int
    victims: tuple[Victim, ...]


def plan(
    state: EngineState, spec: Workload, most: int, now: float, is_spent: IsSpent = never
) -> Pieces[list[PlannedTask]]:
    """The tasks that may run at once, one after the other. The first task without a node ends the plan. Raises what
    routing raises."""
    terms = state.terms(spec)
    allowed, over = within_quota(state, spec, min(at_once(spec), most))
    trial = PlanTrial(state, spec, terms.shape, now)
    if over is not None and not allowed:
        return [(yield from _over_quota(trial, over, min(max(1, terms.gang_min), most), is_spent))]
    found = yield from trial.run(allowed, is_spent)
    if over is not None and len(found) == allowed and all(task.node is not None for task in found):
        words = Explanation(Outcome.OVER_QUOTA, over.message, terms.shape.profile, len(state.cluster.rows), ())
        found.append(PlannedTask(allowed, None, words))
    placed = sum(task.node is not None for task in found)
    if placed < min(terms.gang_min, most):
        return [_gang_refused(found[-1], terms.gang_min, placed)]
    return found


def _over_quota(trial: "PlanTrial", over: OverQuota, count: int, is_spent: IsSpent) -> Pieces[PlannedTask]:
    """Its quota allows nothing. Nodes that refuse it too are named first: more quota alone would not help."""
    last = (yield from trial.run(count, is_spent))[-1]
    refused = f"{last.explanation.message}; and " if last.node is None else ""
    nodes = last.explanation.nodes
    words = Explanation(Outcome.OVER_QUOTA, f"{refused}{over.message}", last.explanation.profile, nodes, ())
    return PlannedTask(0, None, words)


def nodes_in_turn(
    state: EngineState, spec: Workload, shape: Shape, most: int, is_spent: IsSpent = never
) -> Pieces[list[str]]:
    """The nodes of `most` tasks, placed one after the other until one finds none; promises are left out."""
    copies = spec.model_copy(update={"replicas": most})
    tasks = yield from PlanTrial(state, copies, shape, 0.0).run(most, is_spent)
    return [task.node for task in tasks if task.node is not None]


def would_displace(state: EngineState, spec: Workload, now: float) -> Pieces[Displacement | None]:
    """The cheapest victims that clear capacity for as many of its tasks as may run at once, or else for one task; for a
    gang always for all of it. None: it may not preempt, preemption does not help, or it is not needed."""
    terms = state.terms(spec)
    rank = spec.priority.rank
    if not may_displace(state, terms.shape, rank):
        return None
    wanted = min(at_once(spec), _MOST_DISPLACING)
    allowed, _ = within_quota(state, spec, max(wanted, terms.gang_min))
    counts = (terms.gang_min,) if terms.gang_min > 1 else (min(wanted, allowed), 1)
    shape = terms.shape.least
    queue = state.router.queue(spec.queue, spec.namespace)
    for count in dict.fromkeys(counts):
        if 0 < count <= allowed:
            found = _cheapest_preemption(state, spec, PreemptionRequest(shape, rank, queue, count), now)
            yield
            if found is not None:
                victims = tuple(victim_of(state, task, now) for task in found.tasks)
                return Displacement(count, victims) if victims else None
    return None


def _cheapest_preemption(
    state: EngineState, spec: Workload, claim: PreemptionRequest, now: float
) -> PreemptionPlan | None:
    trial, count = PlanTrial(state, spec, claim.shape, now), claim.count
    request = replace(trial.request(), promised=None)

    def fits(_: Request, found: PreemptionPlan) -> bool:
        """Victims are found by amounts alone: only a trial shows that the tasks then keep their rules about others."""
        with state.cluster.trial():
            for task in found.tasks:
                state.cluster.remove(task)
            return trial.count(count) == count

    places = places_to_clear(state, trial.subject, request, count)
    return cheapest(places, partial(plan_preemption, state, claim, now), fits if needs_trial(state, request) else None)


def identity_for(spec: Workload, shape: Shape) -> TaskIdentity:
    """What identifies its tasks to the affinity rules of other work."""
    known_by = (spec.namespace, spec.name, shape.service, labels_of(spec))
    return identity_of(*known_by, shape.workload_affinity, shape.traffic, shape.bandwidth_mbps)


def at_once(spec: Workload) -> int:
    """How many of its tasks may run at the same time."""
    return min(spec.replicas, spec.concurrency or spec.replicas)


def over_quota(state: EngineState, spec: Workload, count: int) -> OverQuota | None:
    """The limit that so many more of its tasks would exceed, whatever the nodes have."""
    queue = state.router.queue(spec.queue, spec.namespace)
    amounts = {name: amount * count for name, amount in spec.resources.amounts().items()}
    return state.accounts.quotas.over(queue, spec.user, amounts)


def within_quota(state: EngineState, spec: Workload, wanted: int) -> tuple[int, OverQuota | None]:
    """How many of `wanted` tasks its queue may take now, and which limit stops the next one."""
    together = min(spec.gang.min, wanted) if spec.gang is not None else 1
    first = over_quota(state, spec, together)
    if first is not None:
        return 0, first
    more = range(together + 1, wanted + 1)
    allowed = together + bisect_left(more, True, key=lambda count: over_quota(state, spec, count) is not None)
    if allowed >= wanted:
        return wanted, None
    found = over_quota(state, spec, allowed + 1)
    assert found is not None
    each = spec.resources.amounts()[found.resource]
    return allowed, replace(found, used=found.used + allowed * each, asked=each)  # as it is when those before it run


class PlanTrial:
    """Places tasks for the time of a question. `owner`: the live workload that asks, if it is one; promises to it do
    not count against it."""

    def __init__(
        self, state: EngineState, spec: Workload, shape: Shape, now: float, owner: int = _TRIAL_WORKLOAD
    ) -> None:
        self._state, self._spec, self._shape, self._now, self._owner = state, spec, shape, now, owner
        self._pipeline: Pipeline = state.pipelines[shape.profile]
        self._run_s = _expected_run_s(state, spec, shape)
        within_s = spec.deadline.finish_within
        self._deadline = None if within_s is None else now + within_s
        self.subject = TrialSubject(_TRIAL_WORKLOAD, shape, identity_for(spec, shape))

    def count(self, most: int) -> int:
        """How many of `most` tasks find a node; quotas are left out."""
        return sum(task.node is not None for task in whole(self.run(most)))

    def run(self, most: int, is_spent: IsSpent = never) -> Pieces[list[PlannedTask]]:
        """One task after the other, until one finds no node. Each piece decides at least one task, and a part as many
        as it had to place again."""
        decided: list[tuple[Request, Choice]] = []
        while True:
            cursor = self._pipeline.cursor
            with self._state.cluster.trial():
                for replica, (request, choice) in enumerate(decided):
                    self._place(replica, request, choice)
                done = self._continue(most, decided, is_spent)
            self._pipeline.cursor = cursor
            if done:
                return [planned_task(self._state, i, choice) for i, (_, choice) in enumerate(decided)]
            yield

    def _continue(self, most: int, decided: list[tuple[Request, Choice]], is_spent: IsSpent) -> bool:
        """Is it done? Otherwise the time of this piece is used up."""
        gang, at_least = self._spec.gang, len(decided) + len(decided) // PLACED_AGAIN_A_TASK + 1
        if not decided and gang is not None and layout_of(self._state, self.subject) is not None:
            decided += self._gang(min(gang.min, most))
        while len(decided) < most:
            if decided and decided[-1][1].row is None:
                return True
            if len(decided) >= at_least and is_spent():
                return False
            request, choice = self._decide(len(decided))
            self._place(len(decided), request, choice)
            decided.append((request, choice))
        return True

    def _gang(self, count: int) -> list[tuple[Request, Choice]]:
        """The tasks that must start together, as their layout arranges them."""
        request = self.request()
        found = try_subject(self._state, self.subject, request, list(range(count)), begun=False)
        if found.refusal is not None:
            return [(request, Choice(None, found.refusal))]
        for replica, choice in enumerate(found.choices):
            self._place(replica, request, choice)
        return [(request, choice) for choice in found.choices]

    def _decide(self, replica: int) -> tuple[Request, Choice]:
        """With all its preferences, then with fewer and fewer of those it insists on."""
        task, repeats = str(TaskId(_TRIAL_WORKLOAD, replica)), self._spec.replicas > 1
        state, request = self._state, self.request()
        choice = self._pipeline.decide(request, task, repeats=repeats)
        first = choice
        given_up: list[str] = []
        shape = self._shape
        while choice.row is None and shape.insists:
            shape, words = shape.relaxed()
            given_up += words
            request = replace(request, shape=shape)
            choice = self._pipeline.decide(request, task, repeats=repeats)
            choice.explanation = choice.explanation.with_notes(f"gave up: {'; '.join(given_up)}")
        if choice.row is None and request.too_dear is not None and (waits := wait_in_words(state, request.too_dear)):
            told = replace(first.explanation, outcome=Outcome.WAITS_FOR_CHEAPER, message=waits)
            return request, Choice(None, told)
        return request, choice if choice.row is not None else first

    def request(self) -> Request:
        """The request of one of its tasks, with the capacity that promises to others than the owner leave."""
        state = self._state
        asked = state.asked(self._shape, self.subject.identity)
        request = self._pipeline.for_task(asked, _TRIAL_WORKLOAD, self._spec.replicas)
        if state.promises:
            promised = state.promises.left_for(self._owner, self._spec.namespace, self._run_s, self._now)
            if promised is not None:
                request = replace(request, promised=promised)
        together = 1 if self._spec.gang is None else self._spec.gang.min
        return refuse_dear(state, request, self._deadline, together, self._now)

    def _place(self, replica: int, request: Request, choice: Choice) -> None:
        """Nothing where the choice is no node."""
        state, now, row = self._state, self._now, choice.row
        if row is None:
            return
        before = state.cluster.changes
        state.cluster.place(
            *(TaskId(_TRIAL_WORKLOAD, replica), row, request.column, self._shape.service_key),
            identity=self.subject.identity,
            gpus=request.shape.gpus,
            slots=choice.slots,
        )
        self._pipeline.placed(request, row)
        if state.promises:
            end = NEVER if self._run_s is None else now + self._run_s
            state.promises.placed(row, request.column, end, now, before)


def planned_task(state: EngineState, replica: int, choice: Choice) -> PlannedTask:
    node = None if choice.row is None else state.cluster.names[choice.row]
    return PlannedTask(replica, node, choice.explanation)


def _expected_run_s(state: EngineState, spec: Workload, shape: Shape) -> float | None:
    """The expected run time of its tasks, as for submitted work."""
    declared_s = spec.deadline.run_for
    if state.backfill_states[shape.scheduler].backfill.run_times == "declared":
        return declared_s
    return state.learned.run_times.expected_s(f"{spec.namespace}/{spec.user or ''}", declared_s)


def _gang_refused(last: PlannedTask, gang: int, have_room: int) -> PlannedTask:
    explanation = last.explanation
    if explanation.outcome == Outcome.OVER_QUOTA:
        return PlannedTask(0, None, explanation)
    words = f"gang of {gang}: {have_room} {'has' if have_room == 1 else 'have'} room; {explanation.message}"
    return PlannedTask(0, None, replace(explanation, message=words))


def victim_of(state: EngineState, task: TaskId, now: float) -> Victim:
    work, placement = state.work[task.workload], state.cluster.placements.by_task[task]
    victim_info = placement.victim_info
    ran_s = max(0.0, now - victim_info.since)
    lost_s = ran_s % victim_info.checkpoint_s if victim_info.checkpoint_s else ran_s
    node = state.cluster.names[placement.row]
    return Victim(task, work.namespace, work.name, _PRIORITIES[work.rank], node, lost_s)
