"""Quarantine: a node on which placements keep failing gets no tasks for a while, then is tried again.

Only what is not the workload's own fault counts (`FailureCause`), so that one user cannot take a node from the others:

- failures that the backend puts down to the node count each, whoever meets them: `failures` of them are enough;
- failures of unknown cause count once for each workload: `workloads` of them are enough, of two owners or more.

A task that starts there clears the count, and so does time (`window`). Quarantines are not persisted: after a restart,
the first placements serve as the probe.
"""

from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.node_failures import FailingWorkload, NodeFailures
from dovetail.engine.state.timers import TimerKind
from dovetail.engine.state.work import Work
from dovetail.model.command import Command
from dovetail.model.failure_cause import FailureCause
from dovetail.model.text.listing import count, first_of
from dovetail.model.text.quantity import format_duration
from dovetail.queueing.settings import QuarantineSettings

UNRELATED_OWNERS = 2
_MOST_NAMES = 3


def placement_failed(
    state: EngineState, node: str | None, work: Work, reason: str, cause: FailureCause, now: float
) -> None:
    """A task placed on the node could not be started."""
    if node not in state.cluster.rows or cause in (FailureCause.WORKLOAD, FailureCause.BACKEND):
        return
    assert node is not None
    settings = state.settings.quarantine
    failures = state.node_failures.setdefault(node, NodeFailures())
    failures.forget_before(now - settings.window)
    failing = failures.failing.setdefault(work.id, FailingWorkload(f"{work.namespace}/{work.name}", state.owner(work)))
    failing.times += 1
    failing.certain += cause is FailureCause.NODE
    failing.last_at, failing.reason = now, reason
    if failures.until is None and (failures.on_probation or _is_at_fault(failures, settings)):
        _quarantine(state, node, failures, now)


def _is_at_fault(failures: NodeFailures, settings: QuarantineSettings) -> bool:
    """Whether the node is to blame, rather than what runs there."""
    if failures.certain >= settings.failures:
        return True
    return len(failures.failing) >= settings.workloads and failures.owners >= UNRELATED_OWNERS


def _quarantine(state: EngineState, node: str, failures: NodeFailures, now: float) -> None:
    settings = state.settings.quarantine
    pause_s = min(settings.pause * 2.0 ** min(failures.quarantines, 60), settings.most)
    failures.quarantines += 1
    failures.since, failures.until, failures.on_probation = now, now + pause_s, False
    state.cluster.set_quarantined(node, f"quarantined for {format_duration(pause_s)}: {_in_words(failures)}")
    state.changes.nodes[node] = None
    state.changes.quarantined += 1
    state.timers.set(TimerKind.PROBE, node, now + pause_s)


def _in_words(failures: NodeFailures) -> str:
    """`5 placements of lab/a and lab/b failed there, last: no space left on device`."""
    latest = failures.latest()
    names = first_of([one.name for one in latest], _MOST_NAMES)
    return f"{count(failures.times, 'placement')} of {names} failed there, last: {latest[0].reason}"


def placement_succeeded(state: EngineState, node: str | None) -> None:
    """A task started on the node: the node works."""
    if node is not None and node in state.node_failures:
        end_quarantine(state, node)


def probe(state: EngineState, node: str, now: float) -> list[Command]:  # noqa: ARG001 - as all timer handlers
    """The quarantine is over. One more failure that is not the workload's own starts the next, longer one."""
    failures = state.node_failures.get(node)
    if failures is not None and failures.until is not None:
        failures.until, failures.on_probation = None, True
        failures.failing.clear()
        _lift(state, node)
    return []


def end_quarantine(state: EngineState, node: str) -> None:
    """The node works again: its failures are forgotten."""
    failures = state.node_failures.pop(node, None)
    if failures is not None and failures.until is not None:
        state.timers.clear(TimerKind.PROBE, node)
        _lift(state, node)


def _lift(state: EngineState, node: str) -> None:
    state.cluster.set_quarantined(node, "")
    state.changes.nodes[node] = None
    state.wake.dirty_rows.add(state.cluster.rows[node])
