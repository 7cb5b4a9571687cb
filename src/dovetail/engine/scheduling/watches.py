"""Watches: what parked work waits for beside free capacity on a node.

Most work waits only for capacity on a changed row. Work with affinity, spread or expressions about other nodes may fit
when something changes elsewhere: it is woken when a selector count that it watches changed, or something in a domain
of a level that it watches.
Guarantees: no work is woken twice for the same events, so two workloads that fail cannot wake each other endlessly.
"""

import numpy as np

from dovetail.cluster.arrays import Rows
from dovetail.cluster.change_log import STATUS
from dovetail.cluster.network.domains import SINGLE, level_column
from dovetail.cluster.selector_counts import Counted
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.pending_work import EquivalenceClass, Watch
from dovetail.engine.state.work import Work
from dovetail.placement.contract import OWN_NODE, WakeSignals


def needs_watch(state: EngineState, work: Work) -> bool:
    """May it fit later on a node on which no task ended?"""
    return state.asked(work.shape, work.identity).non_local or bool(_signals(state, work))


def watch_for_changes(state: EngineState, work: Work, class_: EquivalenceClass) -> None:
    """Watch for changes that concern this equivalence class, whose work was just parked."""
    works = [work] if work.group is None else [part.work for part in work.group.parts()] or [work]
    signals = OWN_NODE
    for one in works:
        signals |= _signals(state, one)
    if not signals:
        state.wake.watches.pop(class_, None)
        return
    now = _versions(state, signals.counted), _nodes(state), state.wake.event_count
    state.wake.watches[class_] = Watch(signals.counted, signals.levels, signals.anything, *now)


def _signals(state: EngineState, work: Work) -> WakeSignals:
    """What its filters wait for."""
    return state.pipelines[work.shape.profile].evaluator.wake_signals(state.asked(work.shape, work.identity))


def rows_to_wake(state: EngineState, watch: Watch, rows: Rows) -> Rows:
    """Rows on which work with this watch may fit now, given the changed `rows`."""
    if watch.event_count != state.wake.event_count and (
        watch.anything or _nodes(state) != watch.nodes or _versions(state, watch.counted) != watch.versions
    ):
        return np.arange(state.cluster.width)
    return _expand_to_domains(state, rows, watch.levels) if len(rows) else rows


def _nodes(state: EngineState) -> tuple[int, ...]:
    """Changes when nodes join, leave or change status, which affects spread and distances on any row."""
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
