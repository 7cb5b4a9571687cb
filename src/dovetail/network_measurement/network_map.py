"""The measured network as a whole: measured where somebody measured, estimated elsewhere, distances of all pairs.

Guarantees: `distance` and `error` are symmetric float32[node, node]; nan is a pair about which nothing is known. The
error of a measured pair is 0. Left to others: what was set by hand or described, which stands above all of this.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import F8
from dovetail.cluster.network.path import FARTHEST
from dovetail.model.network.topology import DistanceWeights
from dovetail.network_measurement.coordinates import fit_coordinates
from dovetail.network_measurement.measured_distance import measured_distances
from dovetail.network_measurement.pair_history import SettledPair

F4 = npt.NDArray[np.float32]
#: A node with fewer measured pairs than that has no coordinates.
FEWEST_PAIRS = 3
#: Coordinates fitted anew move a little; an estimate is another only if it moved by so much of its error.
ESTIMATES_MOVE = 0.25


@dataclass(frozen=True, slots=True)
class NetworkMap:
    """`rtt_us`, `distance` and `error` (of the distance, in points) are float32[node, node]; `measured` is
    bool[node, node]."""

    names: tuple[str, ...]
    rtt_us: F4
    distance: F4
    error: F4
    measured: npt.NDArray[np.bool_]


def make_map(
    pairs: Mapping[tuple[str, str], SettledPair], weights: DistanceWeights, random: np.random.Generator
) -> NetworkMap:
    """`pairs`: each in one order of its ends, whichever."""
    names = tuple(sorted({name for pair in pairs for name in pair}))
    number = {name: place for place, name in enumerate(names)}
    one = np.array([number[pair[0]] for pair in pairs], dtype=np.intp)
    other = np.array([number[pair[1]] for pair in pairs], dtype=np.intp)
    settled = list(pairs.values())
    n = len(names)
    rtt_us, relative = np.full((n, n), np.nan), np.zeros((n, n))
    measured_rtt = np.array([pair.rtt_us for pair in settled])
    if n * (n - 1) // 2 > len(pairs):
        _estimate(n, one, other, measured_rtt, rtt_us, relative, random)
    mbps = _bandwidths(n, one, other, np.array([np.nan if pair.mbps is None else pair.mbps for pair in settled]))
    loss, measured = np.zeros((n, n)), np.zeros((n, n), dtype=np.bool_)
    for start, end in ((one, other), (other, one)):
        rtt_us[start, end], relative[start, end] = measured_rtt, 0.0
        loss[start, end] = [0.0 if np.isinf(pair.rtt_us) else pair.loss for pair in settled]
        measured[start, end] = True
    upper = np.triu_indices(n, 1)
    known = ~np.isnan(rtt_us[upper])
    pair_distance = np.full(len(upper[0]), np.nan)
    picked = (upper[0][known], upper[1][known])
    pair_distance[known] = measured_distances(rtt_us[picked], loss[picked], mbps[picked], weights)
    distance = np.zeros((n, n), dtype=np.float32)
    distance[upper] = pair_distance
    distance.T[upper] = pair_distance
    error = np.minimum(relative * np.nan_to_num(distance), FARTHEST).astype(np.float32)
    np.fill_diagonal(rtt_us, 0.0)
    return NetworkMap(names, rtt_us.astype(np.float32), distance, error, measured)


def _estimate(
    n: int,
    one: npt.NDArray[np.intp],
    other: npt.NDArray[np.intp],
    measured_rtt: F8,
    rtt_us: F8,
    relative: F8,
    random: np.random.Generator,
) -> None:
    """Write estimates for all pairs of nodes that have coordinates."""
    there = np.isfinite(measured_rtt) & (measured_rtt > 0)
    one, other, measured_rtt = one[there], other[there], measured_rtt[there]
    degree = np.bincount(np.concatenate([one, other]), minlength=n)
    placed = np.flatnonzero(degree >= min(FEWEST_PAIRS, n - 1))
    if not len(placed) or not len(one):
        return
    found = fit_coordinates(n, one, other, measured_rtt, random)
    estimates = found.rtt_us(placed)[:, placed]
    rtt_us[np.ix_(placed, placed)] = estimates
    relative[np.ix_(placed, placed)] = found.error(estimates)
    np.fill_diagonal(relative, 0.0)


def _bandwidths(n: int, one: npt.NDArray[np.intp], other: npt.NDArray[np.intp], mbps: F8) -> F8:
    """float64[node, node]; where it was not measured, the smaller of the best that both nodes have shown."""
    known = np.isfinite(mbps)
    best = np.full(n, -np.inf)
    np.maximum.at(best, one[known], mbps[known])
    np.maximum.at(best, other[known], mbps[known])
    found: F8 = np.minimum(best[:, None], best)
    found[np.isinf(found)] = np.nan
    found[one[known], other[known]] = found[other[known], one[known]] = mbps[known]
    return found


def nearest(found: NetworkMap, many: int) -> dict[str, list[str]]:
    """By node, those that are nearest to it, measured or estimated; in no order."""
    if len(found.names) <= many + 1:
        return {}
    apart = np.nan_to_num(found.distance, nan=np.inf)
    np.fill_diagonal(apart, np.inf)
    rows = np.argpartition(apart, many, axis=1)[:, :many]
    return {name: [found.names[one] for one in row] for name, row in zip(found.names, rows.tolist(), strict=True)}


def held_back(before: NetworkMap | None, now: NetworkMap, least: float) -> NetworkMap:
    """The new map with the distances of the old one where they have not clearly changed: by no more than `least`, or by
    less than a quarter of the error of an estimate. Another set of nodes is another map."""
    if before is None or before.names != now.names:
        return now
    apart = np.abs(now.distance - before.distance)
    stays = apart <= np.maximum(least, ESTIMATES_MOVE * now.error)  # false where one of them is not known
    return replace(now, distance=np.where(stays, before.distance, now.distance))


def is_another(before: NetworkMap | None, now: NetworkMap) -> bool:
    """Whether a distance is another one, or is known that was not, or the reverse."""
    if before is None:
        return bool(now.names)
    return before.names != now.names or not np.array_equal(before.distance, now.distance, equal_nan=True)
