"""What would change: a snapshot is played twice, as it is and with the changes, and the differences are listed.

Both runs have the same seed and the same guessed run times, so what differs comes from the changes. Times are seconds
from the snapshot on. Guarantees: plain data; every list has at most `MOST_LISTED` entries, beside the count of all.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dovetail.model.command import Bind, Command
from dovetail.model.event import Event
from dovetail.model.task import TaskId, WorkloadState
from dovetail.model.text.listing import count
from dovetail.model.text.quantity import format_duration
from dovetail.simulate.cases import figures_of
from dovetail.simulate.changes import ClusterChanges
from dovetail.simulate.going_on import simulation_from, with_profile
from dovetail.simulate.ledger import SimulationLedger, WorkloadLife
from dovetail.simulate.outcome import SimulationOutcome
from dovetail.snapshots.document import SnapshotDocument

MOST_LISTED = 50
LEAST_DIFFERENCE_S = 1.0
DEFAULT_HORIZON_S = 6 * 3600.0
_SHOWN_RESOURCES = ("cpu", "memory", "gpu")

Key = tuple[str, str]


@dataclass(slots=True)
class _Binds:
    """Where tasks went: the first and the last node that each was bound to since the snapshot."""

    first: dict[TaskId, tuple[float, str]] = field(default_factory=dict)

    def watch(self, now: float, _: Event, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, Bind):
                self.first.setdefault(command.task, (now, command.node))


class _Run(NamedTuple):
    outcome: SimulationOutcome
    ledger: SimulationLedger
    binds: _Binds
    profile: str

    def by_key(self) -> dict[Key, WorkloadLife]:
        return {(life.namespace, life.name): life for life in self.outcome.lives}


def what_if(
    document: SnapshotDocument, changes: ClusterChanges, horizon_s: float = DEFAULT_HORIZON_S, seed: int = 0
) -> dict[str, Any]:
    """Raises Unplayable for changes that make no sense."""
    after = _played(document, changes, horizon_s, seed)  # first: it says what is wrong
    before = _played(document, ClusterChanges(), horizon_s, seed)
    span_s = max(before.outcome.ended_at_s, after.outcome.ended_at_s)
    differences = _differences(document, before, after, span_s)
    return {
        "taken_at": document.taken_at,
        "horizon_s": horizon_s,
        "before": _summary(before, span_s),
        "after": _summary(after, span_s),
        "differences": differences,
        "sentences": _sentences(differences, changes, horizon_s),
    }


def _played(document: SnapshotDocument, changes: ClusterChanges, horizon_s: float, seed: int) -> _Run:
    binds = _Binds()
    simulation = simulation_from(document, changes, seed, horizon_s=horizon_s, watch=binds.watch)
    profile = with_profile(document.settings, changes).default_profile
    return _Run(simulation.run(), simulation.ledger, binds, profile)


def _used(run: _Run, span_s: float) -> dict[str, float]:
    """Over the same time in both runs: a run that ends sooner uses nothing afterwards."""
    outcome = run.outcome
    part = outcome.ended_at_s / span_s if span_s else 1.0
    return {
        name: round(outcome.utilisation[name].mean * part, 4)
        for name in _SHOWN_RESOURCES
        if name in outcome.utilisation
    }


def _summary(run: _Run, span_s: float) -> dict[str, Any]:
    outcome, use = run.outcome, _used(run, span_s)
    figures = {name: _rounded(value) for name, value in figures_of(outcome).items()}
    figures |= {f"{name}_utilisation": use.get(name) for name in ("cpu", "gpu")}
    return {
        "profile": run.profile,
        "workloads": outcome.workloads,
        "waiting_at_the_end": sum(run.ledger.pending(life.id) > 0 for life in outcome.lives),
        "utilisation": use,
        "figures": figures,
    }


def _rounded(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value


# --- differences ---------------------------------------------------------------------------------------------------


def _differences(document: SnapshotDocument, before: _Run, after: _Run, span_s: float) -> dict[str, Any]:
    gone = {(life.namespace, life.name) for life in after.outcome.lives if life.reason == "cancelled"}
    ours = before.by_key()
    started, delayed, unplaced, preempted, failed = [], [], [], [], []
    now_used = _used(after, span_s)
    for key, life in after.by_key().items():
        if key in gone:
            continue
        old = ours.get(key)
        was, now = _start(old), _start(life)
        if life.state is WorkloadState.FAILED and (old is None or old.state is not WorkloadState.FAILED):
            failed.append(_entry(life, was, now) | {"why": life.message or life.reason})
            continue
        if now is None or (after.ledger.pending(life.id) and life.all_placed_at is not None):
            if old is None or not before.ledger.pending(old.id):
                unplaced.append(_entry(life, was, None) | {"why": life.message or life.reason})
        elif was is None or now < was - LEAST_DIFFERENCE_S:
            started.append(_entry(life, was, now))
        elif now > was + LEAST_DIFFERENCE_S:
            delayed.append(_entry(life, was, now))
        fewer = 0 if old is None else old.preempted
        if life.preempted > fewer:
            preempted.append(_entry(life, was, now) | {"why": _preempted(life.preempted, fewer)})
    started.sort(key=lambda one: (one["before_s"] is not None, (one["after_s"] or 0.0) - (one["before_s"] or 0.0)))
    delayed.sort(key=lambda one: one["before_s"] - one["after_s"])
    moved = _moved(document, before, after, gone)
    return {
        "started": _bounded(started),
        "delayed": _bounded(delayed),
        "moved": _bounded(moved),
        "unplaced": _bounded(unplaced),
        "preempted": _bounded(preempted),
        "failed": _bounded(failed),
        "placed_elsewhere": _elsewhere(before, after),
        "utilisation": {
            name: {"before": was_used, "after": now_used[name]}
            for name, was_used in _used(before, span_s).items()
            if name in now_used
        },
    }


def _start(life: WorkloadLife | None) -> float | None:
    """When all its tasks have a node; before the snapshot counts as then."""
    return None if life is None or life.all_placed_at is None else max(0.0, life.all_placed_at)


def _entry(life: WorkloadLife, was: float | None, now: float | None) -> dict[str, Any]:
    return {
        "id": life.id,
        "namespace": life.namespace,
        "name": life.name,
        "before_s": _rounded(was),
        "after_s": _rounded(now),
    }


def _preempted(times: int, before: int) -> str:
    instead = f" instead of {before:,}" if before else ""
    return f"{count(times, 'preemption')} of its tasks{instead}"


def _moved(document: SnapshotDocument, before: _Run, after: _Run, gone: set[Key]) -> list[dict[str, Any]]:
    """Tasks that run now and would have to run elsewhere."""
    found = []
    for work in document.workloads:
        key = (work.definition.namespace, work.definition.name)
        for task in work.tasks:
            id_ = TaskId(work.id, task.replica)
            bound = after.binds.first.get(id_)
            if not task.state.holds_node or bound is None or id_ in before.binds.first or key in gone:
                continue
            at, node = bound
            place = {"namespace": key[0], "name": key[1], "id": work.id, "replica": task.replica}
            found.append(place | {"from": task.node, "to": node, "at_s": _rounded(at)})
    return found


def _elsewhere(before: _Run, after: _Run) -> int:
    """Tasks that wait now and would get another node, at whatever time."""
    ours = before.binds.first
    return sum(task in ours and ours[task][1] != node for task, (_, node) in after.binds.first.items())


def _bounded(entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {"count": len(entries), "items": entries[:MOST_LISTED]}


# --- in words ------------------------------------------------------------------------------------------------------


def _sentences(differences: dict[str, Any], changes: ClusterChanges, horizon_s: float) -> list[str]:
    """The most important first; one that says that nothing changes, if so."""
    found = [
        _told(differences["failed"], "would fail", ""),
        _told(differences["unplaced"], "would have no node within", format_duration(horizon_s)),
        *_times(differences),
        _told(differences["moved"], "would run elsewhere", "", noun="running task"),
        _told(differences["preempted"], "would be preempted", ""),
        *_use(differences["utilisation"]),
    ]
    told = [one for one in found if one]
    if told:
        return told
    what = "These changes make" if not changes.empty else "Without changes there is"
    return [f"{what} no difference within {format_duration(horizon_s)}."]


def _told(part: dict[str, Any], verb: str, rest: str, noun: str = "workload") -> str:
    if not part["count"]:
        return ""
    names = _names(part["items"])
    number = count(part["count"], noun)
    return f"{number} {verb}{' ' + rest if rest else ''}: {names}{_more(part)}."


def _times(differences: dict[str, Any]) -> Iterable[str]:
    for name, word in (("started", "sooner"), ("delayed", "later")):
        part = differences[name]
        if part["count"]:
            first = part["items"][0]
            both = first["before_s"] is not None
            by = f", {first['name']} by {format_duration(_gap(first))}" if both else f", {first['name']} among them"
            yield f"{count(part['count'], 'workload')} would start {word}{by}."


def _gap(entry: dict[str, Any]) -> float:
    return float(round(abs(entry["after_s"] - entry["before_s"])))


def _names(items: list[dict[str, Any]]) -> str:
    return ", ".join(dict.fromkeys(f"{one['namespace']}/{one['name']}" for one in items[:3]))


def _more(part: dict[str, Any]) -> str:
    return f" and {part['count'] - 3} more" if part["count"] > 3 else ""


def _use(utilisation: dict[str, dict[str, float]]) -> Iterable[str]:
    for name, use in utilisation.items():
        if abs(use["before"] - use["after"]) >= 0.01:
            yield f"{name} would be used {use['after']:.0%} instead of {use['before']:.0%}."
