"""Fabrics with three levels whose round-trip times are known, for tests and benchmarks of measurements."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dovetail.network_measurement.pair_history import SettledPair


@dataclass(frozen=True)
class KnownFabric:
    """`rtt_us` is float64[node, node], without noise."""

    names: list[str]
    leaves: dict[str, str]
    spines: dict[str, str]
    rtt_us: npt.NDArray[np.float64]

    def measured(
        self, pairs: list[tuple[str, str]], noise: float, random: np.random.Generator
    ) -> dict[tuple[str, str], SettledPair]:
        number = {name: place for place, name in enumerate(self.names)}
        factors = np.exp(random.normal(0.0, noise, len(pairs)))
        return {
            (one, other): SettledPair(float(self.rtt_us[number[one], number[other]] * factor), 0.0, None)
            for (one, other), factor in zip(pairs, factors, strict=True)
        }

    def all_pairs(self) -> list[tuple[str, str]]:
        return [(one, other) for place, one in enumerate(self.names) for other in self.names[place + 1 :]]


def three_levels(nodes: int, in_leaf: int, leaves_in_spine: int, random: np.random.Generator) -> KnownFabric:
    """Each host, leaf and spine has links of its own length, in microseconds there and back."""
    leaf = np.arange(nodes) // in_leaf
    spine = leaf // leaves_in_spine
    access = random.uniform(20, 60, nodes)
    leaf_up, spine_up = random.uniform(40, 120, leaf.max() + 1)[leaf], random.uniform(150, 500, spine.max() + 1)[spine]
    rtt_us = access[:, None] + access
    rtt_us = rtt_us + (leaf[:, None] != leaf) * (leaf_up[:, None] + leaf_up)
    rtt_us = rtt_us + (spine[:, None] != spine) * (spine_up[:, None] + spine_up)
    np.fill_diagonal(rtt_us, 0.0)
    names = [f"node-{place:04d}" for place in range(nodes)]
    leaves = {name: f"l{leaf[place]}" for place, name in enumerate(names)}
    spines = {name: f"s{spine[place]}" for place, name in enumerate(names)}
    return KnownFabric(names, leaves, spines, rtt_us)
