"""What the engine keeps of the timetable of own nodes: when which waiting work starts there.

It is a hint: it is made anew whenever something happens, nothing of it is written down, and after a restart there is a
new one.
"""

from dataclasses import dataclass, field

from dovetail.placement.market.timetable import Candidate, OwnStart
from dovetail.placement.market.timetable_search import TimetableSearch


@dataclass(slots=True)
class OwnTimetable:
    asked: dict[int, None] = field(default_factory=dict)  # work that waits and asked for a start
    known: dict[int, None] = field(default_factory=dict)  # of that, work that a search was made for
    untold: dict[int, None] = field(default_factory=dict)  # work to be decided again: the timetable has its answer
    weights: dict[int, float] = field(default_factory=dict)  # of work that was considered
    values: dict[int, float] = field(default_factory=dict)  # what it cost elsewhere when it last was
    last: dict[int, float] = field(default_factory=dict)  # when it can go elsewhere for the last time
    candidates: dict[int, Candidate] = field(default_factory=dict)  # as of when it was last made
    starts: dict[int, OwnStart] = field(default_factory=dict)
    barred: dict[int, float] = field(default_factory=dict)  # the timetable has nothing for it until then
    search: TimetableSearch | None = None
    as_of: int = -1  # the event count when it was last made

    def starts_now(self, work: int, now: float) -> bool:
        start = self.starts.get(work)
        return start is not None and start.at <= now

    def bar(self, work: int, until: float) -> None:
        self.forget(work)
        self.barred[work] = until

    def forget(self, work: int) -> None:
        for told in (self.asked, self.known, self.untold):
            told.pop(work, None)
        for measured in (self.weights, self.values, self.last, self.barred):
            measured.pop(work, None)
        self.candidates.pop(work, None)
        self.starts.pop(work, None)
