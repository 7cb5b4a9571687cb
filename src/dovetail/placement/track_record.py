"""How tasks fared in a domain before, as one number.

    history = share of tasks that succeeded × min(1, 1 / mean slowdown)

over the nodes of the domain. It is 1 where nothing is known, and where nothing failed and nothing was slower than
usual. The slowdown is a mean over finished tasks in which recent ones of a node count most (`Cluster.note_pace`).
"""

import numpy as np

from dovetail.cluster.arrays import F8


def success_rate(succeeded: F8, failed: F8, pace_sum: F8, pace_weight: F8) -> F8:
    """float64[domain], from sums over each domain."""
    ended = succeeded + failed
    well = np.divide(succeeded, ended, out=np.ones_like(ended), where=ended > 0)
    # Slowdowns are above 0, so where one was noted the sum is, too.
    quick = np.divide(pace_weight, pace_sum, out=np.ones_like(pace_sum), where=pace_sum > 0)
    found: F8 = well * np.minimum(quick, 1.0)
    return found
