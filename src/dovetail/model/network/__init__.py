"""The network as operators describe it: topologies, their file formats, distances set by hand.

What the cluster computes from it is in `dovetail.cluster.network`.
"""
