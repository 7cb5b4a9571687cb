"""A lower bound of what an instance costs whose jobs are all known at the beginning, without spot machines.

The integer program of `market_optimum` with the capacity of own GPUs relaxed: each half hour of own GPUs has a price,
each job takes the cheapest of a cloud and its own starts at these prices, and the prices are improved by subgradients.
Any prices give a bound. It is that of the linear program at best, so up to some percent below the integer optimum; the
integer program itself takes many minutes where every job could start at almost any time.
"""

import numpy as np

from benchmarks.market_optimum import cloud_cost
from benchmarks.market_replay import GPUS_A_NODE, MarketInstance, MarketJob, cloud_nodes

STEPS = 400
PATIENCE = 8


def known_at_start(instance: MarketInstance) -> MarketInstance:
    """The same jobs with the same deadlines, all submitted at the beginning."""
    jobs = [MarketJob(one.name, 0.0, one.run_s, one.gpus, one.submit_s + one.within_s) for one in instance.jobs]
    return MarketInstance(jobs, instance.nodes)


def bound_of_known(instance: MarketInstance, grid_s: float, paid_usd: float) -> float:
    """`paid_usd`: by some schedule; the steps follow from how far that is from the bound."""
    nodes = cloud_nodes(spot=False, spares=1)
    values = np.array([cloud_cost(job, nodes) for job in instance.jobs])
    length = np.array([round(job.run_s / grid_s) for job in instance.jobs])
    gpus = np.array([float(job.gpus) for job in instance.jobs])
    last = np.array([int((job.within_s - job.run_s) // grid_s) for job in instance.jobs])
    slots, among = int((last + length).max()) + 1, np.arange(len(values))
    own = float(GPUS_A_NODE * instance.nodes)
    starts = np.minimum(np.arange(last.max() + 1)[None, :], last[:, None])
    ends = starts + length[:, None]
    prices, saved = np.zeros(slots), float(values.sum()) - paid_usd
    best, pace, without_success = np.inf, 1.0, 0
    for _ in range(STEPS):
        paid = np.concatenate([[0.0], np.cumsum(prices)])
        cost = (paid[ends] - paid[starts]) * gpus[:, None]
        chosen = cost.argmin(axis=1)
        gain = values - cost[among, chosen]
        takes = gain > 0
        bound = float(gain[takes].sum() + own * prices.sum())  # no schedule saves more
        if bound < best:
            best, without_success = bound, 0
        else:
            without_success += 1
            pace *= 0.6 if without_success % PATIENCE == 0 else 1.0
        change = np.zeros(slots + 1)
        np.add.at(change, starts[among, chosen][takes], gpus[takes])
        np.add.at(change, ends[among, chosen][takes], -gpus[takes])
        short = np.cumsum(change)[:slots] - own
        short = np.where((prices <= 0) & (short < 0), 0.0, short)
        norm = float((short * short).sum())
        if norm == 0:
            break
        prices = np.maximum(0.0, prices + pace * max(bound - saved, 0.001 * best) / norm * short)
    return float(values.sum()) - best
