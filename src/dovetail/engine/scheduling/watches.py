"""What work that was set aside waits for beside room on a node: other work that comes or goes, in its domain or
anywhere, or amounts that its expressions look at.

Room on a changed row is all that most work waits for. Work that looks beyond a node's own row may be let in, or find
the company it needs, when something changes elsewhere; it is looked at again when a tally it follows has changed, and
when something changed in a domain that it looks at.
Guarantees: nothing is looked at twice for the same news, so that two that try in vain never wake each other for ever.
"""

import numpy as np

from dovetail.cluster.arrays import Rows
from dovetail.cluster.network.domains import SINGLE, level_column
from dovetail.cluster.selector_counts import Counted
from dovetail.cluster.state import STATUS
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.pending_work import EquivalenceClass, Watch
from dovetail.engine.state.work import Work
from dovetail.placement.contract import OWN_NODE, WakeSignals


def is_woken_elsewhere(state: EngineState, work: Work) -> bool:
    """May it fit one day on a node on which nothing has ended?"""
    return state.asked(work.shape, work.identity).non_local or bool(_signals(state, work))


def watch_for_changes(state: EngineState, work: Work, kind: EquivalenceClass) -> None:
    """Keep watch for work of this kind, which has just been set aside."""
    works = [work] if work.group is None else [part.work for part in work.group.parts()] or [work]
    signals = OWN_NODE
    for one in works:
        signals |= _signals(state, one)
    if not signals:
        state.wake.watches.pop(kind, None)
        return
    state.wake.watches[kind] = Watch(
        signals.counted,
        signals.levels,
        signals.anything,
        _versions(state, signals.counted),
        _nodes(state),
        state.wake.event_count,
    )


def _signals(state: EngineState, work: Work) -> WakeSignals:
    """What its filters wait for."""
    return state.pipelines[work.shape.profile].evaluator.wake_signals(state.asked(work.shape, work.identity))


def rows_to_wake(state: EngineState, watch: Watch, rows: Rows) -> Rows | None:
    """Rows on which work with this watch may fit now, as far as what it watches is concerned; None: on no row. `rows`
    are those that changed."""
    if watch.event_count != state.wake.event_count and _has_changed(state, watch):
        return np.arange(state.cluster.width)
    if not len(rows):
        return None
    return _with_domains(state, rows, watch.levels)


def _has_changed(state: EngineState, watch: Watch) -> bool:
    """Something that may matter on any row. A node that comes or goes, or may take work or not any longer, changes what
    an even spread is, and distances."""
    return watch.anything or _nodes(state) != watch.nodes or _versions(state, watch.counted) != watch.versions


def _nodes(state: EngineState) -> tuple[int, ...]:
    cluster = state.cluster
    return cluster.generation, cluster.epoch, len(cluster.log[STATUS])


def _with_domains(state: EngineState, rows: Rows, levels: frozenset[str]) -> Rows:
    """The rows, and all that share a domain of one of the levels with one of them."""
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
