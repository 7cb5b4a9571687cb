"""Network coordinates: the round-trip time of pairs that nobody measured, from those that somebody did.

Each node gets a point in eight dimensions and a height, the cost of its own link: the estimate of a pair is the
distance of their points and both heights. This is Vivaldi's model, but all measured pairs are fitted at once, by
descent along the gradient of the squared logarithmic error. `docs/decisions/0011-network-coordinates.md` has the
measurements.

A tenth of the measured pairs is left out at first, and says how good estimates are. Guarantees: the same pairs
and the same generator give the same estimates.
"""

from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import F8, Rows

DIMENSIONS = 8
#: Without the pairs that tell the error; and then, from there on, with all.
STEPS, STEPS_WITH_ALL = 300, 60
#: Share of the measured pairs that tells the error, and the share of estimates that are within it.
HELD_OUT, WITHIN = 0.1, 0.8
#: With fewer left out than that, an error says nothing, and this one is stated.
FEWEST_HELD_OUT, UNKNOWN_ERROR = 20, 0.5
_BINS = 8
_RATE, _SLOWEST_RATE = 0.05, 0.1
_MOMENTUM, _SCALE = 0.9, 0.99


@dataclass(frozen=True, slots=True)
class Coordinates:
    """`points` is float64[node, dimension], `heights` float64[node], both in microseconds. `edges` and `errors` say
    which relative error belongs to estimates of which size."""

    points: F8
    heights: F8
    edges: F8
    errors: F8

    def rtt_us(self, rows: Rows) -> F8:
        """float64[row, node]: estimates from some nodes to all."""
        from scipy.spatial.distance import cdist  # only where something is measured

        found: F8 = cdist(self.points[rows], self.points) + self.heights[rows, None] + self.heights[None, :]
        return found

    def error(self, rtt_us: F8) -> F8:
        """The relative error that is stated for estimates."""
        found: F8 = self.errors[np.searchsorted(self.edges, rtt_us)]
        return found


def fit_coordinates(nodes: int, one: Rows, other: Rows, rtt_us: F8, random: np.random.Generator) -> Coordinates:
    """`one` and `other` are the ends of the measured pairs: intp[pair], numbers of nodes; `rtt_us` is float64[pair]."""
    edges, errors = np.zeros(0), np.array([UNKNOWN_ERROR])
    unit = float(np.median(rtt_us)) if len(rtt_us) else 1.0
    goal = rtt_us / unit
    held = random.random(len(rtt_us)) < HELD_OUT
    state = np.concatenate([random.normal(0.0, 0.25, (nodes, DIMENSIONS)), np.full((nodes, 1), np.log(0.1))], axis=1)
    state = _descend(state, one[~held], other[~held], goal[~held], STEPS)
    if held.sum() >= FEWEST_HELD_OUT:
        edges, errors = _stated_errors(_estimates(state, one[held], other[held]), goal[held])
    state = _descend(state, one, other, goal, STEPS_WITH_ALL)
    return Coordinates(state[:, :DIMENSIONS] * unit, np.exp(state[:, DIMENSIONS]) * unit, edges * unit, errors)


def _estimates(state: F8, one: Rows, other: Rows) -> F8:
    points, heights = state[:, :DIMENSIONS], np.exp(state[:, DIMENSIONS])
    found: F8 = np.sqrt(((points[one] - points[other]) ** 2).sum(axis=1)) + heights[one] + heights[other]
    return found


def _stated_errors(estimated: F8, measured: F8) -> tuple[F8, F8]:
    bins = max(1, min(_BINS, len(measured) // FEWEST_HELD_OUT))
    edges = np.quantile(estimated, np.arange(1, bins) / bins)
    place = np.searchsorted(edges, estimated)
    relative = np.abs(estimated - measured) / measured
    errors = np.array(
        [np.quantile(relative[place == one], WITHIN) if (place == one).any() else UNKNOWN_ERROR for one in range(bins)]
    )
    return edges, errors


def _descend(state: F8, one: Rows, other: Rows, goal: F8, steps: int) -> F8:
    """float64[node, dimension]: points, and last the logarithm of heights, which keeps these positive. Adam with a
    falling rate."""
    state = state.copy()
    mean, square = np.zeros_like(state), np.zeros_like(state)
    for step in range(1, steps + 1):
        slope = _gradient(state, one, other, goal)
        mean = _MOMENTUM * mean + (1 - _MOMENTUM) * slope
        square = _SCALE * square + (1 - _SCALE) * slope * slope
        rate = _RATE * (1 - (1 - _SLOWEST_RATE) * step / steps)
        smoothed = np.sqrt(square / (1 - _SCALE**step)) + 1e-8
        state -= rate * (mean / (1 - _MOMENTUM**step)) / smoothed
    return state


def _gradient(state: F8, one: Rows, other: Rows, goal: F8) -> F8:
    nodes = len(state)
    heights = np.exp(state[:, DIMENSIONS])
    apart = state[one, :DIMENSIONS] - state[other, :DIMENSIONS]
    far = np.sqrt((apart * apart).sum(axis=1) + 1e-9)
    estimate = far + heights[one] + heights[other]
    pull = np.clip(np.log(estimate / goal), -1.0, 1.0) / estimate
    slope = np.empty_like(state)
    along = (pull / far)[:, None] * apart
    for axis in range(DIMENSIONS):
        slope[:, axis] = np.bincount(one, along[:, axis], nodes) - np.bincount(other, along[:, axis], nodes)
    slope[:, DIMENSIONS] = (np.bincount(one, pull, nodes) + np.bincount(other, pull, nodes)) * heights
    return slope
