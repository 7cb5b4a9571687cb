"""How long decisions took lately: the mean of each turn of the loop, bounded, for trends and for lists of decisions.

Written and read on the thread of the control loop.
"""

from collections import OrderedDict

MOST_TURNS = 4096


class DecisionTimes:
    def __init__(self) -> None:
        self._by_turn: OrderedDict[float, float] = OrderedDict()  # by the time of the turn, which its decisions carry
        self._since_read: list[tuple[float, int]] = []  # mean and number of decisions, a turn each

    def note(self, at: float, each_s: float, count: int) -> None:
        """The decisions of one turn."""
        self._by_turn[at] = each_s
        if len(self._by_turn) > MOST_TURNS:
            self._by_turn.popitem(last=False)
        if len(self._since_read) < MOST_TURNS:
            self._since_read.append((each_s, count))

    def of(self, at: float) -> float | None:
        """What a decision of that time took; None where it is too long ago."""
        return self._by_turn.get(at)

    def take_p99(self) -> float | None:
        """Of the decisions since the last call; None if there were none."""
        taken, self._since_read = sorted(self._since_read), []
        left = 0.99 * sum(count for _, count in taken)
        for each_s, count in taken:
            left -= count
            if left <= 0:
                return each_s
        return None
