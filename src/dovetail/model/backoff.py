"""Growing pauses between attempts at something that fails: the same rule for every loop that tries again.

Guarantees: pure; the caller sleeps, and brings the chance that spreads many callers out. A library for retries would
bring the loop as well, but no two of our loops end on the same errors; what they share is the pause.
Left to others: retries that a restart must repeat to the second (`queueing.retry`).
"""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Backoff:
    """Pauses of `first_s`, then `factor` times as long each, at most `most_s`. `jitter`: the share of a pause that
    chance may take off."""

    first_s: float
    most_s: float = float("inf")
    factor: float = 2.0
    jitter: float = 0.0
    pause_s: float = field(init=False)  # the next one, before chance takes something off

    def __post_init__(self) -> None:
        self.pause_s = self.first_s

    def next_s(self, chance: float = 0.0) -> float:
        """The pause before the next attempt; the one after it is longer. `chance` lies between 0 and 1."""
        pause_s = self.pause_s
        self.pause_s = min(self.factor * pause_s, self.most_s)
        return pause_s * (1.0 - self.jitter * chance)

    def reset(self) -> None:
        """An attempt succeeded: the next pause is the first again."""
        self.pause_s = self.first_s
