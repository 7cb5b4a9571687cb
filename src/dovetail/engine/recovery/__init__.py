"""Recovery: gangs that lost tasks with their nodes are made whole again.

Here belong the cases, the moves and their limits, spare nodes, and what users are told. The search for the fewest
moves is array code in `dovetail.placement.recovery`.
"""
