"""The next step of a service: which replicas to create, to take out of traffic, to stop; whether an update succeeded.

Called again after every change. It looks only at what is, so it goes on after a restart where it was.

    rolling      create a new replica beside, or in place of, an old one of the same index; stop the old one when
                 enough are ready
    blue-green   create all new ones; when all are ready traffic moves to them, and the old ones stop

Guarantees: at most `max_surge` more replicas than asked for, and never fewer ready ones than `max_unavailable` allows
because of an update. Scaling down stops the highest index first. A replica gets no traffic for `drain` seconds before
it is stopped.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dovetail.model.services.service import Update, UpdateStrategy
from dovetail.services.records import (
    Action,
    Create,
    Drain,
    NextStep,
    ReplicaSeen,
    RolloutState,
    ServiceRecord,
    StopReplica,
)

CRASHES_THAT_FAIL_AN_UPDATE = 3


def next_step(
    record: ServiceRecord, seen: Iterable[ReplicaSeen], now: float, not_before: Mapping[int, float] | None = None
) -> NextStep:
    """`not_before`: when the replica of an index may be created again, after one of it has ended by itself."""
    replicas = list(seen)
    update = record.spec.update
    if record.removed:
        actions: list[Action] = [Drain(one.workload) for one in replicas if one.is_live]
        return _with_stops(NextStep(record, actions), replicas, update, now, "its service was removed")
    record = _judged(record, replicas, update, now)
    update = record.spec.update
    if update.strategy is UpdateStrategy.BLUE_GREEN:
        step = _blue_green(record, replicas, update, now)
    else:
        step = _rolling(replace(record, active=0), replicas, update, now)
    return _with_stops(_held_back(step, not_before or {}, now), replicas, update, now, "its service needs it no more")


def _counts(one: ReplicaSeen, update: Update, now: float) -> bool:
    """Ready for long enough."""
    return one.ready_since is not None and now - one.ready_since >= update.min_ready


def _of_target(record: ServiceRecord, replicas: list[ReplicaSeen]) -> tuple[dict[int, ReplicaSeen], list[ReplicaSeen]]:
    """Live replicas of the target by index, and the other live ones by index."""
    live = [one for one in replicas if one.is_live]
    new = {one.index: one for one in live if one.revision == record.target}
    return new, sorted((one for one in live if one.revision != record.target), key=lambda one: one.index)


def _missing(record: ServiceRecord, replicas: list[ReplicaSeen], new: Mapping[int, ReplicaSeen]) -> list[int]:
    """Indices without a replica of the target. One that is going still has the name of its successor."""
    going = {one.index for one in replicas if one.revision == record.target and not one.is_live}
    return [index for index in range(record.replicas) if index not in new and index not in going]


def _rolling(record: ServiceRecord, replicas: list[ReplicaSeen], update: Update, now: float) -> NextStep:
    wanted, (new, old) = record.replicas, _of_target(record, replicas)
    actions: list[Action] = [Drain(new.pop(index).workload) for index in sorted(new, reverse=True) if index >= wanted]
    missing = _missing(record, replicas, new)
    room = wanted + update.max_surge - len(new) - len(old) if old else len(missing)
    actions += [Create(record.target, index) for index in missing[: max(0, room)]]
    available = sum(_counts(one, update, now) for one in new.values())
    available += sum(one.ready_since is not None for one in old)
    spare = available - (wanted - update.max_unavailable)
    replaced = [one for one in old if one.index in new and _counts(new[one.index], update, now)]
    for one in [*replaced, *(other for other in old if other not in replaced)]:
        if one.ready_since is None and not one.unknown and (one.index in new or one.index >= wanted or spare >= 0):
            actions.append(Drain(one.workload))  # it serves nobody
        elif spare > 0:
            actions.append(Drain(one.workload))
            spare -= 1
    return NextStep(record, actions, _min_ready_over(new.values(), update, now))


def _blue_green(record: ServiceRecord, replicas: list[ReplicaSeen], update: Update, now: float) -> NextStep:
    wanted, (new, old) = record.replicas, _of_target(record, replicas)
    actions: list[Action] = [Drain(new.pop(index).workload) for index in sorted(new, reverse=True) if index >= wanted]
    actions += [Create(record.target, index) for index in _missing(record, replicas, new)]
    complete = len(new) == wanted and all(_counts(one, update, now) for one in new.values())
    if complete or not old:
        record = replace(record, active=record.target)
        actions += [Drain(one.workload) for one in old]
    elif not record.active:
        record = replace(record, active=old[-1].revision)
    return NextStep(record, actions, _min_ready_over(new.values(), update, now))


def _min_ready_over(replicas: Iterable[ReplicaSeen], update: Update, now: float) -> float | None:
    due = [one.ready_since + update.min_ready for one in replicas if one.ready_since is not None]
    return min((at for at in due if at > now), default=None)


def _judged(record: ServiceRecord, replicas: list[ReplicaSeen], update: Update, now: float) -> ServiceRecord:
    """Has the update succeeded, got further, or failed?"""
    new, old = _of_target(record, replicas)
    ready = sum(_counts(one, update, now) for one in new.values())
    if ready >= record.replicas and not old:
        if record.rollout is RolloutState.ROLLED_BACK:
            return replace(record, best=ready)
        if record.rollout is not RolloutState.COMPLETE or record.stable != record.target:
            return replace(record, stable=record.target, rollout=RolloutState.COMPLETE, best=ready, message="")
        return record
    if record.rollout is not RolloutState.PROGRESSING:
        return record
    if ready > record.best:
        return replace(record, best=ready, progress_at=now)
    crashing = [one for one in new.values() if one.crashes >= CRASHES_THAT_FAIL_AN_UPDATE]
    late = now - record.progress_at > update.healthy_within
    if not crashing and not late:
        return record
    unwell = crashing or [one for one in new.values() if one.ready_since is None]
    why = (
        "; ".join(f"replica {one.index}: {one.trouble or 'not ready'}" for one in unwell[:2]) or "no replica is placed"
    )
    if update.rollback and record.stable and record.stable != record.target:
        message = f"revision {record.target} did not become healthy, back to revision {record.stable}: {why}"
        return record.aiming_at(record.stable, now, RolloutState.ROLLED_BACK, message)
    message = f"revision {record.target} does not become healthy: {why}"
    return replace(record, rollout=RolloutState.FAILED, message=message)


def _held_back(step: NextStep, not_before: Mapping[int, float], now: float) -> NextStep:
    """Without the replicas that have to wait before they are created again."""
    kept, waits = [], []
    for action in step.actions:
        if isinstance(action, Create) and not_before.get(action.index, now) > now:
            waits.append(not_before[action.index])
        else:
            kept.append(action)
    return replace(step, actions=kept, look_again_at=_earliest([step.look_again_at, *waits]))


def _with_stops(step: NextStep, replicas: list[ReplicaSeen], update: Update, now: float, why: str) -> NextStep:
    """And stop those that got no traffic for long enough."""
    stops, waits = [], []
    for one in replicas:
        if one.draining_since is None or one.stopping:
            continue
        if now - one.draining_since >= update.drain:
            stops.append(StopReplica(one.workload, why))
        else:
            waits.append(one.draining_since + update.drain)
    drained = [now + update.drain] if any(isinstance(one, Drain) for one in step.actions) else []
    due = _earliest([step.look_again_at, *waits, *drained])
    if step.record.rollout is RolloutState.PROGRESSING and not step.record.removed:
        due = _earliest([due, step.record.progress_at + update.healthy_within + 0.001])
    return replace(step, actions=[*step.actions, *stops], look_again_at=due)


def _earliest(times: Iterable[float | None]) -> float | None:
    return min((at for at in times if at is not None), default=None)
