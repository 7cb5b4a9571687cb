"""How much one turn of the control loop does: what fits into a slice of time and can be written in two.

Who sends a request waits for the turn that is under way, for its step to be written, and for the next of both. Short
turns and small steps keep that short; long ones cost less a decision.
"""

FEWEST, FEWEST_ROWS = 2, 20
MOST = 20_000
TICKS_OF_SLICE = 4
WRITE_SLICES = 1
#: Of the time that a turn took: so long others have theirs before the next one.
REST = 0.3


class TurnPace:
    def __init__(self, slice_s: float) -> None:
        self.turn_s = slice_s  # how long a turn takes in and decides
        self.limit = 64  # effort of the next Tick: what takes a part of a slice
        self.most_rows = 200  # tasks that change in a turn; more take too long to write

    def ticked(self, spent: int, elapsed_s: float) -> None:
        """The engine has no clock: the limit of the next Tick follows from how long the last one took."""
        self.limit = _adjusted(self.limit, spent, elapsed_s, self.turn_s / TICKS_OF_SLICE, FEWEST)

    def wrote(self, rows: int, elapsed_s: float) -> None:
        """`elapsed_s`: without the commit, which takes as long for few rows as for many."""
        self.most_rows = _adjusted(self.most_rows, rows, elapsed_s, self.turn_s * WRITE_SLICES, FEWEST_ROWS)


def _adjusted(limit: int, done: int, elapsed_s: float, target_s: float, fewest: int) -> int:
    """What takes `target_s`, if so much took `elapsed_s`. Little work that was quick says nothing."""
    if done < limit and elapsed_s <= target_s:
        return limit
    wanted = limit * target_s / max(elapsed_s, 1e-6)
    return int(min(max(wanted, limit / 2, fewest), 2 * limit, MOST))
