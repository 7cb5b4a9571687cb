"""Gang layouts: which domain a gang goes to, and which nodes in it.

Here belong domains inside domains, strategies and their features, and packing. Whether the layout is tried and
committed is decided in `dovetail.engine.gangs`.
"""
