"""Variants side by side: means over seeds, their confidence, and which differences are more than chance.

A run of the same seed has the same work under every variant, so variants are compared seed by seed (paired t-test),
which sees far smaller differences than two means with their intervals do. Per figure, p-values are corrected for the
number of comparisons (Holm). Intervals are of Student's t, 95 %.

Guarantees: the answer does not depend on the order of the runs. With one seed there are no intervals and no verdicts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dovetail.reports.metrics import METRICS, Metric
from dovetail.simulate.run_figures import RunFigures

CONFIDENCE = 0.95
CHANCE = 1 - CONFIDENCE
TINY = 1e-12  # of a difference, relative: rounding, not a difference


class ReportRun(NamedTuple):
    variant: str
    seed: int
    figures: RunFigures


@dataclass(frozen=True, slots=True)
class MeanOverSeeds:
    """`plus_minus`: half of the interval; None with one seed. `leads`: it is the best, or not distinguishable from the
    best and better than all that are; None with one seed or where all are equal. `p`: that it differs from the best
    only by chance."""

    mean: float
    plus_minus: float | None
    seeds: int
    leads: bool | None = None
    p: float | None = None


@dataclass(frozen=True, slots=True)
class VariantComparison:
    """`means`: by metric, then by variant. Variants and metrics in the order in which they are shown."""

    variants: tuple[str, ...]
    seeds: tuple[int, ...]
    means: dict[str, dict[str, MeanOverSeeds]]

    @property
    def metrics(self) -> list[Metric]:
        return [METRICS[key] for key in self.means]

    def leaders(self, key: str) -> list[str]:
        """Those that are best, or not distinguishable from the best; none where nothing can be said."""
        return [variant for variant, one in self.means[key].items() if one.leads]

    def to_dict(self) -> dict[str, Any]:
        return {
            "variants": list(self.variants),
            "seeds": list(self.seeds),
            "confidence": CONFIDENCE,
            "metrics": {
                key: {
                    variant: {
                        "mean": one.mean,
                        "plus_minus": one.plus_minus,
                        "seeds": one.seeds,
                        "leads": one.leads,
                        "p": one.p,
                    }
                    for variant, one in means.items()
                }
                for key, means in self.means.items()
            },
        }


def compare(runs: Sequence[ReportRun]) -> VariantComparison:
    variants = tuple(dict.fromkeys(run.variant for run in runs))
    seeds = tuple(sorted({run.seed for run in runs}))
    means = {key: _means(key, variants, runs) for key in METRICS}
    return VariantComparison(variants, seeds, {key: found for key, found in means.items() if found})


def _means(key: str, variants: Iterable[str], runs: Sequence[ReportRun]) -> dict[str, MeanOverSeeds]:
    """Of those variants that have this figure."""
    values: dict[str, dict[int, float]] = {variant: {} for variant in variants}
    for run in runs:
        value = run.figures["numbers"].get(key)
        if value is not None:
            values[run.variant][run.seed] = value
    there = {variant: by_seed for variant, by_seed in values.items() if by_seed}
    if not there:
        return {}
    sign = -1.0 if METRICS[key].higher_is_better else 1.0
    mean_of = {variant: float(np.mean(list(by_seed.values()))) for variant, by_seed in there.items()}
    best = min(there, key=lambda variant: sign * mean_of[variant])
    chances = {variant: _chance(by_seed, there[best]) for variant, by_seed in there.items() if variant != best}
    corrected = _holm({variant: p for variant, p in chances.items() if p is not None})
    # One that is worse for certain draws the line: who has a worse mean than that does not lead, however it scatters.
    line = min((sign * mean_of[variant] for variant, p in corrected.items() if p < CHANCE), default=None)
    found = {}
    for variant, by_seed in there.items():
        p = corrected.get(variant)
        leads = None if line is None else sign * mean_of[variant] < line
        half = half_interval(list(by_seed.values()))
        found[variant] = MeanOverSeeds(mean_of[variant], half, len(by_seed), leads, p)
    return found


def half_interval(values: Sequence[float]) -> float | None:
    """Half the width of the 95 % interval of a mean; None for fewer than two values."""
    if len(values) < 2:
        return None
    return float(half_intervals(np.std(values, ddof=1), len(values)))


def half_intervals(deviation: ArrayLike, count: ArrayLike) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Half the width of the 95 % intervals of means of `count` values that deviate so much."""
    from scipy import stats  # takes two seconds, only where somebody compares

    quantile = stats.t.ppf((1 + CONFIDENCE) / 2, np.asarray(count) - 1)
    return np.asarray(quantile * np.asarray(deviation) / np.sqrt(count))


def _chance(one: dict[int, float], other: dict[int, float]) -> float | None:
    """That the two differ only by chance, compared seed by seed; None with fewer than two seeds in common."""
    common = sorted(one.keys() & other.keys())
    if len(common) < 2:
        return None
    differences = np.array([one[seed] - other[seed] for seed in common])
    size = max(abs(value) for seed in common for value in (one[seed], other[seed]))
    if float(np.abs(differences).max()) <= TINY * max(size, TINY):
        return 1.0
    if float(np.ptp(differences)) <= TINY * max(size, TINY):
        return 0.0  # the same difference every time
    from scipy import stats

    return float(stats.ttest_1samp(differences, 0.0).pvalue)


def _holm(chances: dict[str, float]) -> dict[str, float]:
    """Holm's correction for having looked at several differences."""
    found: dict[str, float] = {}
    highest = 0.0
    ordered = sorted(chances, key=lambda variant: (chances[variant], variant))
    for rank, variant in enumerate(ordered):
        highest = max(highest, min(1.0, chances[variant] * (len(ordered) - rank)))
        found[variant] = highest
    return found
