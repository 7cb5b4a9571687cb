"""The least that an instance can cost, known in advance: an integer program over when and where each job runs.

A job runs on-premise from one point of the time grid on, or in a cloud at the price of the cheapest machine that is
offered for it and in time. That is what the engine pays if nothing is interrupted; expected repeated work is added as
the engine does. On-premise GPUs are one pool here, whatever node they are in, and a machine in a cloud is used by one
job: the optimum is at most what an actual schedule of this kind can cost. Solved by HiGHS.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_matrix

from benchmarks.harness import NotRun
from benchmarks.market_replay import GPUS_A_NODE, HOUR_S, MarketInstance, MarketJob, cloud_nodes
from dovetail.model.node import Node

SOLVER_S = 60.0
GAP = 0.002


@dataclass(frozen=True, slots=True)
class Optimum:
    usd: float  # a lower bound of what any schedule costs
    is_proven: bool  # the solver closed the gap


def cloud_cost(job: MarketJob, nodes: list[Node]) -> float:
    """Of the cheapest machine that holds the job and ends it in time, even if it is taken away once."""
    costs = [_cost(job, node) for node in nodes if _holds(job, node)]
    return min(cost for cost in costs if cost is not None)


def _holds(job: MarketJob, node: Node) -> bool:
    enough = node.capacity.gpu >= job.gpus and node.capacity.cpu >= 3 * job.gpus
    large = node.capacity.memory >= job.gpus * 12 * 2**30
    return enough and large


def _cost(job: MarketJob, node: Node) -> float | None:
    offer = node.offer
    assert offer is not None
    rate = -np.log1p(-offer.interruption)
    x = rate * job.run_s / HOUR_S
    again = float(np.expm1(x) / x - 1.0) if x > 0 else 0.0
    needed_s = offer.start_up + job.run_s + ((offer.start_up + job.run_s) if x > 0 else 0.0)
    if needed_s > job.within_s:
        return None
    return offer.price_per_hour * (offer.start_up + job.run_s * (1.0 + again)) / HOUR_S


def optimum(instance: MarketInstance, grid_s: float, spot: bool) -> Optimum:
    nodes = cloud_nodes(spot, spares=1)
    jobs, elsewhere = instance.jobs, [cloud_cost(job, nodes) for job in instance.jobs]
    values, rows, columns, entries = [], [], [], []
    starts = 0
    slots = round(max(job.submit_s + job.within_s for job in jobs) / grid_s) + 1
    for number, job in enumerate(jobs):
        first, last = round(job.submit_s / grid_s), int((job.submit_s + job.within_s - job.run_s) // grid_s)
        length = round(job.run_s / grid_s)
        for start in range(first, last + 1):
            values.append(-elsewhere[number])
            rows.append(slots + number)
            columns.append(starts)
            entries.append(1.0)
            rows.extend(range(start, start + length))
            columns.extend([starts] * length)
            entries.extend([float(job.gpus)] * length)
            starts += 1
    matrix = coo_matrix((np.array(entries), (np.array(rows), np.array(columns))), shape=(slots + len(jobs), starts))
    most = np.concatenate([np.full(slots, float(instance.nodes * GPUS_A_NODE)), np.ones(len(jobs))])
    found = milp(
        np.array(values),
        constraints=LinearConstraint(matrix.tocsr(), -np.inf, most),
        integrality=np.ones(starts, dtype=np.int64),
        bounds=Bounds(0, 1),
        options={"time_limit": SOLVER_S, "mip_rel_gap": GAP},
    )
    bound = found.mip_dual_bound if found.mip_dual_bound is not None else found.fun
    if bound is None:
        raise NotRun(f"the solver found no bound in {SOLVER_S:.0f} s: {found.message}")
    return Optimum(sum(elsewhere) + float(bound), found.status == 0)
