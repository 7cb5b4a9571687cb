"""Plans for work that is not submitted yet: where its tasks would go, and which tasks it would preempt.

Guarantees: the pipeline that decides for real decides here too, in a trial that undoes itself. The order is the same:
first quotas, then promises to others, then room. A gang is planned whole or not at all. Nothing is changed. Left to
others: the words (`api.answers`), and work that already waits (`forecast`).
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from dovetail.cluster.devices import Slots
from dovetail.cluster.horizon import NEVER
from dovetail.engine.gangs.gang_trial import layout_of, places_to_clear, try_subject
from dovetail.engine.gangs.one_by_one import TrialSubject
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
_MOST_DISPLACING = 64  # tasks for which room is sought at once; the answer must not keep others waiting
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
    wanted = min(spec.replicas, spec.concurrency or spec.replicas, most)
    allowed, over = within_quota(state, spec, wanted)
    trial = _Trial(state, spec, terms.shape, now)
    found = yield from trial.run(allowed, is_spent)
    if over is not None and len(found) == allowed and all(task.node is not None for task in found):
        words = Explanation(Outcome.OVER_QUOTA, over.message, terms.shape.profile, len(state.cluster.rows), ())
        found.append(PlannedTask(allowed, None, words))
    placed = sum(task.node is not None for task in found)
    together = min(terms.gang_min, most)
    if placed < together:
        return [_gang_refused(found[-1], terms.gang_min, placed)]
    return found


def request_for(state: EngineState, spec: Workload, shape: Shape, now: float, owner: int = _TRIAL_WORKLOAD) -> Request:
    """The request of one of its tasks, with the capacity that promises to others than the owner leave."""
    return _Trial(state, spec, shape, now, owner).request()


def count_placed(
    state: EngineState, spec: Workload, shape: Shape, most: int, now: float, owner: int = _TRIAL_WORKLOAD
) -> int:
    """How many of `most` tasks find a node, placed one after the other; quotas are left out. `owner`: the live workload
    that asks; promises to it do not count against it."""
    return sum(task.node is not None for task in whole(_Trial(state, spec, shape, now, owner).run(most)))


def nodes_in_turn(
    state: EngineState, spec: Workload, shape: Shape, most: int, is_spent: IsSpent = never
) -> Pieces[list[str]]:
    """The nodes of `most` tasks, placed one after the other until one finds none; promises are left out."""
    copies = spec.model_copy(update={"replicas": most})
    tasks = yield from _Trial(state, copies, shape, 0.0).run(most, is_spent)
    return [task.node for task in tasks if task.node is not None]


def would_displace(state: EngineState, spec: Workload, now: float) -> Pieces[Displacement | None]:
    """The cheapest victims that make room for as many of its tasks as may run at once, or else for one task; for a gang
    always for all of it. None: it may not preempt, preemption does not help, or it is not needed."""
    terms = state.terms(spec)
    rank = spec.priority.rank
    if not may_displace(state, terms.shape, rank):
        return None
    wanted = min(spec.replicas, spec.concurrency or spec.replicas, _MOST_DISPLACING)
    allowed, _ = within_quota(state, spec, max(wanted, terms.gang_min))
    counts = (terms.gang_min,) if terms.gang_min > 1 else (min(wanted, allowed), 1)
    shape = terms.shape.least
    queue = state.router.queue(spec.queue, spec.namespace)
    for count in dict.fromkeys(counts):
        if 0 < count <= allowed:
            found = _cheapest_preemption(state, spec, PreemptionRequest(shape, rank, queue, count), now)
            yield
            if found is not None:
                victims = tuple(_victim(state, task, now) for task in found.tasks)
                return Displacement(count, victims) if victims else None
    return None


def _cheapest_preemption(
    state: EngineState, spec: Workload, claim: PreemptionRequest, now: float
) -> PreemptionPlan | None:
    shape, count = claim.shape, claim.count
    request = replace(request_for(state, spec, shape, now), promised=None)

    def fits(_: Request, found: PreemptionPlan) -> bool:
        """Victims are found by amounts alone: only a trial shows that the tasks then keep their rules about others."""
        with state.cluster.trial():
            for task in found.tasks:
                state.cluster.remove(task)
            return count_placed(state, spec, shape, count, now) == count

    places = places_to_clear(state, TrialSubject(_TRIAL_WORKLOAD, shape, identity_for(spec, shape)), request, count)
    return cheapest(places, partial(plan_preemption, state, claim, now), fits if needs_trial(state, request) else None)


def identity_for(spec: Workload, shape: Shape) -> TaskIdentity:
    """What identifies its tasks to the affinity rules of other work."""
    known_by = (spec.namespace, spec.name, shape.service, labels_of(spec))
    return identity_of(*known_by, shape.workload_affinity, shape.traffic, shape.bandwidth_mbps)


def within_quota(state: EngineState, spec: Workload, wanted: int) -> tuple[int, OverQuota | None]:
    """How many of `wanted` tasks its queue may take now, and which limit stops the next one."""
    queue = state.router.queue(spec.queue, spec.namespace)
    if not state.accounts.limited[queue]:
        return wanted, None
    amounts = spec.resources.amounts()

    def over(count: int) -> OverQuota | None:
        return state.accounts.quotas.over(queue, spec.user, {name: amount * count for name, amount in amounts.items()})

    together = spec.gang.min if spec.gang is not None else 1
    first = over(together)
    if first is not None:
        return 0, first
    low, high = together, max(together, wanted)  # low is allowed, whatever is above high is not asked
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if over(middle) is None else (low, middle - 1)
    if low >= wanted:
        return wanted, None
    found = over(low + 1)
    assert found is not None
    each = amounts[found.resource]
    return low, replace(found, used=found.used + low * each, asked=each)  # as it is when those before it run


class _Placed(NamedTuple):
    """A task that was decided, to be placed again when the plan goes on."""

    task: TaskId
    request: Request
    row: int
    slots: Slots | None


class _Trial:
    """Places tasks for the time of a question."""

    def __init__(
        self, state: EngineState, spec: Workload, shape: Shape, now: float, owner: int = _TRIAL_WORKLOAD
    ) -> None:
        self._state, self._spec, self._shape, self._now, self._owner = state, spec, shape, now, owner
        self._pipeline: Pipeline = state.pipelines[shape.profile]
        self._run_s = expected_run_s(state, spec, shape)
        self._identity = identity_for(spec, shape)
        self._subject = TrialSubject(_TRIAL_WORKLOAD, shape, self._identity)

    def run(self, most: int, is_spent: IsSpent = never) -> Pieces[list[PlannedTask]]:
        """One task after the other, until one finds no node. At least one task is decided in each piece."""
        pipeline, found = self._pipeline, list[PlannedTask]()
        placed: list[_Placed] = []
        while True:
            cursor = pipeline.cursor
            with self._state.cluster.trial():
                for one in placed:
                    self._place(*one)
                done = self._continue(most, found, placed, is_spent)
            pipeline.cursor = cursor
            if done:
                return found
            yield

    def _continue(self, most: int, found: list[PlannedTask], placed: list[_Placed], is_spent: IsSpent) -> bool:
        """Is it done? Otherwise the time of this piece is used up."""
        gang = self._spec.gang
        if not found and gang is not None and layout_of(self._state, self._subject) is not None:
            found += self._gang(min(gang.min, most), placed)
        for replica in range(len(found), most):
            if found and (found[-1].node is None or is_spent()):
                return found[-1].node is None
            task = TaskId(_TRIAL_WORKLOAD, replica)
            request, choice = self._decide(task)
            node = None if choice.row is None else self._state.cluster.names[choice.row]
            found.append(PlannedTask(replica, node, choice.explanation))
            if choice.row is not None:
                placed.append(_Placed(task, request, choice.row, choice.slots))
                self._place(*placed[-1])
        return True

    def _gang(self, count: int, placed: list[_Placed]) -> list[PlannedTask]:
        """The tasks that must start together, as their layout arranges them."""
        request = self.request()
        found = try_subject(self._state, self._subject, request, list(range(count)), begun=False)
        if found.refusal is not None:
            return [PlannedTask(0, None, found.refusal)]
        planned = []
        for replica, choice in enumerate(found.choices):
            assert choice.row is not None
            placed.append(_Placed(TaskId(_TRIAL_WORKLOAD, replica), request, choice.row, choice.slots))
            self._place(*placed[-1])
            planned.append(PlannedTask(replica, self._state.cluster.names[choice.row], choice.explanation))
        return planned

    def _decide(self, task: TaskId) -> tuple[Request, Choice]:
        """With all its preferences, then with fewer and fewer of those it insists on."""
        repeats = self._spec.replicas > 1
        request = self.request()
        choice = self._pipeline.decide(request, str(task), repeats=repeats)
        first = choice
        given_up: list[str] = []
        shape = self._shape
        while choice.row is None and shape.insists:
            shape, words = shape.relaxed()
            given_up += words
            request = replace(request, shape=shape)
            choice = self._pipeline.decide(request, str(task), repeats=repeats)
            choice.explanation.notes = (*choice.explanation.notes, f"gave up: {'; '.join(given_up)}")
        return request, choice if choice.row is not None else first

    def request(self) -> Request:
        state = self._state
        asked = state.asked(self._shape, self._identity)
        request = self._pipeline.for_task(asked, _TRIAL_WORKLOAD, self._spec.replicas)
        if state.promises:
            promised = state.promises.left_for(self._owner, self._spec.namespace, self._run_s, self._now)
            if promised is not None:
                return replace(request, promised=promised)
        return request

    def _place(self, task: TaskId, request: Request, row: int, slots: Slots | None) -> None:
        state, now = self._state, self._now
        before = state.cluster.changes
        state.cluster.place(
            *(task, row, request.column, self._shape.service_key),
            identity=self._identity,
            gpus=request.shape.gpus,
            slots=slots,
        )
        self._pipeline.placed(request, row)
        if state.promises:
            end = NEVER if self._run_s is None else now + self._run_s
            state.promises.placed(row, request.column, end, now, before)


def expected_run_s(state: EngineState, spec: Workload, shape: Shape) -> float | None:
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


def _victim(state: EngineState, task: TaskId, now: float) -> Victim:
    work, placement = state.work[task.workload], state.cluster.placements.by_task[task]
    victim_info = placement.victim_info
    ran_s = max(0.0, now - victim_info.since)
    lost_s = ran_s % victim_info.checkpoint_s if victim_info.checkpoint_s else ran_s
    node = state.cluster.names[placement.row]
    return Victim(task, work.namespace, work.name, _PRIORITIES[work.rank], node, lost_s)
