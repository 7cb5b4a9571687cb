"""A recorded day: segments in order, cut to the time that was asked for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dovetail.engine.settings import EngineSettings
from dovetail.model.workloads.workload import Workload
from dovetail.recordings.segment import RecordedStep, Segment


class NothingRecorded(ValueError):
    """No segment covers the time: says what there is."""


class SegmentTime(NamedTuple):
    """A segment by name, and when it begins."""

    name: str
    at: float


def needed(files: Sequence[SegmentTime], since: float, until: float) -> list[SegmentTime]:
    """Those that cover the time, from the last checkpoint before it on. Raises NothingRecorded."""
    files = sorted(files, key=lambda one: one.at)
    if not files:
        raise NothingRecorded("nothing was recorded; the server records with `recording: {enabled: true}`")
    first = max((index for index, one in enumerate(files) if one.at <= since), default=0)
    found = [one for one in files[first:] if one.at <= until]
    if not found:
        raise NothingRecorded("the recordings begin after that time")
    return found


@dataclass(frozen=True, slots=True)
class RecordedDay:
    """`begins`: at a checkpoint, which may be before `since`."""

    segments: list[Segment]
    since: float
    until: float

    @property
    def begins(self) -> float:
        return self.segments[0].at

    @property
    def ends(self) -> float:
        return min(self.until, max(segment.ends_at for segment in self.segments))

    @property
    def settings(self) -> EngineSettings:
        return EngineSettings.model_validate(self.segments[0].settings)

    def specs(self) -> dict[int, Workload]:
        """Definitions of the workloads that were unfinished when the day began, by id."""
        definitions = self.segments[0].definitions
        return {id_: Workload.model_validate_json(text) for id_, text in definitions.items()}

    def steps(self) -> Iterator[tuple[Segment, RecordedStep]]:
        for segment in self.segments:
            for step in segment.steps:
                if step.turns and step.turns[0].at > self.until:
                    return
                yield segment, step
