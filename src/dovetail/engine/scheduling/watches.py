"""Watches: what parked work waits for beside free capacity on a node.

Most work waits only for capacity on a changed row. Work with affinity, spread or expressions about other nodes may fit
when something changes elsewhere: it is woken when a selector count that it watches changed, or something in a domain
of a level that it watches.
Guarantees: no work is woken twice for the same events, so two workloads that fail cannot wake each other for ever.
"""

import numpy as np

from dovetail.cluster.arrays import Rows
from dovetail.cluster.network.domains import SINGLE, level_column
from dovetail.cluster.selector_counts import Counted
from dovetail.cluster.state import PLACEMENTS, RESOURCES, STATUS
from dovetail.constraints.program import compile_node
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.pending_work import EquivalenceClass, Watch
from dovetail.engine.state.work import Work
from dovetail.model.requests.asks import AffinityRule, Selector
from dovetail.model.requests.shape import Shape


def needs_watch(state: EngineState, work: Work) -> bool:
    """Can it come to fit a node on which nothing changed?"""
    return state.asked(work.shape, work.identity).non_local or reads_amounts(work.shape)


def watch_for_changes(state: EngineState, work: Work, class_: EquivalenceClass) -> None:
    """Register what this class waits for; the workload was just parked."""
    works = [work] if work.group is None else [part.work for part in work.group.parts()]
    looking = [one for one in works if needs_watch(state, one)]
    if not looking:
        return
    counted: dict[Counted, None] = {}
    levels: set[str] = set()
    for one in looking:
        repelled = state.asked(one.shape, one.identity).repelled
        # Rules by distance are not bound to a domain.
        afar = [rule for rule in repelled if rule.distance is not None]
        counted |= dict.fromkeys([*_counted(one.shape), *afar])
        levels.update(_levels(one.shape, repelled))
    # A task that leaves any node may free bandwidth of shared links.
    anything = any(reads_amounts(one.shape) or one.shape.bandwidth_mbps for one in looking)
    if not counted and not levels and not anything:  # only preferences are non-local, and they never block work
        state.wake.watches.pop(class_, None)
        return
    state.wake.watches[class_] = Watch(
        tuple(counted),
        frozenset(levels),
        anything,
        _versions(state, tuple(counted)),
        _nodes(state),
        state.wake.event_count,
    )


def rows_to_wake(state: EngineState, watch: Watch, rows: Rows) -> Rows | None:
    """Rows on which work with this watch may fit now, given the changed `rows`. None: on none."""
    if watch.event_count != state.wake.event_count and _has_changed(state, watch):
        return np.arange(state.cluster.width)
    if not len(rows):
        return None
    return _expand_to_domains(state, rows, watch.levels)


def _has_changed(state: EngineState, watch: Watch) -> bool:
    """Did something change that matters on any row? Nodes that join, leave or change status affect spread and
    distances."""
    return watch.anything or _nodes(state) != watch.nodes or _versions(state, watch.counted) != watch.versions


def _nodes(state: EngineState) -> tuple[int, ...]:
    cluster = state.cluster
    return cluster.generation, cluster.epoch, len(cluster.log[STATUS])


def _expand_to_domains(state: EngineState, rows: Rows, levels: frozenset[str]) -> Rows:
    """The rows, and all rows that share a domain of one of the levels with them."""
    found = np.zeros(state.cluster.width, dtype=np.bool_)
    found[rows] = True
    for level in levels - SINGLE:
        column = level_column(state.cluster, level)
        if column is not None:
            codes = column.codes[: state.cluster.width]
            changed = np.zeros(len(column.vocabulary) + 1, dtype=np.bool_)
            changed[codes[rows]] = True
            changed[0] = False
            found |= changed[codes]
    return np.flatnonzero(found)


def _versions(state: EngineState, counted: tuple[Counted, ...]) -> tuple[int, ...]:
    return tuple([state.cluster.placements.selector_count(one).version for one in counted])


def _counted(shape: Shape) -> list[Counted]:
    """Selectors of work whose arrival or end anywhere may make it fit."""
    found: list[Counted] = [whom for rule in shape.company if rule.weight is None for whom in rule.whom]
    found += [whom for even in shape.spread if even.weight is None for whom in even.whom]
    if shape.kubernetes is not None:
        found += shape.kubernetes.counted()
    for want in shape.wants:
        if want.must_hold:
            names = sorted(compile_node(want.text).workloads)
            found += [Selector((shape.namespace,), workload=name) for name in names]
    return found


def _levels(shape: Shape, repelled: tuple[AffinityRule, ...]) -> list[str]:
    found = [rule.level for rule in (*shape.company, *repelled) if rule.weight is None]
    found += [even.level for even in shape.spread if even.weight is None]
    return found + [level for want in shape.wants if want.must_hold for level in compile_node(want.text).levels]


def reads_amounts(shape: Shape) -> bool:
    """Does an expression depend on allocations? `domain("leaf").allocated.gpu > 0` may hold after a placement."""
    wants = [compile_node(want.text) for want in shape.wants if want.must_hold]
    return any(program.reads & {RESOURCES, PLACEMENTS} for program in wants)
