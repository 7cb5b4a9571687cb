"""Deciding a recorded day again, event by event, and comparing each decision with the recorded one.

The engine is deterministic: the same state and events give the same decisions. Where one differs, something was
missing, and the difference says what: an event that was too large to record, a checkpoint from the middle of a run,
or another version of the program.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from dovetail import __version__
from dovetail.model.workloads.workload import Workload
from dovetail.recordings.segment import RecordedDecision, RecordedStep, Segment
from dovetail.replaying.day import RecordedDay
from dovetail.replaying.observed_engine import ObservedEngine
from dovetail.simulate.outcome import SimulationOutcome

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class UnlikeRecorded:
    """A decision that came out differently, or only on one side (None)."""

    at: float
    recorded: RecordedDecision | None
    replayed: RecordedDecision | None
    why: str


@dataclass(slots=True)
class Reproduction:
    """`placements`: the recorded nodes in order of time, as (at, workload, replica, attempt, node)."""

    decisions: int = 0
    equal: int = 0
    unlike: list[UnlikeRecorded] = field(default_factory=list)
    placements: list[tuple[float, RecordedDecision]] = field(default_factory=list)
    restarts: int = 0
    specs: dict[int, Workload] = field(default_factory=dict)
    outcome: SimulationOutcome | None = None

    @property
    def share(self) -> float:
        return self.equal / self.decisions if self.decisions else 1.0


def reproduce(day: RecordedDay, progress: Progress | None = None) -> Reproduction:
    found = Reproduction()
    engine = ObservedEngine(day.settings, day.segments[0].snapshot, day.specs(), day.begins)
    current, missing = day.segments[0], list[str]()
    for segment, step in day.steps():
        if segment is not current:
            if not segment.continues:
                engine.restart(segment.snapshot)
                found.restarts += 1
            current = segment
        missing += [name for turn in step.turns for name in turn.missing]
        _play(engine, step, found, day, _why(day.segments[0], missing))
        if progress is not None:
            progress(step.turns[-1].at)
    found.specs, found.outcome = engine.specs, engine.close(day.ends)
    return found


def _play(engine: ObservedEngine, step: RecordedStep, found: Reproduction, day: RecordedDay, why: str) -> None:
    decided: list[RecordedDecision] = []
    at = step.turns[-1].at
    for turn in step.turns:
        for event in turn.events:
            engine.handle(event, turn.at)
        decided += [RecordedDecision.of(decision) for decision in engine.settle(turn.at).decisions]
    found.placements += [(at, decision) for decision in step.decisions if decision.node is not None]
    if at < day.since:
        return
    found.decisions += len(step.decisions)
    if decided == step.decisions:
        found.equal += len(decided)
        return
    recorded = {(one.workload, one.replica, one.attempt): one for one in step.decisions}
    replayed = {(one.workload, one.replica, one.attempt): one for one in decided}
    for key in [*recorded, *(key for key in replayed if key not in recorded)]:
        if recorded.get(key) == replayed.get(key):
            found.equal += 1
        else:
            found.unlike.append(UnlikeRecorded(at, recorded.get(key), replayed.get(key), why))


def _why(first: Segment, missing: list[str]) -> str:
    if first.version != __version__:
        return f"Dovetail {first.version} recorded it, this is {__version__}"
    if missing:
        return f"{missing[-1]} was too large to be recorded"
    if first.continues:
        return (
            "the replay begins at a checkpoint in the middle of a run: what was learned in its last minute is missing"
        )
    return "not explained: please report it"
