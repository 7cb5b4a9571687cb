"""Bandwidth that a test holds by hand."""

import numpy as np

from dovetail.cluster.state import Cluster


def reserve_bandwidth(cluster: Cluster, key: str, code: int, mbps: float) -> None:
    cluster.topology.bandwidth.add(key, np.array([code]), np.array([mbps]))
