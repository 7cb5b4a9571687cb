"""The network as the scheduler sees it: levels, domains, paths, distances and what links have left.

Descriptions that users write are in `dovetail.model.network`.
"""
