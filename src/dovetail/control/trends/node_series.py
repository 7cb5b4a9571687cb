"""What is kept of every node: the shares of CPU, memory and GPUs that are requested, and those that it measures.

Every minute for an hour and every 15 minutes for a week: 18 bytes a node and bucket, at most 17 MB for 1,250 nodes.
"""

from dovetail.control.trends.down_sampling import TrendTier
from dovetail.control.trends.keyed_buckets import KeyedSeries
from dovetail.engine.questions.trend_questions import NODE_RESOURCES
from dovetail.model.resources import CPU, GPU, MEMORY

_TITLES = {CPU: "CPU", MEMORY: "Memory", GPU: "GPU"}

#: In the order of the columns of `NodeShares`.
NODE_SERIES = KeyedSeries(
    {name: (f"{_TITLES[name]} requested", "share") for name in NODE_RESOURCES}
    | {f"{name}_observed": (f"{_TITLES[name]} observed", "share") for name in NODE_RESOURCES},
    (TrendTier(60, 3600), TrendTier(900, 7 * 24 * 3600)),
    most_keys=20_000,
)
