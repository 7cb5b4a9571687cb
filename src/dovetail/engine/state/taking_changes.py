"""Handing over what changed: records for the store, or decisions alone for adapters that keep none.

Finished work is dropped here, when its last record has been handed over.
"""

import json

from dovetail.engine.state.change_log import ChangeLog
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work
from dovetail.model.batch import Changes
from dovetail.model.record import Decision
from dovetail.model.task import WorkloadState

_ENDED_KEPT = 10_000


def take_changes(state: EngineState, now: float) -> Changes:
    """Everything that changed since the last call, each record once. Finished work is dropped here."""
    log = state.changes
    changes = Changes(decisions=log.decisions, attempts=log.attempts, ended_together=log.ended_together)
    changes.preempted, changes.quarantined = log.preempted, log.quarantined
    _take_work(state, changes, now)
    _take_nodes(state, changes)
    for id_ in log.reservations:
        if id_ in state.reservations:
            changes.reservations.append(state.reservations[id_])
        else:
            changes.reservations_gone.append(id_)
    changes.recoveries, state.recoveries.notes = state.recoveries.notes, []
    changes.policies, state.policies.records = state.policies.records, []
    changes.switches, state.policies.switches = state.policies.switches, []
    if (adjusted := state.policies.take_memory()) is not None:
        changes.memory["policies"] = adjusted
    for name in log.network:
        changes.memory[name] = state.memory.text(name)
    changes.cursors = state.pipelines.take_cursors()
    state.changes = ChangeLog()
    return changes


def _take_work(state: EngineState, changes: Changes, now: float) -> None:
    for task in state.changes.tasks:
        work = state.work.get(task.workload)
        if work is not None:
            changes.tasks.append(work.task(task.replica).record(task))
    for id_ in state.changes.workloads:
        work = state.work.get(id_)
        if work is None:
            continue
        record = work.record(now)
        if record != work.last_record:
            work.last_record = record
            changes.workloads.append(record)
        if record.state.finished:
            _forget(state, work, record.state)
    for id_ in state.changes.notes:  # last: dropping a workload may change the notes of its group
        work = state.work.get(id_)
        if work is not None:
            changes.notes[id_] = _notes(work, state.recoveries.targets(id_))


def _take_nodes(state: EngineState, changes: Changes) -> None:
    log, rows = state.changes, state.cluster.rows
    changes.nodes = [state.cluster.record(name) for name in log.nodes if name in rows]
    changes.nodes_gone = [name for name in log.gone_nodes if name not in rows]
    # A node that left and came back starts without statistics: overwrite the stored ones.
    counted = log.outcomes | log.gone_nodes
    changes.outcomes = {name: state.cluster.outcomes(name) for name in counted if name in rows}


def take_decisions(state: EngineState) -> list[Decision]:
    """The decisions since the last call, for adapters that keep no records. Finished work is dropped here without a
    trace: such adapters submit no work that depends on other work."""
    decisions = state.changes.decisions
    for id_ in state.changes.workloads:
        work = state.work.get(id_)
        if work is not None and work.done == work.replicas:
            _drop(state, work)
    state.changes = ChangeLog()
    state.cluster.trim_log()
    return decisions


def _forget(state: EngineState, work: Work, ended: WorkloadState) -> None:
    _drop(state, work)
    state.ended[work.key] = (work.id, ended)
    state.ended.move_to_end(work.key)
    if len(state.ended) > _ENDED_KEPT:
        state.ended.popitem(last=False)


def _drop(state: EngineState, work: Work) -> None:
    del state.work[work.id]
    state.talkers.forget(work)
    if (group := state.groups.forget(work)) is not None:
        state.changes.notes.update(dict.fromkeys(group.members))
    state.learned.expected_starts.pop(work.id, None)
    state.budgeted.pop(work.id, None)
    state.timetable.forget(work.id)
    if state.cluster.placements.directory.get(work.key, (None, 0))[0] == work.id:
        del state.cluster.placements.directory[work.key]


def _notes(work: Work, targets: dict[int, str]) -> str:
    """What a restart needs to know of a workload beyond its definition and its tasks."""
    found: dict[str, object] = {"rank": work.rank, "after": work.after, "delayed": work.delayed}
    if work.group is not None and not work.group.is_solo:
        found["group"] = work.group.notes()
    if work.recovery is not None:
        found["recovery"] = {"since": work.recovery.since, "lost": work.recovery.lost}
    if work.ending is not None:
        found["ending"] = [work.ending.state, work.ending.reason, work.ending.message]
    if targets:
        found["moves"] = targets
    if work.nominations is not None:
        found["application"] = [work.nominations, work.application]
    return json.dumps(found)
