"""Work that cannot be placed: its core is one and none is smaller, and whoever follows a suggestion has it placed."""

from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
from tests.examples import seeds
from tests.invariants import check_invariants
from tests.property.stalemate import WANTED, Stage

from dovetail.cluster.views.view import View
from dovetail.engine.gangs.requests import request_of
from dovetail.engine.pieces import whole
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work
from dovetail.engine.suggestions.requirements import (
    BACKEND,
    SPREAD,
    TAINTS,
    WORKLOAD_AFFINITY,
    Examination,
    WorkloadRequirement,
    requirements_of,
)
from dovetail.engine.suggestions.suggestions import MOST_SUGGESTIONS, Impasse, impasse
from dovetail.model.requests.asks import Tolerance
from dovetail.model.requests.shape import Shape
from dovetail.model.workloads.selection import TolerationOperator
from dovetail.model.workloads.workload import WorkloadKind

RARE = (106, 197, 286, 304)
"""Stages with suggestions that are missing from the first hundred: slices, affinity, queue, conflicts."""
KINDS = {
    *("resources", "labels", "tolerations", "backends", "constraints", "affinity", "conflicts", "replicas", "gang"),
    *("several", "queue", "priority", "wait", "evict", "uncordon", "topology", "slices"),
}


def stuck_stage(seed: int) -> Stage | None:
    stage = Stage(seed)
    stage.submit_wanted(stage.spec)
    return stage if stage.stuck and stage.work(WANTED).can_start else None


def asked(stage: Stage) -> Impasse:
    return whole(impasse(stage.engine._state, stage.spec, stage.work(WANTED), stage.now))


def test_the_core_is_minimal_and_whoever_follows_a_suggestion_has_it_placed() -> None:
    selector_count: Counter[str] = Counter()
    tried = (*RARE, *seeds(450))
    for seed in tried:
        stage = stuck_stage(seed)
        if stage is None:
            continue
        before = fingerprint(stage.engine._state)
        found = asked(stage)
        assert fingerprint(stage.engine._state) == before, f"seed {seed}: asking changed something"
        check_core(stage, found, f"seed {seed}")
        assert len(found.suggestions) <= MOST_SUGGESTIONS
        for suggestion in found.suggestions:
            selector_count[suggestion.kind] += 1
            follower = stuck_stage(seed)
            assert follower is not None
            follower.follow(suggestion)
            why = follower.engine._state.work[follower.ids[WANTED]].message
            assert follower.placed_whole, f"seed {seed}: {suggestion} did not help: {why}"
            check_invariants(follower.engine._state.cluster)
        selector_count["stuck"] += 1
        selector_count["with a suggestion"] += bool(found.suggestions)
    print(dict(selector_count))
    assert selector_count["stuck"] >= 0.6 * len(tried)
    assert selector_count["with a suggestion"] > selector_count["stuck"] // 2
    assert selector_count.keys() >= KINDS, "else this says less than it seems to"


def fingerprint(state: EngineState) -> object:
    """What a question must leave as it was."""
    cluster, n = state.cluster, state.cluster.width
    tables = cluster.resources
    return (
        tables.allocated[:, :n].tolist(),
        tables.free[:, :n].tolist(),
        tables.unseen[:, :n].tolist(),
        cluster.status.ready[:n].tolist(),
        cluster.status.cordoned[:n].tolist(),
        dict(cluster.status.cordon_reasons),
        sorted(cluster.status.drained),
        {task: (p.row, p.victim_info, p.identity) for task, p in cluster.placements.by_task.items()},
        [sorted(tasks) for tasks in cluster.placements.by_row],
        [state.accounts.usage.used(queue.code) for queue in state.router.queues.queues],
        [pipeline.cursor for pipeline in state.pipelines.values()],
        sorted(state.wake.queues_freed),
        dict(state.promises.of_work),
    )


def check_core(stage: Stage, found: Impasse, seed: str) -> None:
    """Against every smaller set of requirements, each held against the nodes as a whole shape."""
    state, work = stage.engine._state, stage.work(WANTED)
    requirements = requirements_of(work.shape, stage.spec)
    judge = Judge(state, work, stage.now)
    if not judge.nodes:
        assert not found.core
        return
    if not found.core:
        assert judge.some_node_has(requirements), f"{seed}: there is a core"
        return
    assert found.core_exact
    core = [one for one in requirements if (one.words, one.field) in {(m.requirement, m.field) for m in found.core}]
    assert len(core) == len(found.core), seed
    assert not judge.some_node_has(core), f"{seed}: {core} can be had together"
    for fewer in combinations(requirements, len(core) - 1):
        assert judge.some_node_has(fewer), f"{seed}: {[one.words for one in fewer]} is smaller than {found.core}"
    for one, member in zip(core, found.core, strict=True):
        assert judge.count([one]) == member.nodes_alone


class Judge:
    """Asks the filters about several requirements at once, as one shape."""

    def __init__(self, state: EngineState, work: Work, now: float) -> None:
        self._evaluator = state.pipelines[work.shape.profile].evaluator
        self._view = View(state.cluster)
        self._request = request_of(state, work, now)
        self._examination = Examination(self._evaluator, self._request, self._view)
        blank = Shape(
            (), WorkloadKind.JOB, work.shape.scheduler, work.shape.profile, work.shape.namespace, work.shape.service
        )
        bears_all = (Tolerance(None, TolerationOperator.EXISTS, "", None),)
        self._anything = replace(blank, tolerations=bears_all)
        self.nodes = self.count([])

    def count(self, requirements: list[WorkloadRequirement]) -> int:
        shape = self._anything
        mask = np.ones(self._view.size, dtype=np.bool_)
        for one in requirements:
            # Which domains count for a spread follows from all of its requirements; who keeps it away, from who it is.
            if one.filter in (SPREAD, WORKLOAD_AFFINITY):
                mask &= self._examination.satisfies(one)
            else:
                shape = joined(shape, one)
        needs = {name: float(amount) for name, amount in shape.amounts}
        request = replace(self._request, shape=shape, needs=needs, promised=None, repelled=())
        return int(np.count_nonzero(self._evaluator.run_filters(request, self._view).alive & mask))

    def some_node_has(self, requirements: object) -> bool:
        return self.count(list(requirements)) > 0  # type: ignore[call-overload]


def joined(shape: Shape, one: WorkloadRequirement) -> Shape:
    more = one.shape
    return replace(
        shape,
        amounts=(*shape.amounts, *more.amounts),
        kind=more.kind if one.filter == BACKEND and not more.backends else shape.kind,
        backends=shape.backends or more.backends,
        node_selector=(*shape.node_selector, *more.node_selector),
        required=shape.required or more.required,
        tolerations=more.tolerations if one.filter == TAINTS else shape.tolerations,
        wants=(*shape.wants, *more.wants),
    )
