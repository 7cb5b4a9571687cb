"""Round-trip time and loss of each measured pair over time: what every round measured, before anything is smoothed.

Every minute for an hour and every ten minutes for a day: 6 bytes a pair and bucket. All pairs of 200 nodes take 26 MB;
the first 50,000 pairs are kept, at most 66 MB. Where no packet came back there is a loss and no round-trip time.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import median

import numpy as np

from dovetail.control.trends.down_sampling import TrendTier
from dovetail.control.trends.keyed_buckets import F8, KeyedSeries
from dovetail.responses.probes import ProbeResult

#: In the order of the columns of `round_of`.
PAIR_SERIES = KeyedSeries(
    {"rtt": ("Round trip", "ms"), "loss": ("Packets lost", "share")},
    (TrendTier(60, 3600), TrendTier(600, 24 * 3600)),
    most_keys=50_000,
)
_BETWEEN = "\n"  # no name has one


def trend_key(one: str, other: str) -> str:
    return _BETWEEN.join(sorted((one, other)))


def round_of(result: ProbeResult) -> tuple[float, float]:
    """What one round measured: milliseconds, nan if no packet came back, and the share of packets that were lost."""
    answers = result["rtts_us"]
    loss = max(result["sent"] - len(answers), 0) / result["sent"]
    return median(answers) / 1000 if answers else float("nan"), loss


def columns(rounds: Sequence[tuple[str, tuple[float, float]]]) -> tuple[list[str], F8]:
    return [key for key, _ in rounds], np.array([values for _, values in rounds]).reshape(-1, len(PAIR_SERIES.names))


def between_domains(one: str, other: str, domains: Mapping[str, str]) -> Callable[[str], bool]:
    """Whether a pair has a node in each of them. `domains`: by node, its domain."""
    wanted = sorted((one, other))

    def is_between(key: str) -> bool:
        ends = [domains.get(name) for name in key.split(_BETWEEN)]
        return None not in ends and sorted(filter(None, ends)) == wanted

    return is_between
