"""A timetable of nodes of one's own: which waiting work starts on them when. All other work goes elsewhere.

Work is entered as late as it may start: what can wait leaves the time before free for what cannot. Whatever then can
start at once is brought forward, so nothing idles that could be used.
Guarantees: no node holds more than it has at any time, if running tasks end as expected; nothing starts later than it
may; the same input gives the same timetable. Left to others: in which order work is entered (`timetable_search`).
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.horizon import RowProfile


class Candidate(NamedTuple):
    """Waiting work that could start on these rows until `latest`, and costs so much elsewhere."""

    id: int
    rank: int  # of its priority; smaller goes first
    column: F8  # float64[resource]
    rows: tuple[int, ...]
    run_s: float
    latest: float
    value: float


class OwnStart(NamedTuple):
    row: int
    at: float


class Timetable:
    def __init__(self, now: float, profiles: Mapping[int, RowProfile]) -> None:
        """`profiles`: what is free on each row over time without the timetable."""
        self.now = now
        self.profiles = {row: profile.copy() for row, profile in profiles.items()}
        self.starts: dict[int, OwnStart] = {}
        self.value = 0.0
        #: By what it needs and where: (run time, latest start) of work that fitted nowhere. While work is only entered,
        #: what runs as long or longer and cannot start later does not fit either.
        self._in_vain: dict[tuple[bytes, tuple[int, ...]], list[tuple[float, float]]] = {}

    def enter(self, one: Candidate) -> bool:
        """As late as it may start; False if it fits nowhere."""
        in_vain = self._in_vain.setdefault((one.column.tobytes(), one.rows), [])
        if any(run_s <= one.run_s and latest >= one.latest for run_s, latest in in_vain):
            return False
        best: OwnStart | None = None
        for row in one.rows:
            at = self.profiles[row].latest(one.column, one.run_s, one.latest)
            if at is not None and (best is None or at > best.at):
                best = OwnStart(row, at)
        if best is not None:
            self.put(one, best)
        else:
            in_vain.append((one.run_s, one.latest))
        return best is not None

    def put(self, one: Candidate, start: OwnStart) -> None:
        self.profiles[start.row].occupy(start.at, start.at + one.run_s, one.column)
        self.starts[one.id] = start
        self.value += one.value

    def take_out(self, one: Candidate) -> OwnStart:
        self._in_vain.clear()
        start = self.starts.pop(one.id)
        self.profiles[start.row].occupy(start.at, start.at + one.run_s, -one.column)
        self.value -= one.value
        return start

    def keep(
        self, candidates: Mapping[int, Candidate], starts: Mapping[int, OwnStart], latest: Mapping[int, float]
    ) -> None:
        """Enter work where it was before, or near to that, where a task ends later than expected: `latest`, for each,
        when it has to start at the latest. What no longer fits is left out."""
        by_row: dict[int, list[tuple[float, Candidate]]] = {}
        for id_, start in starts.items():
            one = candidates.get(id_)
            if one is not None and start.row in one.rows:
                by_row.setdefault(start.row, []).append((max(start.at, self.now), one))
        for row, entries in by_row.items():
            entries.sort(key=lambda entry: (entry[0], entry[1].id))
            profile = self.profiles[row]
            changes = [(at, -one.column) for at, one in entries]
            changes += [(at + one.run_s, one.column) for at, one in entries]
            together = profile.with_changes(changes)
            if together.least() >= min(profile.least(), 0.0):
                self.profiles[row] = together
                self.starts.update({one.id: OwnStart(row, at) for at, one in entries})
                self.value += sum([one.value for _, one in entries])
                continue
            for at, one in entries:
                self._enter_near(one, row, at, latest[one.id])

    def _enter_near(self, one: Candidate, row: int, at: float, latest: float) -> None:
        begin, end = self.profiles[row].stretches(one.column)
        soonest = np.maximum(begin, self.now)
        possible = np.minimum(end - one.run_s, latest)
        good = possible >= soonest
        if good.any():
            near = np.clip(at, soonest[good], possible[good])
            self.put(one, OwnStart(row, float(near[np.abs(near - at).argmin()])))

    def bring_forward(self, candidates: Iterable[Candidate]) -> None:
        """What can start at once does, in order of the starts."""
        waiting = [one for one in candidates if one.id in self.starts and self.starts[one.id].at > self.now]
        waiting.sort(key=lambda one: (self.starts[one.id].at, one.id))
        for one in waiting:
            start = self.starts[one.id]
            rows = [row for row in one.rows if self._may_start(one, row, start)]
            if not rows:
                continue
            self.take_out(one)
            end = self.now + one.run_s
            fitting = [row for row in rows if (self.profiles[row].room(self.now, end) >= one.column).all()]
            self.put(one, OwnStart(fitting[0], self.now) if fitting else start)

    def _may_start(self, one: Candidate, row: int, start: OwnStart) -> bool:
        """Does it fit now, and until it would end or until the time it is entered for?"""
        begin, end = self.profiles[row].stretches(one.column)
        if not len(begin) or begin[0] > self.now:
            return False
        return bool(end[0] >= min(self.now + one.run_s, start.at if start.row == row else np.inf))
