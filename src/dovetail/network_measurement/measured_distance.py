"""Distances from measurements: the formula of described links (`cluster.network.path`) with what was measured.

    part = 50 × round-trip time / the longest
         + 40 × (1 / bandwidth - 1 / the widest) × the narrowest
         + 10 × loss / the highest, which counts as 1 % at least

Bandwidths count as the nearest of 10, 25, 50, 100, … Mbps: what two trains say about equal links differs more than what
a distance should. Round-trip times above the 99.5th percentile count as that one, so that one odd pair does not make
all others near.
"""

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.network.path import FARTHEST, DistanceScale
from dovetail.model.network.topology import DistanceWeights

HIGHEST_LOSS_AT_LEAST = 0.01
_LONGEST_QUANTILE = 0.995
_MOST_LOSS = 1.0 - 1e-12
_LADDER = np.log(np.outer(10.0 ** np.arange(8), [1.0, 2.5, 5.0]).ravel())


def measured_distances(rtt_us: F8, loss: F8, mbps: F8, weights: DistanceWeights) -> F8:
    """float64[pair]; each pair of different nodes once. An infinite round-trip time is as far as can be; bandwidths
    that are nan are not known, and count as the widest."""
    found = np.full(rtt_us.shape, FARTHEST)
    there = np.isfinite(rtt_us)
    if not there.any():
        return found
    known = np.isfinite(mbps)
    widest = steps_of_bandwidth(mbps[known]).max() if known.any() else 1.0
    width = np.full(mbps.shape, widest)
    width[known] = steps_of_bandwidth(mbps[known])
    latency = np.minimum(rtt_us[there], np.quantile(rtt_us[there], _LONGEST_QUANTILE, method="higher"))
    passed = -np.log1p(-np.minimum(loss[there], _MOST_LOSS))
    yardstick = DistanceScale(weights)
    yardstick.look(latency, width[there], passed)
    yardstick.look(latency[:1], width[there][:1], np.array([-np.log1p(-HIGHEST_LOSS_AT_LEAST)]))
    part = yardstick.part(latency, width[there], passed)
    most = float(part.max())
    found[there] = FARTHEST if most <= 0 else FARTHEST * part / most
    return found


def steps_of_bandwidth(mbps: F8) -> F8:
    """The nearest step of each, by ratio."""
    place = np.abs(np.log(np.maximum(mbps, 1e-3))[:, None] - _LADDER).argmin(axis=1)
    found: F8 = np.exp(_LADDER)[place]
    return found
