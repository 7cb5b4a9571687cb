"""How much one turn of the control loop does: what fits into a slice of time and can be written in two.

Who sends a request waits for the turn that is under way, for the step before it to be written, and for its own. Short
turns and small steps keep that short; long ones cost less a decision.
"""

FEWEST, MOST = 2, 20_000  # effort of a Tick
TICKS_OF_SLICE = 4
WRITE_SLICES = 2
FASTEST_GROWTH = 1.5
#: Of the time that a turn took: so long others have theirs before the next one.
REST = 0.3


class TurnPace:
    def __init__(self, slice_s: float) -> None:
        self._slice_s = slice_s
        self.turn_s = slice_s  # how long a turn takes in and decides; less while its step takes long to write
        self.limit = 64  # effort of the next Tick: what takes a part of a slice

    def ticked(self, spent: int, elapsed_s: float) -> None:
        """The engine has no clock: the limit of the next Tick follows from how long the last one took."""
        target_s = self._slice_s / TICKS_OF_SLICE
        if spent >= self.limit or elapsed_s > target_s:
            wanted = self.limit * target_s / max(elapsed_s, 1e-6)
            self.limit = int(min(max(wanted, self.limit / 2, FEWEST), 2 * self.limit, MOST))

    def wrote(self, elapsed_s: float) -> None:
        fits = self._slice_s * WRITE_SLICES / max(elapsed_s, 1e-6)
        self.turn_s = min(max(self.turn_s * min(fits, FASTEST_GROWTH), self._slice_s / 10), self._slice_s)
