"""Quarantine: a node on which placements keep failing gets no tasks for a while, then is tried again.

Quarantines are not persisted: after a restart, the first placements serve as the probe.
"""

from dovetail.engine.state.engine_state import EngineState, NodeFailures
from dovetail.engine.state.timers import TimerKind
from dovetail.model.command import Command


def placement_failed(state: EngineState, node: str | None, reason: str, now: float) -> None:
    """A task placed on the node could not be started."""
    if node is None or node not in state.cluster.rows:
        return
    settings = state.settings.quarantine
    trouble = state.trouble.setdefault(node, NodeFailures())
    trouble.failures += 1
    if trouble.failures < settings.failures or node in state.cluster.quarantines:
        return
    pause_s = min(settings.pause * 2.0 ** min(trouble.quarantines, 60), settings.most)
    trouble.quarantines += 1
    words = f"quarantined for {pause_s:g} s: {trouble.failures} placements in a row failed there, last: {reason}"
    state.cluster.set_quarantined(node, words)
    state.changes.nodes[node] = None
    state.timers.set(TimerKind.PROBE, node, now + pause_s)


def placement_succeeded(state: EngineState, node: str | None) -> None:
    """A task was bound on the node: the node works again."""
    if node is not None and state.trouble.pop(node, None) is not None and node in state.cluster.quarantines:
        lift_quarantine(state, node)


def probe(state: EngineState, node: str, now: float) -> list[Command]:  # noqa: ARG001 - as all timer handlers
    """The quarantine is over. One more failure starts the next, longer one."""
    if node in state.cluster.quarantines:
        state.trouble[node].failures = state.settings.quarantine.failures - 1
        lift_quarantine(state, node)
    return []


def lift_quarantine(state: EngineState, node: str) -> None:
    state.cluster.set_quarantined(node, "")
    state.changes.nodes[node] = None
    state.wake.dirty_rows.add(state.cluster.rows[node])
