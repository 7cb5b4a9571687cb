"""What would help besides other requirements: waiting, uncordoning, eviction, another queue, fewer tasks at once.
These are candidates, not yet checked.

Guarantees: no task is named that must not be disturbed (`disruption.allowed: false`, gangs, disruption budgets).
Left to others: whether a candidate helps (`fit_trial`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, islice

import numpy as np

from dovetail.cluster.arrays import B1, Rows
from dovetail.cluster.views.view import View
from dovetail.engine.gangs.gang_trial import places_to_clear
from dovetail.engine.gangs.headroom import Headroom
from dovetail.engine.planning.earliest_start import EarliestStart, soonest
from dovetail.engine.preemption.preempting import (
    LAST_TO_PREEMPT,
    PreemptionPlan,
    PreemptionRequest,
    cheapest_victims,
    plan_preemption,
)
from dovetail.engine.suggestions.changes import DefinitionChange, fewer_at_once, setting
from dovetail.engine.suggestions.fit_trial import FitTrial
from dovetail.engine.suggestions.requirements import Findings
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Priority
from dovetail.placement.contract import Request
from dovetail.placement.preemption.cheapest import cheapest
from dovetail.placement.preemption.victim_ledger import Victims
from dovetail.placement.preemption.victim_table import VictimArrays
from dovetail.queueing.quota import OverQuota

_MOST_VICTIMS_FOR = 4  # tasks at once for which others are looked for: for many it takes too long
_MOST_VICTIMS_FOR_GANG = 64  # with a layout: few domains could hold it, and each is looked at by itself
_MOST_DOMAINS = 3  # that are tried with the cheapest victims gone: they were searched by amounts alone
_MOST_ENDING = 200  # tasks whose end is waited for
_MOST_QUEUES = 2
_MOST_NODES = 2
_NAMED = 3
_COST_OF_ANOTHER = 3.0  # change: one harsh one is better than two mild ones
_UNITS_S = ((86400.0, "d"), (3600.0, "h"), (60.0, "m"))


@dataclass(frozen=True, slots=True)
class Measure:
    """Something to do, or changes of the definition. `tasks` would be gone, `node` uncordoned."""

    words: str
    kind: str
    cost: float
    action: dict[str, object] | None = None
    changes: tuple[DefinitionChange, ...] = ()
    tasks: tuple[TaskId, ...] = ()
    node: str | None = None
    at: float | None = None


def changing(*changes: DefinitionChange, tasks: tuple[TaskId, ...] = ()) -> Measure:
    """The workload defined otherwise, by changes that belong together."""
    words = " and ".join(change.words for change in changes)
    kind = changes[0].kind if len(changes) == 1 else "several"
    cost = sum(change.cost for change in changes) + _COST_OF_ANOTHER * (len(changes) - 1)
    return Measure(words, kind, cost, changes=changes, tasks=tasks)


class Measures:
    def __init__(self, trial: FitTrial, over: OverQuota | None) -> None:
        self._trial, self._over = trial, over
        self._state, self._spec, self._now = trial.state, trial.spec, trial.now
        self._wanted = trial.wanted

    def candidates(self, closed: Findings, headroom: Headroom, fit: int) -> Iterator[Measure]:
        """`closed`: findings on nodes that take no new work; `fit`: how many of its tasks fit already."""
        if self._over is not None:
            yield from self._other_queues()
        if fit < self._wanted and self._trial.held + fit > 0:
            yield changing(fewer_at_once(self._spec, self._trial.held + fit))
        yield from self._uncordon(closed, headroom)
        if self._over is None:
            yield from self._capacity_measures()

    def _capacity_measures(self) -> Iterator[Measure]:
        request = self._trial.request(self._trial.shape.least)
        evaluator = self._state.pipelines[request.shape.profile].evaluator
        places = evaluator.run_filters(request, View(self._state.cluster)).feasible_ignoring_capacity
        if places.any():
            yield from self._wait(places)
            most = _MOST_VICTIMS_FOR if self._trial.shape.layout is None else _MOST_VICTIMS_FOR_GANG
            if self._wanted <= most:
                yield from self._evict_others(places)

    def _domains(self, request: Request) -> list[Request]:
        """Where it could be with all its tasks: anywhere, or in one domain of those that it must be in."""
        if self._spec.gang is None or self._trial.held:
            return [request]
        return places_to_clear(self._state, self._trial.subject(request.shape), request, self._wanted)

    # --- time ------------------------------------------------------------------------------------------------

    def _wait(self, places: B1) -> Iterator[Measure]:
        """Wait until enough of the running tasks have ended, if their ends are known."""
        state, request = self._state, self._trial.request()
        found: EarliestStart | None = None
        for place in self._domains(request) if len(state.ends) else []:
            here = places if place.among is None else places & place.among
            there = soonest(state, here, request.column, self._wanted, self._now)
            if there is not None and (found is None or there.at < found.at):
                found = there
        if found is None:
            return
        gone = list(found.here)
        if request.non_local:  # what happens elsewhere meanwhile matters too
            ends = state.ends
            gone = [task for task in ends.tasks() if (end := ends.at(task)) is not None and end <= found.at]
        if len(gone) <= _MOST_ENDING:
            yield self._waiting(list(found.here), gone, found.at)

    def _waiting(self, here: list[TaskId], gone: list[TaskId], until: float) -> Measure:
        in_s = until - self._now
        rows = dict.fromkeys(self._state.cluster.placements.by_task[task].row for task in here)
        where = _names([self._state.cluster.names[row] for row in rows])
        tasks = f"{len(here):,} task{'' if len(here) == 1 else 's'}"
        words = f"wait about {_span(in_s)}: {tasks} on {where} will have ended"
        cost = 1.5 + min(1.0, in_s / 86400)
        return Measure(words, "wait", cost, {"wait_until": until}, tasks=tuple(gone), at=until)

    # --- others ----------------------------------------------------------------------------------------------

    def _evict_others(self, places: B1) -> Iterator[Measure]:
        """The cheapest of all that may be disturbed, however urgent."""
        state, own = self._state, self._trial.owner
        request = self._trial.request(self._trial.shape.least)

        def eligible(victim_table: VictimArrays) -> B1:
            others: B1 = victim_table.group != own
            return victim_table.preemptible & others

        def find(place: Request) -> Victims | None:
            here = places if place.among is None else places & place.among
            victims = cheapest_victims(state, here, request, self._wanted, eligible, self._now)
            return victims if victims is not None and victims.tasks else None

        def fits(_: Request, victims: Victims) -> bool:
            return self._trial.fits_without(victims.tasks)

        domains = self._domains(request)
        found = cheapest(domains, find, fits if len(domains) > 1 else None, _MOST_DOMAINS)
        if found is None:
            return
        cost = 3.0 + 0.2 * (len(found.tasks) - 1)
        words = f"evict {self._victims(found.tasks)}"
        of_task = [(state.work[task.workload], task.replica) for task in found.tasks]
        named = [f"{work.namespace}/{work.name}.{replica}" for work, replica in of_task]
        yield Measure(words, "evict", cost, {"evict": named}, tasks=found.tasks)
        # The search takes no victim more urgent than it must: the priority must be above that class.
        ranks = [state.cluster.placements.by_task[task].victim_info.rank for task in found.tasks]
        yield from self._raise_priority(request, min(ranks) - 1)

    def _raise_priority(self, request: Request, rank: int) -> Iterator[Measure]:
        """Suggest a priority at which it may preempt by itself. Only for a single task or a gang: other tasks search
        one by one, and may not find the victims that were found for all."""
        state, spec, trial = self._state, self._spec, self._trial
        together = 1 if spec.gang is None else spec.gang.min
        may = state.pipelines[request.shape.profile].settings.preemption
        own = spec.priority.rank if trial.work is None else trial.work.rank
        rank = min(rank, LAST_TO_PREEMPT)
        if self._wanted != together or not may or trial.held or not 0 <= rank < own:
            return
        queue = state.router.queue(spec.queue, spec.namespace)
        claim = PreemptionRequest(request.shape, rank, queue, together, trial.owner)

        def find(place: Request) -> PreemptionPlan | None:
            room = plan_preemption(state, claim, self._now, place)
            return room if room is not None and room.tasks else None

        found = cheapest(self._domains(request), find)
        if found is not None:
            priority = tuple(Priority)[rank]
            words = f"raise its priority to {priority}: {self._victims(found.tasks)} would be preempted"
            change = DefinitionChange(words, "priority", 2.6, setting(str(priority), "priority"))
            yield changing(change, tasks=found.tasks)

    def _victims(self, tasks: tuple[TaskId, ...]) -> str:
        """`batch-7`, all of it; `web.0 and web.2`; `web (3 tasks)`."""
        words = []
        for workload, same in groupby(tasks, key=lambda task: task.workload):
            replicas = [task.replica for task in same]
            work = self._state.work[workload]
            if len(replicas) == work.holding:
                words.append(work.name)
            elif len(replicas) > _NAMED:
                words.append(f"{len(replicas)} tasks of {work.name}")
            else:
                words += [f"{work.name}.{replica}" for replica in replicas]
        return _names(words)

    # --- nodes -----------------------------------------------------------------------------------------------

    def _uncordon(self, closed: Findings, headroom: Headroom) -> Iterator[Measure]:
        """Nodes that would do if an operator let work go there again; not those that are being emptied."""
        cluster = self._state.cluster
        passing: Rows = closed.rows[~closed.fails.any(axis=0)] if len(closed.fails) else closed.rows
        quarantined = np.array(
            [cluster.names[row] in cluster.status.quarantines for row in passing.tolist()], dtype=np.bool_
        )
        rows = passing[(cluster.status.cordoned[passing] | quarantined) & cluster.status.online[passing]]
        if not len(rows):
            return
        needs = self._trial.request().needs
        copies = headroom.copies(rows, needs)
        for at in np.argsort(-copies, kind="stable")[:_MOST_NODES].tolist():
            name = cluster.names[int(rows[at])]
            if name in cluster.status.drained:
                continue
            why = cluster.status.cordon_reasons.get(name)
            told = f"cordoned: {why}" if why else cluster.status.quarantines.get(name)
            words = f"run dovetail uncordon {name}" + (f" ({told})" if told else "")
            yield Measure(words, "uncordon", 2.7, {"uncordon": name}, node=name)

    # --- its own definition ----------------------------------------------------------------------------------

    def _other_queues(self) -> Iterator[Measure]:
        """Queues that may take all of it now."""
        tree, spec = self._state.router.queues, self._spec
        own = self._state.router.queue(spec.queue, spec.namespace)
        amounts = {name: amount * self._wanted for name, amount in self._trial.shape.amounts}
        fitting = (
            tree[leaf].path
            for leaf in tree.leaves()
            if leaf != own and self._state.accounts.quotas.over(leaf, spec.user, amounts) is None
        )
        for path in islice(fitting, _MOST_QUEUES):
            words = f"submit it to queue {path}, which has capacity for it"
            yield changing(DefinitionChange(words, "queue", 2.2, setting(path, "queue")))


def _names(names: list[str]) -> str:
    """`a`, `a and b`, `a, b and 4 more`."""
    if len(names) > _NAMED:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def _span(seconds: float) -> str:
    for size, unit in _UNITS_S:
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
