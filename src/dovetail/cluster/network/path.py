"""What lies between two nodes: links, latency, bandwidth, loss; and the distance that follows from them.

    distance = 100 × part / the largest part, where
    part     = latency weight   × latency / the longest latency
             + bandwidth weight × (1 / bandwidth - 1 / the widest) × the narrowest
             + loss weight      × loss / the highest loss

over all pairs of different nodes: the same node is 0 away, the farthest pair 100. Where all pairs are alike in one of
the three, it makes no difference; where they are alike in all, every other node is as far as can be.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import F8
from dovetail.model.network.topology import DistanceWeights

FARTHEST = 100.0
Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Path:
    """From one node to another: `hops` links. `mbps` is the bandwidth of the narrowest of them, `headroom_mbps` what
    is left where least is left, `loss` the share of packets that do not arrive."""

    hops: int
    latency_us: float
    mbps: float
    headroom_mbps: float
    loss: float


class Paths(NamedTuple):
    """Many of them, as arrays of one shape. `passed` is -log(1 - loss), which adds up along a path. Where there is no
    way, latency is infinite and bandwidth 0; from a node to itself, bandwidth is infinite."""

    hops: F8
    latency_ns: F8
    mbps: F8
    headroom_mbps: F8
    passed: F8

    def at(self, index: int) -> Path:
        return Path(
            int(self.hops[index]),
            float(self.latency_ns[index]) / 1000.0,
            float(self.mbps[index]),
            float(self.headroom_mbps[index]),
            float(-np.expm1(-self.passed[index])),
        )

    def joined(self, other: "Paths") -> "Paths":
        """One after the other."""
        return Paths(
            self.hops + other.hops,
            self.latency_ns + other.latency_ns,
            np.minimum(self.mbps, other.mbps),
            np.minimum(self.headroom_mbps, other.headroom_mbps),
            self.passed + other.passed,
        )

    def take(self, index: Any) -> "Paths":
        """The same index of each array."""
        return Paths(*(array[index] for array in self))


def nowhere(many: int, source: int) -> Paths:
    """From one to itself, and to no other."""
    itself = np.arange(many) == source
    latency_ns, mbps = np.where(itself, 0.0, np.inf), np.where(itself, np.inf, 0.0)
    return Paths(np.zeros(many), latency_ns, mbps, mbps, np.zeros(many))


class DistanceScale:
    """The extremes over all pairs, by which every pair is measured. Look at all of them first, then weigh them."""

    def __init__(self, weights: DistanceWeights) -> None:
        self._weights = weights
        self._longest_ns = self._slowest = self._lossiest = 0.0
        self._fastest = np.inf

    def look(self, latency_ns: Floats, mbps: Floats, passed: Floats) -> None:
        """At pairs of different nodes between which there is a way."""
        if latency_ns.size:
            self._longest_ns = max(self._longest_ns, float(latency_ns.max()))
            self._slowest = max(self._slowest, 1.0 / float(mbps.min()))
            self._fastest = min(self._fastest, 1.0 / float(mbps.max()))
            self._lossiest = max(self._lossiest, float(passed.max()))

    def part(self, latency_ns: Floats, mbps: Floats, passed: Floats) -> Floats:
        """How far apart they are, in no unit."""
        weights, found = self._weights, np.zeros_like(latency_ns)
        if self._longest_ns:
            found += latency_ns * (weights.latency / self._longest_ns)
        if self._slowest > self._fastest:
            with np.errstate(divide="ignore"):
                found += (1.0 / mbps - self._fastest) * (weights.bandwidth / self._slowest)
        if self._lossiest:
            found += np.expm1(-passed) * (weights.loss / np.expm1(-self._lossiest))
        return found


def distances(paths: Paths, weights: DistanceWeights) -> F8:
    """float64 of the same shape, for pairs of different nodes that stand for all there are."""
    three = (paths.latency_ns, paths.mbps, paths.passed)
    yardstick = DistanceScale(weights)
    yardstick.look(*three)
    part = yardstick.part(*three)
    most = float(part.max()) if part.size else 0.0
    return np.full(part.shape, FARTHEST) if most <= 0 else FARTHEST * part.astype(np.float64) / most
