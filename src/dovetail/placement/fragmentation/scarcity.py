"""Which GPUs will run short first: demand levelled over the kinds of devices that it allows.

Work that allows several kinds goes where most is left for it; work that needs one kind goes there. Each kind then has a
load: its share of the demand over what is free of it, with total demand scaled to what is free in total. Above 1 it is
scarce: work that can go elsewhere should.
Guarantees: deterministic; the load is 1 for a kind of which none is free, and for all kinds while there is no demand.
Left to others: when to compute it again, and the price.
"""

import numpy as np

from dovetail.cluster.arrays import B1, F8

FIRST_STEPS = 20  # from scratch
MORE_STEPS = 5  # from what was found before
_PACE = 0.7  # of the correction a step: 1 would overshoot where kinds share their demand
_LEAST_LOAD = 1e-3
_LEAST_PULL = 1e-6


def levelled(free: F8, allowed: B1, demand: F8, pull: F8, steps: int) -> tuple[F8, F8]:
    """float64[kind]: the load of each kind, and the pull to start from next time.

    `allowed` bool[set, kind] and `demand` float64[set]: what was asked for, by sets of kinds. A set gives each of its
    kinds a part in proportion to what is free of it times its pull; the pull of a loaded kind is lowered."""
    total, asked = free.sum(), demand.sum()
    load = np.ones_like(free)
    if total <= 0 or asked <= 0:
        return load, pull
    there = free > 0
    among = (allowed & there).astype(np.float64)
    scaled = demand * (total / asked)
    for _ in range(steps):
        weight = among @ (free * pull)
        each = np.divide(scaled, weight, out=np.zeros_like(scaled), where=weight > 0)
        load = pull * (each @ among)
        pull = np.where(there, pull / np.maximum(load, _LEAST_LOAD) ** _PACE, pull)
    return np.where(there, load, 1.0), np.maximum(pull / pull.max(), _LEAST_PULL)
